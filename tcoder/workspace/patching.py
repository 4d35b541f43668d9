"""The patch engine: text and edits in, text out. Pure; all edits of a patch apply or none does."""

import difflib
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from tcoder.protocol.edits import (
    ChangeKind,
    DeleteFile,
    Edit,
    FileChange,
    InsertLines,
    MatchPass,
    MoveFile,
    PatchHunk,
    Replace,
    UpdateFile,
    WriteFile,
)
from tcoder.protocol.errors import PatchError
from tcoder.workspace.files import FileText, encode_text
from tcoder.workspace.matching import Span, bare, find, nearest, reindent, split_lines

Contents = Callable[[str], FileText | None]


class Write(Struct, frozen=True):
    """One file as it is to be: `old` None = it was not there, `new` None = it goes. `mode` None = keep."""

    path: str
    old: bytes | None
    new: bytes | None
    mode: int | None = None


class PatchResult(Struct, frozen=True):
    """What a patch does to each file; `diffs` are unified diffs by path."""

    writes: tuple[Write, ...]
    changes: tuple[FileChange, ...]
    diffs: dict[str, str]

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(write.path for write in self.writes)

    def change_of(self, path: str) -> FileChange:
        return next(change for change in self.changes if change.path == path)

    def diff_of(self, path: str) -> str:
        return self.diffs.get(path, "")

    @property
    def diff(self) -> str:
        return "".join(self.diffs[path] for path in sorted(self.diffs))


class _Draft:
    """A file while edits are applied to it, one after the other."""

    def __init__(self, path: str, file: FileText | None) -> None:
        self.path = path
        self.file = file
        self.text: str | None = file.text if file else None
        self.matched_by: MatchPass | str = ""
        self.moved_from: FileText | None = None
        self.moved_away = False

    def need(self) -> str:
        if self.text is None:
            raise PatchError(f"there is no file {self.path}", "create it, or check the path")
        return self.text


def apply_edits(edits: Sequence[Edit], contents: Contents) -> PatchResult:
    """Apply edits in order; several may touch one file. `contents` gives a file by its path, None when there is none.
    Raises `PatchError` that names the nearest lines; then nothing is to be written."""
    if not edits:
        raise PatchError("the patch is empty")
    drafts: dict[str, _Draft] = {}

    def draft(path: str) -> _Draft:
        if path in drafts:
            return drafts[path]
        file = contents(path)
        name = file.path if file else path
        return drafts.setdefault(path, drafts.get(name) or drafts.setdefault(name, _Draft(name, file)))

    for edit in edits:
        _apply_one(edit, draft)
    return _result(dict.fromkeys(drafts.values()))


def _apply_one(edit: Edit, draft: Callable[[str], _Draft]) -> None:
    target = draft(edit.path)
    match edit:
        case Replace():
            _replace(target, edit)
        case WriteFile():
            target.matched_by = "whole-file" if target.text is not None else "created"
            target.text = _with_endings_of(target.file, edit.content)
        case InsertLines():
            _insert(target, edit)
        case UpdateFile():
            _update(target, edit.hunks)
            if edit.new_path and edit.new_path != edit.path:
                _move(target, draft(edit.new_path))
        case DeleteFile():
            target.need()
            target.text = None
        case MoveFile():
            target.need()
            if edit.new_path != edit.path:
                _move(target, draft(edit.new_path))


def _move(source: _Draft, target: _Draft) -> None:
    if source is target:
        return
    if target.text is not None:
        raise PatchError(f"{target.path} exists already", "delete it first, or choose another name")
    target.text, source.text, source.moved_away = source.text, None, True
    target.moved_from = source.file
    target.matched_by = source.matched_by


def _with_endings_of(file: FileText | None, content: str) -> str:
    """New content in the line endings of the file that it replaces, when that file has one kind only."""
    ending = _ending(file.text) if file else ""
    if ending == "\r\n" and "\r" not in content:
        return content.replace("\n", "\r\n")
    return content


def _ending(text: str) -> str:
    """The line ending of a text that has one kind only, else empty."""
    crlf = text.count("\r\n")
    lf = text.count("\n") - crlf
    cr = text.count("\r") - crlf
    kinds = [ending for ending, count in (("\r\n", crlf), ("\n", lf), ("\r", cr)) if count]
    return kinds[0] if len(kinds) == 1 else ""


