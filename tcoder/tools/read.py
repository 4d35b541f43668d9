"""Read a file, or a part of it."""

from typing import Annotated

from msgspec import Meta, Struct

from tcoder.protocol.display import TextBlock
from tcoder.tools.base import Reply, Tool, ToolContext, Touches
from tcoder.tools.outputs import is_handle

MAX_LINES = 600
MAX_CHARACTERS = 24_000
MAX_LINE = 1_000


class ReadArgs(Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    line: Annotated[int, Meta(ge=1, description="first line")] = 1
    limit: Annotated[int, Meta(ge=1, description="number of lines")] = MAX_LINES


class Read(Tool[ReadArgs]):
    name = "read"
    kind = "read"
    Args = ReadArgs

    def title(self, args: ReadArgs) -> str:
        return args.path if args.line == 1 else f"{args.path}:{args.line}"

    def touches(self, args: ReadArgs) -> Touches:
        return Touches(paths=() if is_handle(args.path) else (args.path,))

    async def run(self, args: ReadArgs, context: ToolContext) -> Reply:
        room = min(MAX_CHARACTERS, context.outputs.room - MAX_LINE)
        if is_handle(args.path):
            content, shown = numbered(context.outputs.text(args.path), args.line, args.limit, room)
            return Reply(content, (TextBlock(f"{shown} lines"),))
        file = context.files.read(args.path)
        context.seen[file.path] = file.digest
        content, shown = numbered(file.text, args.line, args.limit, room)
        return Reply(content, (TextBlock(f"{shown} lines"),))


def numbered(text: str, first: int, limit: int, room: int = MAX_CHARACTERS) -> tuple[str, int]:
    """Lines `first`… with their numbers, within the limits, and how many they are; what is left out is counted."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    if not lines:
        return "(empty file)", 0
    if first > len(lines):
        return f"(the file has {len(lines)} lines)", 0
    shown: list[str] = []
    size = 0
    for number, line in enumerate(lines[first - 1 : first - 1 + min(limit, MAX_LINES)], first):
        body = line.removesuffix("\r")
        if len(body) > MAX_LINE:
            body = f"{body[:MAX_LINE]} … ({len(body) - MAX_LINE} more characters)"
        size += len(body) + 8
        if size > room and shown:
            break
        shown.append(f"{number}\t{body}")
    last = first + len(shown) - 1
    if last < len(lines):
        shown.append(f"({len(lines) - last} more lines, from {last + 1})")
    return "\n".join(shown), last - first + 1
