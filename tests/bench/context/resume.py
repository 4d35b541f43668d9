"""How soon a stored session can be gone on with: the real program, in a pty and without one.

    python tests/bench/context/resume.py [--large]

Each row is the time from the start of the process, the best of five, as wall time: run it while nothing else runs.
Rows and their bars:

    prompt            a letter typed right away is on the screen, session of 20,000 events resumed      <= 400 ms
    prompt, new       the same for a new session: what the interface itself takes
    request           `-c --task`: the first request is at the server, with all of the conversation     <= 400 ms
    large             a journal of 900 MB resumed: time to the first request, peak memory               bounded
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from long_session import write_journal
from support.model_server import ModelServer
from support.terminal import Terminal

RUNS = 5
LARGE_BYTES = 900_000_000


def make_desk(folder: Path) -> tuple[Path, dict[str, str]]:
    repository = folder / "repository"
    repository.mkdir()
    (repository / "calc.py").write_text("def add(a, b):\n    return a + b\n")
    person = ["-c", "user.name=b", "-c", "user.email=b@b"]
    for arguments in (["init", "-q"], ["add", "-A"], [*person, "commit", "-qm", "x"]):
        subprocess.run(["git", *arguments], cwd=repository, check=True)
    return repository, {"TCODER_HOME": str(folder / "home"), "TCODER_MODEL": "scripted/none.json"}


def sessions_folder(folder: Path, repository: Path) -> Path:
    from tcoder.agent.journal import private_folder, project_folder

    return private_folder(project_folder(folder / "home" / "state", repository.resolve()))


def prompt_ms(repository: Path, environment: dict[str, str], *arguments: str) -> float:
    terminal = Terminal([sys.executable, "-m", "tcoder", "-C", str(repository), *arguments], environment=environment)
    try:
        terminal.wait_for("?2004h")  # the first frame: the terminal's own echo is off from here on
        terminal.write("ж".encode())
        return 1e3 * terminal.wait_for("ж")
    finally:
        terminal.close()


def request_ms(repository: Path, environment: dict[str, str], *arguments: str) -> tuple[float, Any, int]:
    with ModelServer([{"text": "done"}]) as server:
        command = [sys.executable, "-m", "tcoder", *arguments, "--task", "go on", "--base-url", server.url, "-m", "x"]
        began = time.monotonic()
        everything = {**os.environ, **environment}
        process = subprocess.Popen(
            command, cwd=repository, env=everything, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if not server.requests:
            raise SystemExit(f"no request came: {said.decode()}")
        return 1e3 * (server.requests[0].arrived - began), used, len(server.requests[0].raw)


def row(name: str, text: str) -> None:
    print(f"{name:13} {text}", flush=True)


def main(arguments: list[str]) -> None:
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    try:
        repository, environment = make_desk(folder)
        stored = sessions_folder(folder, repository)
        row("prompt, new", f"{min(prompt_ms(repository, environment) for _ in range(RUNS)):.0f} ms")
        for path in stored.glob("*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        journal = stored / "20260101-000000-aaaaaa.jsonl"
        write_journal(journal, 20_000)
        kept = journal.read_bytes()
        times: list[float] = []
        for _ in range(RUNS):
            times.append(prompt_ms(repository, environment, "-r", journal.stem))
            journal.write_bytes(kept)
        row("prompt", f"{min(times):.0f} ms for {len(kept) / 1e6:.1f} MB")
        found: list[tuple[float, Any, int]] = []
        for _ in range(RUNS):
            found.append(request_ms(repository, environment, "-c"))
            journal.write_bytes(kept)
        best, used, size = min(found, key=lambda one: one[0])
        row("request", f"{best:.0f} ms, {size / 1e6:.1f} MB sent, peak {used.ru_maxrss // 1024} MB")
        if "--large" in arguments:
            enlarge(journal, kept)
            best, used, size = request_ms(repository, environment, "-c")
            cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss // 1024
            row("large", f"{best / 1e3:.1f} s, CPU {cpu:.1f} s, {size / 1e6:.1f} MB sent, peak {peak} MB")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def enlarge(journal: Path, once: bytes) -> None:
    """The same work over and over, each time compacted in the end, up to 900 MB."""
    from tcoder.protocol.codec import encode_line
    from tcoder.protocol.events import Compacted, Recorded
    from tcoder.protocol.messages import TextPart, UserMessage

    short = UserMessage((TextPart("The older part was left out. " * 100),))
    compacted = Compacted((short,), 900_000, 900, "summary", "x")
    line = encode_line(Recorded(1, "2026-01-01T00:00:00.000Z", compacted))
    with journal.open("wb") as file:
        number = 0
        while file.tell() < LARGE_BYTES:
            number += 1
            file.write(once.replace(b'"id":"p', b'"id":"p%d.' % number) + line)  # each patch has a name of its own
        file.write(once)


if __name__ == "__main__":
    main(sys.argv[1:])
