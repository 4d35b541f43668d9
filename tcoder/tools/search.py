"""Search text or symbols."""

from typing import Annotated

from msgspec import Meta, Struct

from tcoder.index.searching import present
from tcoder.protocol.display import TextBlock
from tcoder.protocol.location import SearchKind
from tcoder.tools.base import Reply, Tool, ToolContext, Touches
from tcoder.tools.outputs import is_handle
from tcoder.tools.policy.paths import is_secret


class SearchArgs(Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[str, Meta(description="regular expression, or a name for symbol kinds")]
    path: Annotated[str, Meta(description="file or folder")] = ""
    kind: Annotated[SearchKind, Meta(description="lines, or a name's definitions, uses, subclasses")] = "text"


class Search(Tool[SearchArgs]):
    name = "search"
    kind = "read"
    Args = SearchArgs

    def title(self, args: SearchArgs) -> str:
        where = f" in {args.path}" if args.path else ""
        return f"{args.pattern}{where}"

    def touches(self, args: SearchArgs) -> Touches:
        return Touches(paths=() if is_handle(args.path) else (args.path or ".",))

    async def run(self, args: SearchArgs, context: ToolContext) -> Reply:
        if is_handle(args.path):
            return Reply(context.outputs.search(args.path, args.pattern))
        found = await context.index.search(args.pattern, path=args.path, kind=args.kind, limit=60)
        named = is_secret(args.path)  # then it was asked for by name, and judged by it
        hits = [hit for hit in found.hits if (named or not is_secret(hit.path)) and not context.is_denied(hit.path)]
        withheld = len(found.hits) - len(hits)
        if not withheld:
            return Reply(found.text, (TextBlock(f"{len(hits)} matches"),))
        shown = present(hits, more=found.more != 0, problem=found.problem)
        note = (
            f"({withheld} more in files that may hold keys or passwords or are denied; name such a file to ask for it)"
        )
        return Reply(f"{shown.text}\n{note}", (TextBlock(f"{len(hits)} matches, {withheld} withheld"),))
