"""What a very long session costs: 20,000 events, about 1,000,000 tokens, synthetic.

    python tests/bench/context/long_session.py [EVENTS]

Each row is measured in a process of its own, as CPU time. Nothing here is a test: figures depend on the machine. Bars:

    load + fold       the journal from disk to a state                     with start-up <= 400 ms to a usable prompt
    request           the first request from that state, as bytes          <= 150 ms
    next request      the same after one more turn                         O(turn) before the bytes are joined
    append            one event folded, at 1,000 and at 20,000 events      the same
    report            context by layer                                     <= 20 ms
    memory            peak resident size                                   <= 200 MB
    list              the stored sessions of a repository, 200 of them     cold and with the cache
"""

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

EVENTS = 20_000
TEXT = "def handler(request):\n    value = request.query.get('key', default)\n    return render(value, status=200)\n"


def write_journal(path: Path, events: int) -> None:
    from tcoder.agent.journal import Journal
    from tcoder.protocol.budget import Usage
    from tcoder.protocol.display import TextBlock
    from tcoder.protocol.edits import Cause, FileChange, Patch
    from tcoder.protocol.events import (
        Event,
        ModelAnswered,
        ModelAsked,
        PatchApplied,
        SessionStarted,
        ToolFinished,
        ToolStarted,
        TurnFinished,
        TurnStarted,
    )
    from tcoder.protocol.messages import AssistantMessage, TextPart, ToolCall, ToolResult, UserMessage
    from tcoder.protocol.outcome import Outcome
    from tcoder.protocol.variant import ModelVariant, Served

    variant = ModelVariant("x/m", "m", "x", "http://127.0.0.1/v1")
    result = (TEXT * 9)[:600]  # with the rest of a round some 800 characters, for every 4 events
    journal = Journal(path)
    journal.append(SessionStarted("s", "/w", "1", variant, "agent", "auto", "off"))
    made, turn, prompt = 1, 0, 2_000
    while made < events:
        turn += 1
        block: list[Event] = [TurnStarted(turn, UserMessage((TextPart(f"step {turn} of the work"),)))]
        for number in range(24):
            call = ToolCall(f"c{turn}-{number}", "read", f'{{"path": "src/module_{number}.py", "line": {turn}}}')
            prompt += 200
            usage = Usage(input_uncached=200, cache_read=prompt, output=60, calls=1)
            text = TextPart("I look at the handler next, since the failing test goes through it. " * 2)
            block += [
                ModelAsked(made, "standard", "x/m"),
                ModelAnswered(made, AssistantMessage((text, call), "x/m", "tool_calls", usage), Served()),
                ToolStarted(call, call.name),
                ToolFinished(call.id, "read", ToolResult(call.id, result, "ok", (TextBlock("40 lines"),)), 0.1),
            ]
            if number % 6 == 0:
                change = (FileChange(f"src/module_{number}.py", "modified", 2, 1),)
                block.append(PatchApplied(Patch(f"p{turn}-{number}", "t", Cause("edit", turn=turn), change)))
        block.append(TurnFinished(turn, Outcome("done", 0, "Done with this step.")))
        for event in block[: events - made]:
            journal.append(event)
        made += len(block)
    journal.close()


def measure(path: Path) -> None:
    began = time.process_time()
    from tcoder.agent import context
    from tcoder.agent.journal import load
    from tcoder.agent.layers import context_report
    from tcoder.agent.state import fold, replay
    from tcoder.models.dialects import openai_chat
    from tcoder.models.dialects.dialect import History
    from tcoder.protocol.budget import Budget
    from tcoder.protocol.events import NoteAdded, TurnStarted
    from tcoder.protocol.messages import TextPart, UserMessage
    from tcoder.protocol.variant import ModelVariant

    imported = time.process_time()
    loaded = load(path)
    read = time.process_time()
    state = replay(recorded.event for recorded in loaded.events)
    folded = time.process_time()
    row("imports", f"{1e3 * (imported - began):.0f} ms")
    row("load", f"{1e3 * (read - imported):.0f} ms for {path.stat().st_size / 1e6:.1f} MB, {len(loaded.events)} events")
    row(
        "fold", f"{1e3 * (folded - read):.0f} ms, {len(state.messages)} messages, {state.characters / 4e6:.2f} M tokens"
    )

    variant = ModelVariant("x/m", "m", "x", "http://127.0.0.1/v1")
    frame = context.frame("You are a coding agent.", "", "", (), "key")
    history = History()
    for name in ("request", "next request"):
        state = fold(state, TurnStarted(state.turn + 1, UserMessage((TextPart("go on"),))))
        start = time.process_time()
        request = context.build(state, frame, variant)
        built = time.process_time()
        body = openai_chat.to_wire(request, history).body
        done = time.process_time()
        row(name, f"{1e3 * (done - start):.1f} ms (context {1e3 * (built - start):.2f}), {len(body) / 1e6:.1f} MB")

    for length in (1_000, len(loaded.events)):
        grown = replay(recorded.event for recorded in loaded.events[:length])
        start = time.process_time()
        for _ in range(1_000):
            grown = fold(grown, NoteAdded("x", "y"))
        row("append", f"{1e3 * (time.process_time() - start):.2f} µs an event after {length} events")

    start = time.process_time()
    report = context_report(state, frame, variant, Budget())
    row("report", f"{1e3 * (time.process_time() - start):.1f} ms, {report.used} tokens")
    row("memory", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")


def measure_list(path: Path) -> None:
    from tcoder.agent.stored import summarise_all

    folder = path.parent / "many"
    folder.mkdir()
    short = path.read_bytes()[:1_000_000].rpartition(b"\n")[0] + b"\n"
    for number in range(200):
        (folder / f"2026-{number:04}.jsonl").write_bytes(short)
    for name in ("cold", "cached"):
        start = time.process_time()
        summaries, _ = summarise_all(folder)
        row("list", f"{1e3 * (time.process_time() - start):.0f} ms {name}, {len(summaries)} sessions of 1 MB")


def measure_deltas() -> None:
    from tcoder.models.dialects.openai_chat import open_fold
    from tcoder.protocol.request import ModelRequest
    from tcoder.protocol.variant import ModelVariant

    request = ModelRequest(ModelVariant("x/m", "m", "x", "http://127.0.0.1/v1"), "", ())
    piece = b'{"choices":[{"index":0,"delta":{"content":"abcd"},"finish_reason":null}]}'
    times: list[float] = []
    for count in (10_000, 100_000):
        fold = open_fold(request)
        start = time.process_time()
        for _ in range(count):
            fold.feed([piece])
        fold.feed([b'{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}', b"[DONE]"])
        assert len(fold.finish().message.text) == 4 * count
        times.append(time.process_time() - start)
    row("deltas", f"10,000 in {times[0]:.2f} s, 100,000 in {times[1]:.2f} s (bar 1 s)")


def row(name: str, text: str) -> None:
    print(f"{name:13} {text}", flush=True)


def main(arguments: list[str]) -> None:
    if arguments and arguments[0] in ("--measure", "--list", "--deltas"):
        jobs: dict[str, Any] = {"--measure": measure, "--list": measure_list, "--deltas": lambda _: measure_deltas()}
        jobs[arguments[0]](Path(arguments[1]))
        return
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    try:
        path = folder / "s.jsonl"
        write_journal(path, int(arguments[0]) if arguments else EVENTS)
        for job in ("--measure", "--list", "--deltas"):
            subprocess.run([sys.executable, __file__, job, str(path)], check=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