def _replace(draft: _Draft, edit: Replace) -> None:
    text = draft.need()
    if not edit.old:
        if text:
            raise PatchError(f"the text to replace in {draft.path} is empty", "give the lines to replace")
        draft.text, draft.matched_by = edit.new, "whole-file"
        return
    if edit.old == edit.new:
        raise PatchError(f"the edit of {draft.path} changes nothing: old and new are the same")
    count = text.count(edit.old)
    if count == 1 or (count and edit.everywhere):
        draft.text, draft.matched_by = text.replace(edit.old, edit.new), "exact"
        return
    if count:
        raise _ambiguous(
            draft.path, count, [text[: _nth(text, edit.old, n)].count("\n") + 1 for n in range(min(count, 8))]
        )
    lines = split_lines(text)
    wanted = [bare(line) for line in split_lines(edit.old)]
    spans = find([bare(line) for line in lines], wanted)
    span = _only(draft, lines, wanted, spans, everywhere=edit.everywhere)
    for one in reversed(spans if edit.everywhere else [span]):
        lines[one.start : one.end] = _fitted(lines, one, edit.new, keep_last_ending=not edit.old.endswith(("\n", "\r")))
    draft.text, draft.matched_by = "".join(lines), span.matched_by


def _nth(text: str, part: str, number: int) -> int:
    at = -1
    for _ in range(number + 1):
        at = text.index(part, at + 1)
    return at


def _only(draft: _Draft, lines: list[str], wanted: list[str], spans: list[Span], *, everywhere: bool) -> Span:
    if not spans:
        hint = nearest([bare(line) for line in lines], wanted)
        shown = f"; the nearest lines are:\n{hint}" if hint else "; read the file again"
        raise PatchError(f"the text to replace was not found in {draft.path}{shown}")
    if len(spans) > 1 and not everywhere:
        raise _ambiguous(draft.path, len(spans), [span.start + 1 for span in spans[:8]])
    return spans[0]


def _ambiguous(path: str, count: int, at: list[int]) -> PatchError:
    places = ", ".join(str(line) for line in at)
    return PatchError(
        f"the text to replace occurs {count} times in {path}, at lines {places}", "give more lines around it"
    )


def _fitted(lines: list[str], span: Span, new: str, *, keep_last_ending: bool) -> list[str]:
    """The new text as lines of the file: its indentation shifted as the match was, its endings those of the place."""
    replaced = lines[span.start : span.end]
    ending = next((line[len(bare(line)) :] for line in replaced if bare(line) != line), "\n")
    fresh = [reindent(bare(line), span.shift) + ending for line in split_lines(new)]
    last = replaced[-1][len(bare(replaced[-1])) :]
    if fresh and (keep_last_ending or not last):
        fresh[-1] = bare(fresh[-1]) + last
    return fresh


def _insert(draft: _Draft, edit: InsertLines) -> None:
    lines = split_lines(draft.need())
    if not 0 <= edit.line <= len(lines):
        raise PatchError(f"{draft.path} has {len(lines)} lines; cannot insert after line {edit.line}")
    ending = _ending("".join(lines)) or "\n"
    fresh = [bare(line) + ending for line in split_lines(edit.text)]
    if edit.line and lines[edit.line - 1] == bare(lines[edit.line - 1]):
        lines[edit.line - 1] += ending
        fresh[-1] = bare(fresh[-1])
    lines[edit.line : edit.line] = fresh
    draft.text, draft.matched_by = "".join(lines), "line-number"


def _update(draft: _Draft, hunks: Sequence[PatchHunk]) -> None:
    """Hunks of a patch, each found by its own lines; numbers only choose between equal places."""
    lines = split_lines(draft.need())
    from_line = 0
    for hunk in hunks:
        from_line = _apply_hunk(draft, lines, hunk, from_line)
    draft.text = "".join(lines)


def _apply_hunk(draft: _Draft, lines: list[str], hunk: PatchHunk, from_line: int) -> int:
    old = [line[1:] for line in hunk.lines if line[:1] in " -"]
    if not old:
        return _append_hunk(draft, lines, hunk)
    found = find([bare(line) for line in lines], old)
    spans = [span for span in found if not hunk.at_end or span.end == len(lines)]
    span = _nearest_span(draft, lines, hunk, old, spans, from_line)
    ending = next((line[len(bare(line)) :] for line in lines[span.start : span.end] if bare(line) != line), "\n")
    fresh: list[str] = []
    position = span.start
    for line in hunk.lines:
        if line.startswith("+"):
            fresh.append(reindent(line[1:], span.shift) + ending)
        else:
            if not line.startswith("-"):
                fresh.append(lines[position])
            position += 1
    replaced_last = lines[span.end - 1]
    if fresh and span.end == len(lines) and replaced_last == bare(replaced_last):
        fresh = [line if line != bare(line) else line + ending for line in fresh[:-1]] + [bare(fresh[-1])]
    lines[span.start : span.end] = fresh
    if draft.matched_by in ("", "exact"):
        draft.matched_by = span.matched_by
    return span.start + len(fresh)


