"""The interface's event loop, measured in process: `python -m tests.bench.tui.loop [NAME …]`.

No terminal and no wire: what is measured is how long the loop is held, what a burst costs, what stays in memory.
Prints what was measured and what was asked for.
"""

import asyncio
import gc
import sys
import time
from collections.abc import Awaitable, Callable

from textual import events

from tcoder.frontends.tui.app import TcoderApp
from tcoder.frontends.tui.screens.main import MainScreen
from tcoder.frontends.tui.screens.review import ReviewScreen
from tcoder.protocol.display import TerminalBlock
from tcoder.protocol.events import ModelAsked, ToolFinished, ToolStarted
from tcoder.protocol.handles import SessionHandle
from tcoder.protocol.messages import ToolCall, ToolResult
from tcoder.protocol.queries import (
    CompletePaths,
    PathMatches,
    ReadReview,
    Reply,
    ReviewFile,
    ReviewHunk,
    ReviewState,
    SessionChoice,
)
from tcoder.protocol.request import TextDelta
from tests.support import stories
from tests.support.open_story import ANSWERS, respond
from tests.support.screens import startup, text_of
from tests.support.scripted_session import ScriptedSession, Step
from tests.support.terminal import percentile

Row = tuple[str, str, str]


async def _stalls(during: Awaitable[object]) -> list[float]:
    """Gaps between ticks that were asked for every millisecond, in ms, while something runs."""
    gaps: list[float] = []
    over = asyncio.ensure_future(during)
    last = time.perf_counter()
    while not over.done():
        await asyncio.sleep(0.001)
        now = time.perf_counter()
        gaps.append((now - last) * 1000)
        last = now
    await over
    return gaps


def _with(answers: dict[type, Reply], steps: list[Step]) -> Callable[..., Awaitable[SessionHandle]]:
    async def connect(choice: SessionChoice = SessionChoice()) -> SessionHandle:  # noqa: B008  a frozen value
        return ScriptedSession(list(steps), answers={**ANSWERS, **answers}, respond=respond)

    return connect


async def burst() -> list[Row]:
    """Twenty thousand tokens at a thousand a second: stalls, and how far the screen is behind at the end."""
    app = TcoderApp(startup(), _with({}, [stories.started()]))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        session = app.desk.session
        assert isinstance(session, ScriptedSession)
        session.send(ModelAsked(1, "standard", "x"))
        words = stories.prose(20_000)

        async def play() -> None:
            began = time.perf_counter()
            for number, word in enumerate(words):
                session.send(TextDelta(word))
                if number % 50 == 49:
                    await asyncio.sleep(max(0.0, began + number / 1000 - time.perf_counter()))

        session.send(TextDelta("begin "))
        cpu = time.process_time()
        gaps = await _stalls(play())
        cpu = time.process_time() - cpu
        session.send(TextDelta("\n\nlastword"))
        sent = time.perf_counter()
        while "lastword" not in text_of(app):
            await asyncio.sleep(0.005)
        behind = (time.perf_counter() - sent) * 1000
    return [
        ("loop held at 1,000 tok/s, p99 / longest", f"{percentile(gaps, 0.99):.0f} / {max(gaps):.0f} ms", "40 ms p99"),
        ("last of 20,000 tokens seen after", f"{behind:.0f} ms", "1 s"),
        ("CPU at 1,000 tok/s", f"{cpu / 20 * 100:.0f} %", ""),
    ]


