"""Replace text in a file, exactly."""

from typing import Annotated

from msgspec import Meta, Struct

from tcoder.index.well_formed import new_fault
from tcoder.protocol.display import DiffBlock, TextBlock
from tcoder.protocol.edits import Edit as EditRequest
from tcoder.protocol.edits import Replace
from tcoder.protocol.errors import PatchError
from tcoder.tools.base import Reply, Tool, ToolContext, Touches
from tcoder.workspace.files.files import FileText
from tcoder.workspace.patching.engine import PatchResult, apply_edits


class EditArgs(Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    old: Annotated[str, Meta(description="text to replace, unique in the file")]
    new: str
    everywhere: Annotated[bool, Meta(description="replace every occurrence")] = False


class Edit(Tool[EditArgs]):
    name = "edit"
    kind = "edit"
    Args = EditArgs

    def title(self, args: EditArgs) -> str:
        return args.path

    def touches(self, args: EditArgs) -> Touches:
        return Touches(paths=(args.path,))

    async def run(self, args: EditArgs, context: ToolContext) -> Reply:
        return apply(context, (Replace(args.path, args.old, args.new, args.everywhere),))


def apply(context: ToolContext, edits: tuple[EditRequest, ...]) -> Reply:
    """Apply edits to the tree, all or none, and say what happened, and what does not parse any more.
    Raises `PatchError`, `WorkspaceError`."""
    read: dict[str, FileText] = {}

    def contents(path: str) -> FileText | None:
        file = context.files.read_if_there(path)
        if file is not None:
            read[file.path] = file
            _refuse_stale(context, file)
        return file

    result = apply_edits(edits, contents)
    context.files.commit_writes(result, {path: file.digest for path, file in read.items()})
    faults: list[str] = []
    for path in result.paths:
        written = context.files.read_if_there(path)
        if written is None:
            context.seen.pop(path, None)
        else:
            context.seen[path] = written.digest
            if found := new_fault(path, read[path].text if path in read else None, written.text):
                faults.append(f"{path} does not parse any more: {found}")
    blocks = tuple(
        DiffBlock(change.path, result.diff_of(change.path), change.insertions, change.deletions)
        for change in result.changes
    )
    shown = tuple(TextBlock(fault) for fault in faults)
    return Reply("\n".join((_summary(result), *faults)), blocks + shown)


def _refuse_stale(context: ToolContext, file: FileText) -> None:
    seen = context.seen.get(file.path)
    if seen is not None and seen != file.digest:
        del context.seen[file.path]
        raise PatchError(f"{file.path} has changed since you read it", "read it again, then edit")


def _summary(result: PatchResult) -> str:
    lines = [
        f"{change.path}: {change.change}, +{change.insertions} −{change.deletions}"
        + (f" (matched by {change.matched_by})" if change.matched_by not in ("", "exact") else "")
        for change in result.changes
    ]
    return "\n".join(lines)
