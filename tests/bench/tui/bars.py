"""The interface's bars, measured in a pty: `python tests/bench/tui/bars.py [NAME …]`.

Prints a table of what was measured and what was asked for. Wall times are those of this machine as it is now; CPU
seconds and bytes are the steadier figures. The session is played by a script in the same process, so its cost is
included.
"""

import sys
import time
from collections.abc import Callable

from tests.support.terminal import Terminal, echo_times, percentile, show_story

Row = tuple[str, str, str]


def start() -> list[Row]:
    """First paint, usable, lost keys, memory: the median of five starts."""
    paints, usable, cpus, memories, lost = [], [], [], [], 0
    letters = "абвгдежзиклмнопрстуф"
    for _ in range(5):
        terminal = Terminal(show_story("fixed"))
        paints.append(terminal.wait(lambda t=terminal: t.visible() >= 30) * 1000)
        terminal.read_for(max(0.0, 0.05 - terminal.now))
        for letter in letters:
            terminal.write(letter.encode())
            terminal.read_for(0.02)
        try:
            usable.append(terminal.wait_for(letters[-1], seconds=5))
            cpus.append(terminal.cpu_s())
        except TimeoutError:
            lost += 1
        terminal.read_for(0.5)
        text = bytes(terminal.output).decode("utf-8", "ignore")
        lost += sum(letter not in text for letter in letters)
        terminal.read_for(1.0)
        memories.append(terminal.rss_mb())
        terminal.close()
    return [
        ("first paint", f"{percentile(paints, 0.5):.0f} ms", "150 ms"),
        ("usable (20 keys typed from 50 ms on are echoed)", f"{percentile(usable, 0.5):.2f} s", "1.2 s"),
        ("CPU until then", f"{percentile(cpus, 0.5):.2f} s", "1.0 s"),
        ("keys lost of 100", str(lost), "0"),
        ("memory at start", f"{percentile(memories, 0.5):.0f} MB", "90 MB"),
    ]


def idle() -> list[Row]:
    """Key echo, CPU and bytes when nothing happens."""
    terminal = Terminal(show_story("fixed"))
    terminal.wait_for("ready")
    terminal.read_for(1.0)
    times = echo_times(terminal, 100, 0.12)
    terminal.read_for(2.0)
    cpu, size, began = terminal.cpu_s(), len(terminal.output), time.perf_counter()
    terminal.read_for(10.0)
    seconds = time.perf_counter() - began
    rows = [
        ("key echo, idle, p50 / p95", f"{percentile(times, 0.5):.1f} / {percentile(times, 0.95):.1f} ms", "12 / 30 ms"),
        ("CPU, idle", f"{(terminal.cpu_s() - cpu) / seconds * 100:.2f} %", "0.5 %"),
        ("bytes, idle", f"{(len(terminal.output) - size) / seconds:.0f} B/s", "200 B/s"),
    ]
    terminal.close()
    return rows


def stream() -> list[Row]:
    """Two hundred tokens a second, with an empty history and after two thousand messages."""
    rows: list[Row] = []
    for name, label in (("stream", "empty history"), ("long", "2,000 messages before")):
        terminal = Terminal(show_story(name, "--pause", "200"))
        terminal.wait_for("ready")
        terminal.read_for(1.5)
        terminal.write(b"go\r")
        terminal.wait_for("writing")
        terminal.read_for(3.0)
        cpu, size, began = terminal.cpu_s(), len(terminal.output), time.perf_counter()
        terminal.read_for(10.0)
        seconds = time.perf_counter() - began
        share = (terminal.cpu_s() - cpu) / seconds * 100
        rate = (len(terminal.output) - size) / seconds / 1000
        times = echo_times(terminal, 60, 0.12)
        rows += [
            (f"CPU at 200 tok/s, {label}", f"{share:.0f} %", "40 %"),
            (f"bytes at 200 tok/s, {label}", f"{rate:.0f} KB/s", "120 KB/s"),
            (
                f"key echo at 200 tok/s, {label}, p50 / p95 / max",
                f"{percentile(times, 0.5):.0f} / {percentile(times, 0.95):.0f} / {max(times):.0f} ms",
                "35 / 120 / 250 ms",
            ),
            (f"memory, {label}", f"{terminal.rss_mb():.0f} MB", "150 MB"),
        ]
        since = len(terminal.output)
        stopped = time.perf_counter()
        terminal.write(b"\x1b")
        terminal.wait_for("interrupted", since=since)
        rows.append((f"Esc until it says so, {label}", f"{(time.perf_counter() - stopped) * 1000:.0f} ms", "100 ms"))
        terminal.close()
    return rows


def paste() -> list[Row]:
    """A megabyte in brackets."""
    terminal = Terminal(show_story("fixed"))
    terminal.wait_for("ready")
    terminal.read_for(1.0)
    data = (b"0123456789" * 8 + b"\n") * (1_000_000 // 81)
    since, began = len(terminal.output), time.perf_counter()
    terminal.write(b"\x1b[200~" + data + b"\x1b[201~")
    sent = time.perf_counter()
    terminal.wait_for("[paste 1", since=since)
    done = time.perf_counter()
    terminal.close()
    return [
        ("paste of 1 MB until its chip is seen", f"{(done - began) * 1000:.0f} ms", "150 ms"),
        ("  of that, after the last byte", f"{(done - sent) * 1000:.0f} ms", ""),
    ]


def resize() -> list[Row]:
    """120x40 to 80x24 and focus out and in, after two thousand messages."""
    terminal = Terminal(show_story("long"))
    terminal.wait_for("ready")
    terminal.read_for(2.0)
    since, began = len(terminal.output), time.perf_counter()
    terminal.resize(80, 24)
    terminal.wait(lambda: b"\x1b[24;" in terminal.output[since:] and len(terminal.output) - since > 1500)
    resized = (time.perf_counter() - began) * 1000
    terminal.read_for(1.0)
    times = []
    for report in (b"\x1b[O", b"\x1b[I"):
        since, began = len(terminal.output), time.perf_counter()
        terminal.write(report + "ж".encode())
        terminal.wait_for("ж", since=since)
        times.append((time.perf_counter() - began) * 1000)
        terminal.read_for(0.5)
    pages = []
    for _ in range(100):
        since, began = len(terminal.output), time.perf_counter()
        terminal.write(b"\x1b[5~")
        terminal.wait(lambda since=since: len(terminal.output) - since > 300, 5)
        pages.append((time.perf_counter() - began) * 1000)
        terminal.read_for(0.03)
    terminal.close()
    return [
        ("resize 120x40 to 80x24, 2,000 messages", f"{resized:.0f} ms", "150 ms"),
        ("focus out / in and a key, 2,000 messages", " / ".join(f"{of:.0f}" for of in times) + " ms", "50 ms"),
        (
            "PageUp through 2,000 messages, p50 / p95",
            f"{percentile(pages, 0.5):.0f} / {percentile(pages, 0.95):.0f} ms",
            "25 ms",
        ),
    ]


BENCHES: dict[str, Callable[[], list[Row]]] = {
    "start": start,
    "idle": idle,
    "stream": stream,
    "paste": paste,
    "resize": resize,
}


def main(names: list[str]) -> int:
    print(f"{'what':58} {'measured':24} bar")
    for name in names or BENCHES:
        for what, measured, bar in BENCHES[name]():
            print(f"{what:58} {measured:24} {bar}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
