"""Background jobs of the session's shell, and the command that waits for input."""

from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from tcoder.protocol.commands import JobView
from tcoder.protocol.display import TerminalBlock
from tcoder.protocol.errors import ToolError
from tcoder.tools.base import Reply, Tool, ToolContext, Touches
from tcoder.tools.shell import describe


class JobArgs(Struct, frozen=True, forbid_unknown_fields=True):
    action: Annotated[Literal["start", "list", "read", "stop", "wait", "input"], Meta(description="what to do")]
    text: Annotated[str, Meta(description="command to start, line to wait for, or input to type")] = ""
    job: int = 0
    keep: Annotated[bool, Meta(description="start: goes on when the session ends; a person is asked")] = False
    port: Annotated[int, Meta(description="wait until something listens there")] = 0
    timeout: Annotated[int, Meta(ge=1, le=600, description="seconds")] = 30


class Job(Tool[JobArgs]):
    name = "job"
    kind = "shell"
    Args = JobArgs

    def title(self, args: JobArgs) -> str:
        return " ".join(str(part) for part in (args.action, args.job or "", args.text) if part)

    def touches(self, args: JobArgs) -> Touches:
        match args.action:
            case "start":
                return Touches(command=args.text, keeps=args.keep)
            case "input":
                return Touches(typed=args.text)
            case "list" | "read" | "stop" | "wait":
                return Touches(looks=True)

    async def run(self, args: JobArgs, context: ToolContext) -> Reply:
        jobs = context.runner.jobs
        match args.action:
            case "start":
                if not args.text.strip():
                    raise ToolError("say which command to start, in text")
                job = await jobs.start(args.text, keep=args.keep)
                told = f"\nit goes on when the session ends; `kill {job.pid}` ends it then" if args.keep else ""
                return Reply(_line(job) + told)
            case "list":
                return Reply("\n".join(_line(job) for job in jobs.list()) or "no jobs")
            case "read":
                return Reply(jobs.read(args.job))
            case "stop":
                return Reply(_line(await jobs.stop(args.job)))
            case "wait":
                came = await jobs.wait_for(
                    args.job, port=args.port or None, line=args.text, timeout_s=min(args.timeout, context.timeout_s)
                )
                return Reply(f"{came}\n{jobs.read(args.job)}", status="ok" if came == "ready" else "error")
            case "input":
                return await _type(args, context)


async def _type(args: JobArgs, context: ToolContext) -> Reply:
    text = args.text if args.text.endswith(("\n", "\x03", "\x04")) else f"{args.text}\n"
    result = await context.runner.send_input(
        text, timeout_s=min(args.timeout, context.timeout_s), on_output=context.emit
    )
    block = TerminalBlock(result.command, result.output, result.exit_code, result.duration_s)
    result = replace(result, spill=context.outputs.handle(result.spill))
    return Reply(describe(result, context.outputs), (block,), "ok" if result.exit_code == 0 else "error")


def _line(job: JobView) -> str:
    state = "running" if job.running else f"ended, exit {job.exit_code}"
    return f"job {job.number}: {state}: {job.command}"
