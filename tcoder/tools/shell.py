"""Run a command in the session's shell, inside the sandbox."""

from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from tcoder.protocol.commands import CommandResult
from tcoder.protocol.display import TerminalBlock
from tcoder.tools.base import Reply, Tool, ToolContext, Touches
from tcoder.tools.outputs import Outputs

MAX_TIMEOUT_S = 1800


class ShellArgs(Struct, frozen=True, forbid_unknown_fields=True):
    command: str
    timeout: Annotated[int, Meta(ge=1, le=MAX_TIMEOUT_S, description="seconds")] = 120


class Shell(Tool[ShellArgs]):
    name = "shell"
    kind = "shell"
    Args = ShellArgs

    def title(self, args: ShellArgs) -> str:
        return args.command

    def touches(self, args: ShellArgs) -> Touches:
        return Touches(command=args.command)

    async def run(self, args: ShellArgs, context: ToolContext) -> Reply:
        limit = min(args.timeout, context.timeout_s)
        if context.network:
            result = await context.runner.run_with_network(args.command, timeout_s=limit, on_output=context.emit)
        else:
            result = await context.runner.run(
                args.command, timeout_s=limit, clean=context.clean, on_output=context.emit
            )
        block = TerminalBlock(result.command, result.output, result.exit_code, result.duration_s)
        result = replace(result, spill=context.outputs.handle(result.spill))
        return Reply(describe(result, context.outputs), (block,), "ok" if result.exit_code == 0 else "error")


def describe(result: CommandResult, outputs: Outputs) -> str:
    """A command's result for the model: how it ended, then what it printed. Of what was left out, lines that look like
    errors come first."""
    if result.timed_out:
        head = f"timed out after {result.duration_s:.0f} s and was ended"
    elif result.awaiting_input:
        head = "waits for input: type it with the job tool, or it is ended by the next command; the screen shows:"
    else:
        head = f"exit {result.exit_code}"
    notes = [head, *result.notices]
    if result.omitted_bytes:
        notes.append(
            f"{result.omitted_bytes} bytes left out"
            + (f'; read or search the whole with path "{result.spill}"' if result.spill else "")
        )
        if errors := outputs.telling(result.spill, result.output):
            notes.append(f"{errors}\n")
    return "\n".join((*notes, result.output)).rstrip()
