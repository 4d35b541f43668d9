"""The review as lines: files with their states, hunks with where they come from. Pure."""

from collections.abc import Callable, Sequence

from tcoder.frontends.figures import plural
from tcoder.frontends.lines import Line, Role, line
from tcoder.frontends.present import changed, diff_line
from tcoder.frontends.sanitise import clean, clean_line
from tcoder.protocol.queries import ReviewFile, ReviewHunk, ReviewState

GLYPHS: dict[str, tuple[str, Role]] = {"open": ("·", "dim"), "accepted": ("✓", "ok"), "rejected": ("✗", "bad")}


def file_state(file: ReviewFile) -> tuple[str, Role]:
    """`✓` all accepted, `✗` all rejected, `◐` some decided, `·` none."""
    states = {hunk.state for hunk in file.hunks}
    if not states or states == {"open"}:
        return GLYPHS["open"]
    return GLYPHS[states.pop()] if len(states) == 1 else ("◐", "warn")


def count_lines(hunks: Sequence[ReviewHunk]) -> tuple[int, int]:
    """Lines put in and taken out."""
    lines = [text for hunk in hunks for text in hunk.lines]
    return sum(text.startswith("+") for text in lines), sum(text.startswith("-") for text in lines)


def headline(state: ReviewState) -> Line:
    """`Review  3 files · 7 hunks · +41 −12   base: …   tests: …`."""
    hunks = [hunk for file in state.files for hunk in file.hunks]
    base = f"   base: {clean_line(state.base, 40)}" if state.base else ""
    checks = f"   tests: {clean_line(state.checks, 60)}" if state.checks else ""
    return line(
        ("Review  ", "title"),
        f"{plural(len(state.files), 'file')} · {plural(len(hunks), 'hunk')} · ",
        *changed(*count_lines(hunks)),
        (base + checks, "dim"),
    )


def file_line(file: ReviewFile, *, marked: bool) -> Line:
    glyph, role = file_state(file)
    accepted = sum(hunk.state == "accepted" for hunk in file.hunks)
    note = f"  {accepted}/{len(file.hunks)}" if file.hunks else f"  {clean_line(file.note, 20)}"
    new = "  new" if file.change == "added" else "  deleted" if file.change == "deleted" else ""
    return line(
        ("▸" if marked else " ", "accent"),
        (f"{glyph} ", role),
        (clean_line(file.path, 80), "bold" if marked else "text"),
        (note + new, "dim"),
    )


def hunk_body(hunk: ReviewHunk) -> list[Line]:
    """The lines of a hunk as they are, one under the other."""
    return [diff_line(clean(text[:2000]).replace("\n", " ") or " ") for text in hunk.lines]


def hunk_lines(
    file: ReviewFile, at: int, body: Callable[[ReviewHunk], list[Line]] = hunk_body
) -> tuple[list[Line], int, int]:
    """The hunks of a file, and the first and last line of the one at `at`. `body` draws the lines of one."""
    lines: list[Line] = []
    first = last = 0
    if file.note:
        lines.append(line((clean_line(file.note), "warn")))
    for number, hunk in enumerate(file.hunks):
        glyph, role = GLYPHS[hunk.state]
        begin = len(lines)
        marks = ("   stale" if hunk.stale else "") + (f"   {hunk.origin}'s own" if hunk.origin == "person" else "")
        lines.append(
            line(
                ("▌" if number == at else " ", "accent"),
                (f"{glyph} ", role),
                (f"hunk {number + 1}/{len(file.hunks)}  {clean_line(hunk.header, 100)}", "hunk"),
                (f"   {clean_line(hunk.why, 60)}" if hunk.why else "", "dim"),
                (marks, "warn"),
            )
        )
        mark = line(("▌ " if number == at else "  ", "accent"))
        lines += [(*mark, *of) for of in body(hunk)]
        if hunk.warning:
            lines.append((*mark, *line((f"⚠ {clean_line(hunk.warning)}", "warn"))))
        lines.append(())
        if number == at:
            first, last = begin, len(lines) - 1
    return lines, first, last


def new_side(hunk: ReviewHunk) -> str:
    """The hunk's lines as they stand in the file."""
    return "\n".join(text[1:] for text in hunk.lines if not text.startswith("-")) + "\n"


def left_out(state: ReviewState) -> tuple[int, int]:
    """How many hunks are accepted, and how many a commit would leave out."""
    hunks = [hunk for file in state.files for hunk in file.hunks]
    accepted = sum(hunk.state == "accepted" for hunk in hunks)
    return accepted, len(hunks) - accepted


def message_problem(message: str) -> str:
    """What is wrong with a commit message, or empty."""
    subject, _, rest = message.strip().partition("\n")
    if not subject.strip():
        return "the message is empty"
    if len(subject) > 72:
        return f"the subject has {len(subject)} characters, 72 at most"
    if rest and not rest.startswith("\n"):
        return "a blank line must follow the subject"
    return ""
