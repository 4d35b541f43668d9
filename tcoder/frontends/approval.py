"""The question whether something may be done: when a key counts as an answer, and what is shown. Pure."""

from typing import Literal

from tcoder.frontends.lines import Line, Span, line
from tcoder.frontends.markdown import Row
from tcoder.frontends.present import question_lines
from tcoder.frontends.sanitise import clean_line
from tcoder.protocol.permissions import Answer, Question

QUIET_S = 0.8
"""The panel takes the keys only after so long without typing."""
SETTLE_S = 0.5
"""Keys in this time after it took them are ignored."""
ANSWERS: dict[str, Answer] = {"1": "once", "2": "session", "3": "project"}
Ignored = Literal["no focus", "too early"]


class Guard:
    """Keeps stray, typed-ahead and pasted keys from answering. Times are seconds of one steady clock."""

    def __init__(self) -> None:
        self._focused_at: float | None = None

    def may_take_focus(self, now: float, last_typed: float) -> bool:
        """Whether the person has stopped typing for long enough."""
        return self._focused_at is None and now - last_typed >= QUIET_S

    def focused(self, now: float) -> None:
        """The panel has the keys now, or another question took the place of the one before."""
        self._focused_at = now

    def left(self) -> None:
        self._focused_at = None

    def ignores(self, now: float) -> Ignored | None:
        """Why a key pressed now is no answer; None = it is one."""
        if self._focused_at is None:
            return "no focus"
        return "too early" if now - self._focused_at < SETTLE_S else None


def rows(question: Question) -> list[Row]:
    """Everything that is asked, to be wrapped, never cut."""
    first, *rest = question_lines(question)
    return [Row(line(("▲ ", "warn"), *first), 2, 7), *(Row(line("  ", *of), 2, 7) for of in rest)]


def options(question: Question, *, rule: str, number: int, count: int, ready: bool, width: int) -> tuple[Line, ...]:
    """`1 once  2 always …` with the rule that "always" would add; an answer is never broken over two lines."""
    pattern = clean_line(rule or question.always, 80)
    shown = [("1", "once")]
    if pattern:
        shown += [("2", f"always `{pattern}`, this session"), ("3", "always, this project")]
    shown.append(("4", "no, tell it why"))
    if count > 1:
        shown.append(("Alt+1", "once, all of this kind"))
    if pattern:
        shown.append(("e", "edit the rule"))
    rows: list[list[Span]] = [[Span(f"({number}/{count}) ", "warn")] if count > 1 else []]
    for key, text in shown:
        used = sum(len(span.text) for span in rows[-1])
        if used and used + len(key) + len(text) + 4 > width:
            rows.append([])
        gap = "   " if rows[-1] and rows[-1][-1].text[-1:] != " " else ""
        rows[-1] += [Span(gap + key, "warn" if ready else "dim"), Span(f" {text}", "text" if ready else "dim")]
    return tuple(map(tuple, rows))


def entry(title: str, text: str) -> Line:
    """The line in which a reason or a rule is typed."""
    return line((f"{title}: ", "accent"), clean_line(text, 400), ("▏", "accent"), ("   Enter ok · Esc back", "dim"))
