"""A terminal for measuring: a program in a pty, with a clock on every byte it writes and on what it costs."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
_VISIBLE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|P[^\x1b]*\x1b\\|[@-Z\\-_=>])")
ANSWERS = {b"\x1b[?2026$p": b"\x1b[?2026;2$y", b"\x1b[?2048$p": b"\x1b[?2048;0$y", b"\x1b[c": b"\x1b[?62;22c"}


class Terminal:
    """Starts `command`; `output` is everything it wrote, `stamps` `(seconds since the start, bytes so far)`."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        columns: int = 120,
        rows: int = 40,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.began = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            size = struct.pack("HHHH", rows, columns, 0, 0)
            fcntl.ioctl(0, termios.TIOCSWINSZ, size)
            base = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/tmp"), "TERM": "xterm-256color",
                    "COLORTERM": "truecolor", "LANG": "C.UTF-8"}  # fmt: skip
            os.execvpe(command[0], list(command), {**base, **(environment or {})})
        self.output = bytearray()
        self.stamps: list[tuple[float, int]] = []
        self.ended = False
        self.resize(columns, rows, tell=False)

    def resize(self, columns: int, rows: int, *, tell: bool = True) -> None:
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if tell:
            os.kill(self.pid, signal.SIGWINCH)

    @property
    def now(self) -> float:
        return time.perf_counter() - self.began

    def write(self, data: bytes) -> None:
        """Type; large data is fed as fast as the program takes it, while its output is read."""
        while data:
            ready = select.select([self.fd], [self.fd], [], 1.0)
            if self.fd in ready[0]:
                self._read()
            if self.fd in ready[1]:
                data = data[os.write(self.fd, data[:4096]) :]

    def _read(self) -> bool:
        try:
            data = os.read(self.fd, 1 << 16)
        except OSError:
            self.ended = True
            return False
        if not data:
            self.ended = True
            return False
        self.output += data
        self.stamps.append((self.now, len(self.output)))
        for asked, reply in ANSWERS.items():
            if asked in data:
                os.write(self.fd, reply)
        return True

    def read_for(self, seconds: float) -> None:
        until = time.perf_counter() + seconds
        while (left := until - time.perf_counter()) > 0 and not self.ended:
            if select.select([self.fd], [], [], left)[0]:
                self._read()

    def wait(self, done: Callable[[], bool], seconds: float = 20.0) -> float:
        """Read until `done()`; the seconds since the start. Raises `TimeoutError` with the end of the output."""
        until = time.perf_counter() + seconds
        while not done():
            left = until - time.perf_counter()
            if left <= 0 or self.ended:
                raise TimeoutError(f"not seen; last output: {bytes(self.output[-600:])!r}")
            if select.select([self.fd], [], [], left)[0]:
                self._read()
        return self.now

    def wait_for(self, text: str, *, since: int = 0, seconds: float = 20.0) -> float:
        wanted = text.encode()
        return self.wait(lambda: self.output.find(wanted, since) >= 0, seconds)

    def visible(self) -> int:
        """Printed characters so far that are no blanks."""
        return sum(
            not character.isspace() for character in _VISIBLE.sub(b"", bytes(self.output)).decode("utf-8", "ignore")
        )

    def processes(self) -> list[int]:
        """The program and its children."""
        found, todo = [], [self.pid]
        while todo:
            pid = todo.pop()
            found.append(pid)
            try:
                for task in os.listdir(f"/proc/{pid}/task"):
                    with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                        todo += map(int, file.read().split())
            except OSError:
                continue
        return found

    def cpu_s(self) -> float:
        """CPU seconds of the program and its living children."""
        total = 0
        for pid in self.processes():
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            total += int(fields[11]) + int(fields[12])
        return total / TICKS

    def rss_mb(self) -> float:
        total = 0
        for pid in self.processes():
            with open(f"/proc/{pid}/status", encoding="utf-8") as file:
                total += next((int(line.split()[1]) for line in file if line.startswith("VmRSS")), 0)
        return total / 1024

    def exit_code(self) -> int:
        """The exit code of a program that has ended by itself; releases the pty."""
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)

    def close(self) -> int:
        """End the program; its exit code (negative = the signal)."""
        if not self.ended:
            os.kill(self.pid, signal.SIGTERM)
            self.read_for(2.0)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def echo_times(terminal: Terminal, keys: int, apart_s: float, letters: str = "абвгдежзик") -> list[float]:
    """Milliseconds from each of `keys` letters to its first byte on the terminal. The letters must not occur in what
    the program writes by itself; each run deletes them again."""
    times: list[float] = []
    for at in range(keys):
        letter = letters[at % len(letters)]
        since = len(terminal.output)
        typed = time.perf_counter()
        terminal.write(letter.encode())
        terminal.wait_for(letter, since=since, seconds=10)
        times.append((time.perf_counter() - typed) * 1000)
        terminal.read_for(max(0.0, apart_s - (time.perf_counter() - typed)))
        if at % len(letters) == len(letters) - 1:
            terminal.write(b"\x15")
            terminal.read_for(apart_s)
    return times


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def show_story(*arguments: str) -> list[str]:
    return [sys.executable, str(Path(__file__).with_name("show.py")), *arguments]
