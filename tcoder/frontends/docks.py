"""The dock as lines: plan, attempts, checkpoints. Pure."""

from tcoder.frontends.figures import clock, plural
from tcoder.frontends.lines import Line, Role, line
from tcoder.frontends.present import VERDICT_GLYPHS, plan_step
from tcoder.frontends.sanitise import clean_line
from tcoder.frontends.view import View
from tcoder.protocol.attempt import Attempt

SECTIONS = ("plan", "attempts", "checkpoints")


def section(title: str, width: int, note: str = "") -> Line:
    """`─ Plan 2/5 ────`."""
    text = f" {title}{' ' + note if note else ''} "
    return line(("─", "dim"), (text, "title"), ("─" * max(0, width - len(text) - 1), "dim"))


def dock(view: View, width: int, *, only: str = "", rows: int = 40) -> tuple[Line, ...]:
    """All sections, or one of them in full; long ones are cut so that every section is seen."""
    share = max(4, rows // 3 - 1) if not only else rows
    lines: list[Line] = []
    if only in ("", "plan"):
        done = sum(step.state == "done" for step in view.plan)
        lines += [section("Plan", width, f"{done}/{len(view.plan)}" if view.plan else "")]
        lines += _last([plan_step(step) for step in view.plan] or [_none("no plan")], share)
    if only in ("", "attempts"):
        lines += [section("Attempts", width, str(len(view.attempts)) if view.attempts else "")]
        rows_of = [attempt(of, before) for of, before in zip(view.attempts, (None, *view.attempts), strict=False)]
        lines += _last(rows_of or [_none("none yet")], share)
    if only in ("", "checkpoints"):
        lines += [section("Checkpoints", width, str(len(view.checkpoints)) if view.checkpoints else "")]
        marks = [
            line(("◆ ", "accent"), (f"{clock(of.time)} ", "dim"), clean_line(of.cause.summary or of.cause.kind))
            for of in view.checkpoints
        ]
        lines += _last(marks or [_none("none yet")], share)
    return tuple(lines)


def attempt(of: Attempt, before: Attempt | None) -> Line:
    """`2 ✗ cap missing  1 fail`, marked when the error is the same as before."""
    role: Role = "ok" if of.verdict in ("solved", "better") else "bad"
    left = "–" if of.failing_after < 0 else plural(of.failing_after, "failure") if of.failing_after else "passes"
    same = before is not None and bool(of.signature) and of.signature == before.signature
    return line(
        f"{of.number} ",
        (f"{VERDICT_GLYPHS[of.verdict]} ", role),
        clean_line(of.hypothesis, 60),
        (f"  {left}", role),
        (" same error" if same else "", "warn"),
    )


def _none(text: str) -> Line:
    return line((text, "dim"))


def _last(lines: list[Line], most: int) -> list[Line]:
    """The last lines, with a mark for those before."""
    if len(lines) <= most:
        return lines
    return [line((f"… {len(lines) - most + 1} before", "dim")), *lines[len(lines) - most + 1 :]]
