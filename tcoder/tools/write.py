"""Create a file or replace it as a whole."""

from msgspec import Struct

from tcoder.protocol.edits import WriteFile
from tcoder.tools.base import Reply, Tool, ToolContext, Touches
from tcoder.tools.edit import apply


class WriteArgs(Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    content: str


class Write(Tool[WriteArgs]):
    name = "write"
    kind = "edit"
    Args = WriteArgs

    def title(self, args: WriteArgs) -> str:
        return args.path

    def touches(self, args: WriteArgs) -> Touches:
        return Touches(paths=(args.path,))

    async def run(self, args: WriteArgs, context: ToolContext) -> Reply:
        return apply(context, (WriteFile(args.path, args.content),))
