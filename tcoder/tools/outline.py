"""A map of the repository, a folder or a file: its definitions."""

from typing import Annotated

from msgspec import Meta, Struct

from tcoder.protocol.display import TextBlock
from tcoder.tools.base import Reply, Tool, ToolContext, Touches

BUDGET_TOKENS = 1_500


class OutlineArgs(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="file or folder; empty = all")] = ""
    task: Annotated[str, Meta(description="rank by this text instead: where is the code it is about?")] = ""


class Outline(Tool[OutlineArgs]):
    name = "outline"
    kind = "read"
    Args = OutlineArgs

    def title(self, args: OutlineArgs) -> str:
        return args.task[:80] or args.path or "repository"

    def touches(self, args: OutlineArgs) -> Touches:
        return Touches(paths=(args.path or ".",))

    async def run(self, args: OutlineArgs, context: ToolContext) -> Reply:
        focus = await context.index.locate(args.task, limit=10) if args.task else None
        text = await context.index.outline(args.path, budget_tokens=BUDGET_TOKENS, focus=focus)
        if focus is not None:
            found = "\n".join(f"{hit.path}:{hit.line} {hit.name}" for hit in focus.symbols[:10])
            text = f"most likely:\n{found}\n\n{text}"
        return Reply(text, (TextBlock(f"{text.count(chr(10)) + 1} lines"),))
