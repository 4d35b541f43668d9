"""A run as lines for a person who watches: pure, one step of the fold per event."""

from tcoder.frontends import present
from tcoder.frontends.bars import WEAK_SANDBOXES
from tcoder.frontends.figures import duration, tokens
from tcoder.frontends.lines import Line, Role, line
from tcoder.frontends.sanitise import clean, clean_line
from tcoder.protocol.display import DiffBlock
from tcoder.protocol.events import (
    AttemptRecorded,
    ChecksRan,
    Compacted,
    Delta,
    Event,
    Located,
    ModelAnswered,
    ModelAsked,
    ModelFailed,
    Notice,
    OutputDelta,
    PatchApplied,
    PermissionAnswered,
    PermissionAsked,
    PlanChanged,
    Progress,
    Rewound,
    SessionNamed,
    SessionStarted,
    ToolFinished,
    ToolStarted,
    VariantChanged,
)
from tcoder.protocol.request import RetryDelta

VERB_WIDTH = 9


class Narrator:
    """Says what happens, in order. `verbosity`: 0 = one line a step, 1 = also the model's words and tools' output.
    `brackets` writes `[edit] file` instead of columns."""

    def __init__(self, verbosity: int = 0, *, brackets: bool = False) -> None:
        self._verbosity = verbosity
        self._brackets = brackets
        self._titles: dict[str, str] = {}
        self._shown_patches: set[str] = set()
        self._testing = False
        self._progress = ""

    def event(self, event: Event) -> tuple[Line, ...]:
        """Lines for an event; none when it is not worth one."""
        match event:
            case SessionStarted():
                weak = f" · sandbox: {event.sandbox}" if event.sandbox in WEAK_SANDBOXES else ""
                head = f"tcoder {event.version} · {clean_line(event.variant.id)} · {event.strategy}"
                return (line((head, "dim"), (weak, "warn")),)
            case SessionNamed():
                return (self._step("name", clean_line(event.name), ""),)
            case Rewound():
                return (self._step("rewind", present.REWOUND, ""),)
            case Located():
                found = present.located(event.location)
                return (self._step("locate", found, duration(event.duration_s)),)
            case ModelAsked() if self._verbosity:
                return (self._step("ask", f"{clean_line(event.model)} {clean_line(event.reason)}".strip(), ""),)
            case ModelAnswered():
                return self._answered(event)
            case ModelFailed():
                return (
                    line(
                        (self._label("model"), "bad"),
                        clean_line(event.message),
                        (f" {clean_line(event.hint)}", "dim"),
                    ),
                )
            case ToolStarted():
                return self._started(event)
            case ToolFinished():
                return self._finished(event)
            case PatchApplied():
                return self._patched(event)
            case ChecksRan():
                return self._checked(event)
            case AttemptRecorded():
                return (present.attempt_line(event.attempt),)
            case PermissionAsked():
                return (self._step("asks", clean_line(event.question.action), clean_line(event.question.reason)),)
            case PermissionAnswered(answer="deny"):
                return (self._step("denied", clean_line(event.note), f"by {event.by}", "warn"),)
            case PlanChanged() if self._verbosity:
                return tuple(present.plan_step(step) for step in event.steps)
            case VariantChanged():
                return (self._step("variant", event.name, clean_line(event.reason)),)
            case Compacted():
                cut = f"{tokens(event.tokens_before)} → {tokens(event.tokens_after)} tokens"
                return (self._step("compact", cut, ""),)
            case Notice():
                role: Role = "dim" if event.level == "info" else "warn" if event.level == "warning" else "bad"
                return (line((self._label(clean_line(event.topic, 20)), role), clean_line(event.text, 1000)),)
            case _:  # OutlineTaken among them: the map is for the model, `/context` shows its size
                return ()

    def delta(self, delta: Delta) -> tuple[Line, ...]:
        """Lines for a delta: a retry and long progress always, a tool's output with `-v`."""
        match delta:
            case RetryDelta():
                wait = f"again in {duration(delta.after_s)} (attempt {delta.attempt})"
                return (self._step("retry", clean_line(delta.reason), wait, "warn"),)
            case OutputDelta() if self._verbosity:
                return tuple(line(("  │ ", "dim"), text.expandtabs(4)) for text in clean(delta.text).splitlines())
            case Progress():
                return self._progressed(delta)
            case _:
                return ()

    def _label(self, verb: str) -> str:
        return f"[{verb}] " if self._brackets and verb else f"{verb:{VERB_WIDTH}}"

    def _step(self, verb: str, what: str, note: str, role: Role = "accent") -> Line:
        return line((self._label(verb), role), what, (f"  {note}" if note else "", "dim"))

    def _progressed(self, progress: Progress) -> tuple[Line, ...]:
        """A line when the text changes or another tenth is done; none when it is over."""
        if not progress.text:
            self._progress = ""
            return ()
        tenth = f" {progress.done * 10 // progress.total * 10} %" if progress.total else ""
        shown = clean_line(progress.text) + tenth
        if shown == self._progress:
            return ()
        self._progress = shown
        return (line((f"{'':{VERB_WIDTH}}{shown}", "dim")),)

    def _answered(self, event: ModelAnswered) -> tuple[Line, ...]:
        text = clean(event.message.text).strip()
        if not text or (event.aside and not self._verbosity):
            return ()
        if not event.message.calls and not event.aside:
            return ()  # the answer itself goes to standard output
        lines = text.split("\n")
        shown = lines if self._verbosity else lines[:3]
        more = (line(("  …", "dim")),) if len(shown) < len(lines) else ()
        return (*(line(("  " + text.expandtabs(4), "dim")) for text in shown), *more)

    def _started(self, event: ToolStarted) -> tuple[Line, ...]:
        self._titles[event.call.id] = title = clean_line(event.title, 300)
        if event.call.name in ("shell", "test"):
            self._testing = event.call.name == "test"
            return (self._step(present.verb(event.call.name), title, "…"),)
        return ()

    def _finished(self, event: ToolFinished) -> tuple[Line, ...]:
        result = event.result
        title = self._titles.pop(event.call_id, "")
        if event.name == "test" and result.status in ("ok", "error"):
            self._testing = False
            return ()  # `ChecksRan` has said it
        took = duration(event.duration_s)
        if result.status == "ok":
            for block in result.display:
                if isinstance(block, DiffBlock):
                    sums = present.changed(block.insertions, block.deletions)
                    return (line((self._label(present.verb(event.name)), "accent"), title, "  ", *sums),)
            return (
                self._step(
                    "" if event.name == "shell" else present.verb(event.name),
                    "ok" if event.name == "shell" else title,
                    took,
                ),
            )
        word = present.STATUS_WORDS[result.status]
        first = clean_line(result.content, 160)
        shown = "" if event.name == "shell" else title + "  "
        return (
            line((self._label(present.verb(event.name)), "bad"), shown, (word, "bad"), (f"  {first}  {took}", "dim")),
        )

    def _patched(self, event: PatchApplied) -> tuple[Line, ...]:
        patch = event.patch
        if patch.cause.kind in ("edit", "user") and patch.cause.call_id:
            return ()  # the tool's own line says it
        sums = present.changed(patch.insertions, patch.deletions)
        return (line((self._label(patch.cause.kind), "accent"), present.patch_files(patch), "  ", *sums),)

    def _checked(self, event: ChecksRan) -> tuple[Line, ...]:
        report = event.report
        role: Role = "ok" if report.ok else "bad"
        phase = {"baseline": "before", "attempt": "after", "final": "final"}[event.phase]
        head = line(
            (self._label('test'), "accent"), clean_line(report.command, 200), (f"  {phase}: ", "dim"),
            (present.counts(report), role), (f"  {duration(report.duration_s)}", "dim"),
        )  # fmt: skip
        shown = report.failing[: 10 if self._verbosity else 3]
        failures = [line("  ", *of) for test in shown for of in present.failing_test(test)]
        more = len(report.failing) - len(shown)
        tail = (line((f"  … and {more} more failing", "dim")),) if more > 0 else ()
        return (head, *failures, *tail)
