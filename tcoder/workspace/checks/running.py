"""Runs a check and brings its report back: one command line for the runner, everything else in a private folder.

Commands run in a sandbox whose /tmp nobody else sees, so the report files come back on the command's own output, as
compressed text between marks that hold a fresh random word. Nothing is written into the work tree.
"""

import base64
import binascii
import contextlib
import gzip
import re
import secrets
import time
import zlib
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from tcoder.protocol.checks import CheckCommand, CheckReport, Frame, TestResult
from tcoder.protocol.commands import CommandResult, CommandRunner
from tcoder.workspace.checks import runners
from tcoder.workspace.checks.runner import Invocation, RunnerOutput, quote

TAIL = 8_000
MAX_REPORT = 64_000_000
MAX_PRINTED = 70_000_000
GRACE_S = 6.0
PLUGIN_LOST = re.compile(r"Error importing plugin .tcoder_pytest_report")
TIMED_OUT, KILLED = 124, 137


async def run(
    command: CheckCommand,
    runner: CommandRunner,
    *,
    select: tuple[str, ...] = (),
    timeout_s: float,
    root: Path,
) -> CheckReport:
    """Run a check in the workspace and read what it said. `select` names files, folders or test ids; empty = all.
    What goes wrong is in the report's `problem`, never raised, but for errors of `runner` itself."""
    kind = runners.of(command.runner)
    invocation = kind.invoke(command, select)
    began = time.monotonic()
    result, reports, text, ended = await execute(invocation, command, runner, timeout_s, root)
    if not reports and PLUGIN_LOST.search(text):
        plain_run = Invocation(command.command)
        result, reports, text, ended = await execute(plain_run, command, runner, timeout_s, root)
    duration = time.monotonic() - began
    exit_code = ended if ended is not None else result.exit_code
    late = exit_code == TIMED_OUT or (exit_code == KILLED and duration >= timeout_s)
    timed_out = result.timed_out or late
    parsed = kind.parse(RunnerOutput(reports, text, None if timed_out else exit_code, root))
    problem = parsed.problem
    if timed_out:
        problem = f"timed out after {timeout_s:.0f} s" + (f"; {problem}" if problem else "")
    elif result.awaiting_input:
        problem = "it waited for input that nobody can give"
    return CheckReport(
        command=command.command,
        runner=command.runner,
        exit_code=None if timed_out else exit_code,
        duration_s=duration,
        tests=_with_sources(parsed.tests, root),
        problem=problem,
        output=_tail(text),
        partial=bool(select),
    )


async def execute(
    invocation: Invocation, command: CheckCommand, runner: CommandRunner, timeout_s: float, root: Path
) -> tuple[CommandResult, Mapping[str, bytes], str, int | None]:
    """Run an invocation: the command's result, the report files, what was printed, the exit code of the check."""
    word = secrets.token_hex(12)
    script = shell_script(invocation, word, root, timeout_s)
    result = await runner.run(script, timeout_s=timeout_s + GRACE_S, cwd=command.cwd)
    return (result, *unpack(_everything(result), word))


def _with_sources(tests: tuple[TestResult, ...], root: Path) -> tuple[TestResult, ...]:
    """Failing tests with the source line of each frame, as the files are now."""
    lines: dict[str, list[str]] = {}

    def source(frame: Frame) -> str:
        if frame.path not in lines:
            lines[frame.path] = []
            with contextlib.suppress(OSError):
                lines[frame.path] = (root / frame.path).read_text(encoding="utf-8", errors="replace").split("\n")
        found = lines[frame.path][frame.line - 1 : frame.line]
        return found[0].strip()[:200] if found else ""

    return tuple(
        replace(test, frames=tuple(replace(frame, source=source(frame)) for frame in test.frames))
        if test.frames
        else test
        for test in tests
    )


def shell_script(invocation: Invocation, word: str, root: Path, timeout_s: float) -> str:
    """The command line: private folder, files, environment, the command under a time limit, then the reports. It
    leaves nothing behind in the shell that runs it."""
    lines = [
        "(",
        """TCODER_CHECKS=; trap 'cd / && rm -rf "$TCODER_CHECKS"' EXIT; trap 'exit 143' HUP INT TERM""",
        'TCODER_CHECKS=$(mktemp -d "${TMPDIR:-/tmp}/checks.XXXXXX") || exit 70',
        f"export TCODER_CHECKS TCODER_ROOT={quote(str(root))}",
    ]
    for name, text in invocation.files.items():
        packed = base64.encodebytes(gzip.compress(text.encode(), 6, mtime=0)).decode()
        lines.append(f'base64 -d <<"{word}" | gzip -dc >"$TCODER_CHECKS"/{quote(name)}\n{packed}{word}')
    lines += [f'export {name}="{value}"' for name, value in invocation.environment.items()]
    limit = max(1, int(timeout_s))
    lines += [
        f"run={quote(invocation.command)}",
        'if command -v timeout >/dev/null; then set -- timeout -s INT -k 3 "' + str(limit) + '"; else set --; fi',
        '"$@" bash -c "$run" </dev/null 2>&1',
        "code=$?",
        'cd "$TCODER_CHECKS" || exit 70',
        f"for file in {' '.join(invocation.reports)}; do",
        f"""  [ -f "$file" ] && printf '\\n{word} file %s\\n' "$file" && gzip -c <"$file" | base64""",
        "done",
        f"printf '\\n{word} end %s\\n' \"$code\"",
        "exit $code",
        ")",
    ]
    return "\n".join(lines)


def unpack(printed: str, word: str) -> tuple[Mapping[str, bytes], str, int | None]:
    """The report files, the text without them, and the exit code of the check (None = its end was not seen)."""
    reports: dict[str, bytes] = {}
    text, *pieces = re.split(rf"\n?^{word} ", printed.replace("\r\n", "\n"), flags=re.M)
    ended: int | None = None
    for piece in pieces:
        head, _, body = piece.partition("\n")
        kind, _, rest = head.partition(" ")
        if kind == "end":
            with contextlib.suppress(ValueError):
                ended = int(rest)
        elif kind == "file":
            reports[rest.strip()] = _unzip(body)
    return reports, text, ended


def _unzip(body: str) -> bytes:
    """What can be had of a compressed report, at most `MAX_REPORT` bytes: the beginning of one that was cut off."""
    letters = re.sub(r"[^A-Za-z0-9+/=]", "", body)
    letters = letters[: len(letters) // 4 * 4]
    try:
        packed = base64.b64decode(letters)
    except binascii.Error:
        return b""
    inflate = zlib.decompressobj(31)
    with contextlib.suppress(zlib.error):
        return inflate.decompress(packed, MAX_REPORT)
    return b""


def _everything(result: CommandResult) -> str:
    """All that was printed: what the runner kept, or the file that holds the whole."""
    if not result.omitted_bytes or not result.spill:
        return result.output
    with contextlib.suppress(OSError), Path(result.spill).open("rb") as file:
        return file.read(MAX_PRINTED).decode("utf-8", "replace")
    return result.output


def _tail(text: str) -> str:
    text = plain(text[-4 * TAIL :]).strip()
    return text if len(text) <= TAIL else "…" + text[-TAIL:]


_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])|[\x00-\x08\x0b-\x1f\x7f]"
)


def plain(text: str) -> str:
    """Text without escape sequences and control characters."""
    return _ESCAPES.sub("", text)
