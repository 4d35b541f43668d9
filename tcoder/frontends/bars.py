"""The header, the status line, the slider and the queue as lines. Pure; widths in cells, all parts single-cell text."""

from collections.abc import Sequence
from typing import NamedTuple

from tcoder.frontends.figures import cost, duration
from tcoder.frontends.lines import Line, Role, Span, line, plain
from tcoder.frontends.sanitise import clean_line
from tcoder.frontends.view import View
from tcoder.protocol.permissions import Approval
from tcoder.protocol.variant import VariantName

SLIDER_WIDTH = 19
ACTIVITIES: dict[str, str] = {
    "starting": "starting", "waiting": "waiting for the model", "thinking": "thinking", "writing": "writing",
    "working": "working", "asking": "asks you", "shell": "running", "test": "testing", "read": "reading",
    "search": "searching", "outline": "locating", "edit": "editing", "write": "writing a file", "plan": "planning",
}  # fmt: skip
WEAK_SANDBOXES = ("off", "none", "reduced")
"""Modes in which commands are not, or not wholly, contained: a person should see that at a glance."""
MODES: dict[Approval, str] = {"ask": "ask", "edits": "edits", "auto": "AUTO", "plan": "plan"}


def slider(stop: VariantName, *, once: bool = False, pending: bool = False, colour: bool = True) -> Line:
    """`◂ fast ━━━━○ std ▸`; a filled knob is fast; `¹` = this turn only; `→` = from the next model call on."""
    mark = "¹" if once else "→" if pending else " "
    if not colour:
        return line(f"[{'FAST' if stop == 'fast' else 'fast'}|{'STD' if stop == 'standard' else 'std'}]{mark}")
    knob: list[Span] = (
        [Span("●", "warn"), Span("━━━━", "dim")] if stop == "fast" else [Span("━━━━", "dim"), Span("○", "accent")]
    )
    fast: Role = "warn" if stop == "fast" else "dim"
    standard: Role = "accent" if stop == "standard" else "dim"
    return line(("◂ ", "dim"), ("fast ", fast), *knob, (" std", standard), (" ▸", "dim"), (mark, "warn"))


def small_slider(stop: VariantName, *, once: bool = False) -> Line:
    """`fast ○━ std` for narrow screens."""
    knob = "●━" if stop == "fast" else "━○"
    return line(
        ("fast ", "warn" if stop == "fast" else "dim"),
        (knob, "accent"),
        (" std", "accent" if stop == "standard" else "dim"),
        ("¹" if once else " ", "warn"),
    )


def meter(share: float, cached: float = 0.0) -> tuple[Span, ...]:
    """`███▒▒░░░░ 31%` with words where it matters: solid is what the provider read from its cache, medium what it read
    anew, light is free. Both are shares of the window."""
    cells = 10
    filled = min(cells, round(share * cells))
    solid = min(filled, round(cached * cells))
    role: Role = "bad" if share >= 0.9 else "warn" if share >= 0.7 else "ok"
    word = " full" if share >= 0.9 else " high" if share >= 0.7 else ""
    return (
        Span("█" * solid + "▒" * (filled - solid), role),
        Span("░" * (cells - filled), "dim"),
        Span(f"{share * 100:>3.0f}%{word}", role if word else "text"),
    )


def variant_stop(view: View) -> VariantName:
    """The stop that the next model call will use."""
    return view.stop_next or view.stop


class Field(NamedTuple):
    """A field of the status line: the action that a click on it does, and what it shows."""

    action: str
    line: Line


def status_fields(view: View, *, elapsed_s: float, width: int, tick: int = 0, motion: bool = True) -> list[Field]:
    """The fields of the status line, in the order in which they stand, as many as `width` cells hold: the least
    important go first. Numbers have a width of their own, so that nothing moves when they change."""
    fields: list[tuple[int, Field]] = []
    if view.auto:
        fields.append((8, Field("variant.auto", line(("auto", "accent")))))
        if view.reason:
            fields.append((3, Field("variant.explain", line((clean_line(view.reason, 40), "dim")))))
    if view.model:
        model = clean_line(view.model.rsplit("/", 1)[-1], 32)
        fields.append((4, Field("model.choose", line(model, (f"·{view.effort}" if view.effort else "", "dim")))))
    if view.window:
        share = view.context / view.window
        cached = view.last_usage.cache_read / view.window if view.last_usage is not None else 0.0
        shown = meter(share, min(share, cached))
        fields.append((7, Field("context.show", (Span("ctx ", "dim"), *(shown if width >= 70 else shown[2:])))))
    fields.append((5, Field("cost.show", line(f"{cost(view.cost) if view.usage.calls else '$0.000':>6}"))))
    if (speed := view.tokens_per_s) is not None:
        fields.append((2, Field("variant.explain", line((f"{speed:>4.0f} tok/s", "dim")))))
    if view.served.first_token_s is not None:
        fields.append((1, Field("variant.explain", line((f"{duration(view.served.first_token_s):>6}", "dim")))))
    fields.append((6, Field("status.show", activity(view, elapsed_s=elapsed_s, tick=tick, motion=motion))))
    while len(fields) > 1 and _joined_width(fields) > width:
        fields.remove(min(fields, key=lambda field: field[0]))
    return [field for _, field in fields]


