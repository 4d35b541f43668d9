"""Any other command: what it runs below may still be a known runner, else its exit code is all there is."""

from tcoder.protocol.checks import CheckCommand
from tcoder.workspace.checks import python
from tcoder.workspace.checks.runner import Invocation, Parsed, Runner, RunnerOutput


def invoke(command: CheckCommand, select: tuple[str, ...]) -> Invocation:
    """The command with pytest's plugin offered to whatever it starts. A selection reaches only pytest."""
    told = python.invoke_pytest(command, select)
    return Invocation(told.command, told.environment, told.files, told.reports)


def parse(output: RunnerOutput) -> Parsed:
    if "report.jsonl" in output.reports:
        return python.parse_pytest(output)
    for read in (python.parse_pytest_text, python.parse_unittest_text):
        parsed = read(output)
        if not parsed.problem:
            return parsed
    if output.exit_code is None:
        return Parsed((), "the command was ended from outside")
    if output.exit_code in (126, 127):
        return Parsed((), f"the command could not be run (exit code {output.exit_code})")
    return Parsed()


GENERIC = Runner("generic", invoke, parse)