async def outputs() -> list[Row]:
    """Two hundred tool outputs of 20 KB each on top of two thousand messages."""
    text = "\n".join(f"{number:04} {'lorem ipsum dolor ' * 4}"[:100] for number in range(200))
    steps: list[Step] = list(stories.long(0.0)[:-1])
    app = TcoderApp(startup(), _with({}, steps))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause(1.0)
        session = app.desk.session
        assert isinstance(session, ScriptedSession)
        gc.collect()
        assert len(app.desk.transcript.blocks) >= 2_000
        before = _rss_mb()

        async def play() -> None:
            for number in range(200):
                call = ToolCall(f"o{number}", "shell", "{}")
                own = text.replace("lorem", f"l{number}")
                session.send(ToolStarted(call, f"cmd {number}"))
                session.send(
                    ToolFinished(call.id, "shell", ToolResult(call.id, own, display=(TerminalBlock("cmd", own),)), 1.0)
                )
                await asyncio.sleep(0.01)

        gaps = await _stalls(play())
        gc.collect()
        return [
            ("memory after 2,000 messages and 200 outputs of 20 KB", f"{_rss_mb():.0f} MB", "150 MB"),
            ("  of that, the outputs", f"{_rss_mb() - before:.0f} MB", ""),
            ("loop held, p99 / longest", f"{percentile(gaps, 0.99):.0f} / {max(gaps):.0f} ms", "40 ms p99"),
        ]


async def again() -> list[Row]:
    """Two hundred times `/new` with a turn in each."""
    app = TcoderApp(startup(), _with({}, stories.fixed()))
    async with app.run_test(size=(120, 40)) as pilot:
        grown: list[float] = []
        for number in range(220):
            app.main.post_message(MainScreen.Switch(SessionChoice("new")))
            await pilot.pause(0.01)
            if number in (19, 219):
                gc.collect()
                grown.append(_rss_mb())
    return [("memory grown over 200 times /new", f"{grown[1] - grown[0]:.1f} MB", "5 MB")]


async def review() -> list[Row]:
    """A review of 2,000 changed lines in 30 files: until it is seen, and a step in it."""
    lines = tuple(f"{'+-'[number % 2]}line {number} of this hunk" for number in range(22))
    files = tuple(
        ReviewFile(
            f"src/file{file}.py",
            "modified",
            tuple(ReviewHunk(f"h{file}-{hunk}", f"@@ -{hunk},9 +{hunk},9 @@", lines) for hunk in range(3)),
        )
        for file in range(30)
    )
    state = ReviewState(files, "base", "ok", "message")
    app = TcoderApp(startup(), _with({ReadReview: state}, [stories.started()]))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause(0.2)
        began = time.perf_counter()
        await app.main.act("review.open")
        while not isinstance(app.screen, ReviewScreen) or "hunk" not in text_of(app):
            await asyncio.sleep(0.002)
        opened = (time.perf_counter() - began) * 1000
        steps: list[float] = []
        for _ in range(40):
            began = time.perf_counter()
            await app.screen.on_key(events.Key("j", "j"))
            text_of(app)
            steps.append((time.perf_counter() - began) * 1000)
    changed = sum(len(hunk.lines) for file in files for hunk in file.hunks)
    return [
        (f"review of {changed} lines in 30 files opens", f"{opened:.0f} ms", "300 ms"),
        (
            "  j until it is drawn, p50 / p95",
            f"{percentile(steps, 0.5):.0f} / {percentile(steps, 0.95):.0f} ms",
            "30 ms",
        ),
    ]


async def mention() -> list[Row]:
    """`@` with fifty matches offered for each letter (the index's own time is measured with the index)."""
    paths = PathMatches(tuple(f"src/package{number % 40}/module_{number}.py" for number in range(50)))
    app = TcoderApp(startup(), _with({CompletePaths: paths}, [stories.started()]))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause(0.2)
        times: list[float] = []
        for letter in "@module_12":
            began = time.perf_counter()
            app.main.prompt.insert(letter)
            while not (app.main.prompt.popup_open and app.main._completed == app.main.prompt.before_cursor):
                await asyncio.sleep(0.001)
            times.append((time.perf_counter() - began) * 1000)
    return [("@ until its list is there, p50 / max", f"{percentile(times, 0.5):.0f} / {max(times):.0f} ms", "80 ms")]


def _rss_mb() -> float:
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024


BENCHES = {"burst": burst, "outputs": outputs, "again": again, "review": review, "mention": mention}


def main(names: list[str]) -> int:
    rows = [row for name in names or BENCHES for row in asyncio.run(BENCHES[name]())]
    for what, measured, asked in rows:
        print(f"{what:56} {measured:>18}   {asked}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