def joined(fields: Sequence[Field]) -> Line:
    """The fields as one line."""
    out: list[Span] = []
    for at, field in enumerate(fields):
        out += [*((Span(" │ ", "dim"),) if at else ()), *field.line]
    return tuple(out)


def action_at(fields: Sequence[Field], x: int) -> str:
    """The action of the field in cell `x`; empty between and beside them."""
    at = 0
    for field in fields:
        end = at + len(plain(field.line))
        if at <= x < end:
            return field.action
        at = end + 3
    return ""


def _joined_width(fields: list[tuple[int, Field]]) -> int:
    return sum(len(plain(field.line)) for _, field in fields) + 3 * (len(fields) - 1)


SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def activity(view: View, *, elapsed_s: float, tick: int = 0, motion: bool = True) -> Line:
    """What happens now, and for how long."""
    if view.ended:
        return line(("session ended", "warn"))
    if not view.running:
        return line((clean_line(view.progress, 60) or "ready", "accent" if view.progress else "dim"))
    spin = SPINNER[tick % len(SPINNER)] + " " if motion else ""
    role: Role = "warn" if view.activity == "asking" else "accent"
    word = clean_line(view.progress, 40) or ACTIVITIES.get(view.activity, "running a tool")
    return line((spin, role), (word, role), (f" {_elapsed(elapsed_s)}", "dim"))


def _elapsed(seconds: float) -> str:
    """` 12 s`, ` 2:05`, `1:02:05`: of one width for the first hour."""
    minutes, rest = divmod(max(1, int(seconds)), 60)
    if not minutes:
        return f"{rest:>3} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:>2}:{rest:02}"


def header(view: View, *, title: str, branch: str, width: int, browser: bool = False) -> Line:
    """`tcoder  title · branch · folder          ◆ 2 checkpoints  ▲ sandbox: workspace`; in a browser also that it is
    one, and who decides."""
    name = clean_line(title or view.title or "new session", 48)
    where = clean_line(view.workspace, 60)
    right: list[Span] = [Span(f"▲ in a browser · mode: {MODES[view.approval]}  ", "warn")] if browser else []
    if view.checkpoints:
        right.append(Span(f"◆ {len(view.checkpoints)}  ", "dim"))
    if view.patches:
        plus, minus = (
            sum(p.insertions for p in view.patches if not p.undone),
            sum(p.deletions for p in view.patches if not p.undone),
        )
        right += [Span(f"+{plus} ", "added"), Span(f"−{minus}  ", "removed")]
    if view.sandbox:
        mark, role = ("▲ ", "warn") if view.sandbox in WEAK_SANDBOXES else ("", "dim")
        right.append(Span(f"{mark}sandbox: {clean_line(view.sandbox, 20)} ", role))
    named = line((" tcoder  ", "accent"), (name, "title"))
    on = line((f" · {clean_line(branch, 40)}" if branch else "", "dim"))
    there = line((f" · {where}" if where and width >= 90 else "", "dim"))
    warnings = [span for span in right if span.role == "warn"]
    for shown in (right, warnings):  # on a narrow screen what a person must know stays
        for left in ((*named, *on, *there), (*named, *on), named):
            pad = width - len(plain(left)) - len(plain(tuple(shown)))
            if pad > 0:
                return (*left, Span(" " * pad), *shown)
    room = width - len(" tcoder  ") - sum(len(span.text) for span in warnings) - 1
    return (*line((" tcoder  ", "accent"), (clean_line(name, max(4, room)), "title"), " "), *warnings)


def queue(view: View, width: int) -> tuple[Line, ...]:
    """The waiting messages, the last three."""
    lines: list[Line] = []
    for waiting in view.queue[-3:]:
        word = "steers" if waiting.steer else "queued"
        text = clean_line(waiting.text, max(10, width - 34))
        lines.append(line((" ⏸ ", "warn"), (f"{word}: ", "dim"), f'"{text}"'))
    if lines:
        lines[-1] = (*lines[-1], Span("   Alt+↑ takes it back", "dim"))
    return tuple(lines)