def _append_hunk(draft: _Draft, lines: list[str], hunk: PatchHunk) -> int:
    """A hunk that only adds, with nothing around it: after its anchor, at its line, or at the end."""
    at = len(lines)
    if hunk.anchor:
        spans = find([bare(line).strip() for line in lines], [hunk.anchor.strip()])
        at = _only(draft, lines, [hunk.anchor], spans, everywhere=False).end
    elif hunk.line:
        at = min(max(hunk.line - 1, 0), len(lines))
    ending = _ending("".join(lines)) or "\n"
    fresh = [line[1:] + ending for line in hunk.lines]
    if at == len(lines) and lines and lines[-1] == bare(lines[-1]):
        lines[-1] += ending
    lines[at:at] = fresh
    draft.matched_by = draft.matched_by or "exact"
    return at + len(fresh)


def _nearest_span(
    draft: _Draft, lines: list[str], hunk: PatchHunk, old: list[str], spans: list[Span], from_line: int
) -> Span:
    """The one place for a hunk: after its anchor, else at its line number, else the only one."""
    if hunk.anchor and len(spans) > 1:
        anchors = find([bare(line).strip() for line in lines], [hunk.anchor.strip()])
        after = [span for span in spans if anchors and span.start >= anchors[0].start]
        spans = after[:1] or spans
    if len(spans) > 1 and hunk.line:
        exact = [span for span in spans if span.start == hunk.line - 1]
        spans = exact or spans
    if len(spans) > 1:
        later = [span for span in spans if span.start >= from_line]
        spans = later if len(later) == 1 else spans
    return _only(draft, lines, old, spans, everywhere=False)


def _result(drafts: Iterable[_Draft]) -> PatchResult:
    writes: list[Write] = []
    changes: list[FileChange] = []
    diffs: dict[str, str] = {}
    for draft in sorted(drafts, key=lambda one: one.path):
        write = _write_of(draft)
        if write is None:
            continue
        writes.append(write)
        if not draft.moved_away:
            before = draft.moved_from or draft.file
            name = before.path if before else draft.path
            diff, added, removed = unified(name, draft.path, before.text if before else None, draft.text)
            changes.append(
                FileChange(draft.path, _kind(draft), added, removed, name if draft.moved_from else "", draft.matched_by)
            )
            diffs[draft.path] = diff
    if not writes:
        raise PatchError("the patch changes nothing")
    return PatchResult(tuple(writes), tuple(changes), diffs)


def _kind(draft: _Draft) -> ChangeKind:
    if draft.moved_from:
        return "renamed"
    if draft.file is None:
        return "added"
    return "deleted" if draft.text is None else "modified"


def _write_of(draft: _Draft) -> Write | None:
    """The bytes of a draft, None when it is as it was."""
    like = draft.file or draft.moved_from
    old = encode_text(draft.file.text, draft.file.encoding, draft.path) if draft.file else None
    new = None if draft.text is None else encode_text(draft.text, like.encoding if like else "utf-8", draft.path)
    if old == new:
        return None
    return Write(draft.path, old, new, draft.moved_from.mode if draft.moved_from else None)


def unified(old_name: str, new_name: str, old: str | None, new: str | None) -> tuple[str, int, int]:
    """A unified diff of two texts (None = no file), with the lines added and removed. Endings are kept as they are;
    a missing one at the end is marked as git does."""
    before, after = split_lines(old or ""), split_lines(new or "")
    from_name = f"a/{old_name}" if old is not None else "/dev/null"
    to_name = f"b/{new_name}" if new is not None else "/dev/null"
    out: list[str] = []
    added = removed = 0
    for line in difflib.unified_diff(before, after, from_name, to_name):
        if line.startswith("+") and not line.startswith("+++"):
            added += 1
        elif line.startswith("-") and not line.startswith("---"):
            removed += 1
        out.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(out), added, removed
