"""Diffs as numbered rows. Pure."""

import re

import msgspec

from tcoder.frontends import present
from tcoder.frontends.lines import Role, Span
from tcoder.frontends.markdown import Row
from tcoder.frontends.sanitise import clean

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def diff_rows(diff: str) -> list[Row]:
    """Changed lines with their numbers; file headers only where there is more than one file. A line counts as one of
    its hunk as long as the hunk's header announces more."""
    out: list[Row] = []
    names: list[int] = []  # where the files' names stand
    old = new = old_left = new_left = 0
    for text in clean(diff).rstrip("\n").split("\n") if diff else []:
        if hunk := _HUNK.match(text):
            old, new = int(hunk[1]), int(hunk[3])
            old_left, new_left = int(hunk[2] or 1), int(hunk[4] or 1)
            if out and len(out) - 1 not in names:
                out.append(Row((Span("    ⋯", "dim"),), 5))
        elif text.startswith("+") and (new_left > 0 or not text.startswith("+++ ")):
            out.append(_numbered(new, "+", text[1:], "added"))
            new, new_left = new + 1, new_left - 1
        elif text.startswith("-") and (old_left > 0 or not text.startswith("--- ")):
            out.append(_numbered(old, "−", text[1:], "removed"))
            old, old_left = old + 1, old_left - 1
        elif text.startswith("+++ "):
            names.append(len(out))
            out.append(Row((Span("  ", "dim"), Span(text[4:].removeprefix("b/"), "path")), 2, 2, wrap=False))
        elif text.startswith((" ", "\t")) or not text:
            out.append(_numbered(new, " ", text[1:], "dim"))
            old, new, old_left, new_left = old + 1, new + 1, old_left - 1, new_left - 1
    return out if len(names) > 1 else [row for at, row in enumerate(out) if at not in names]


def _numbered(number: int, sign: str, text: str, role: Role) -> Row:
    return Row((Span(f"{number:>6} ", "dim"), Span(f"{sign} ", role), Span(text.expandtabs(4), role)), 9, 9)


def proposed(arguments: str) -> list[Row]:
    """What an edit that was asked for would take out and put in, from the call's own arguments; empty for others."""
    try:
        given = msgspec.json.decode(arguments, type=dict[str, msgspec.Raw])
        texts = {
            name: msgspec.json.decode(given[name], type=str)
            for name in ("old", "new", "content", "patch", "diff")
            if name in given
        }
    except msgspec.MsgspecError:
        return []
    if text := texts.get("patch") or texts.get("diff"):
        return [Row((Span("  "), *of), 2, 4) for of in present.diff_lines(text)]
    removed = clean(texts["old"]).split("\n") if texts.get("old") else []
    new = texts.get("new") or texts.get("content") or ""
    added = clean(new).rstrip("\n").split("\n") if new else []
    return [
        *(Row((Span("  − ", "removed"), Span(text.expandtabs(4), "removed")), 4, 4) for text in removed),
        *(Row((Span("  + ", "added"), Span(text.expandtabs(4), "added")), 4, 4) for text in added),
    ]
