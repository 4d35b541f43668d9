"""What the model client costs: imports, CPU a streamed chunk, a step of a conversation, a request of a long session.

    python tests/bench/models/client_cost.py

The server runs in a process of its own, so CPU time here is the client's alone. Figures are medians.
"""

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tcoder.models.client import open_model
from tcoder.models.dialects import anthropic, openai_chat, openai_responses
from tcoder.models.dialects.dialect import DialectCodec, History
from tcoder.protocol.messages import (
    AssistantMessage,
    Message,
    TextPart,
    ToolCall,
    ToolResult,
    ToolResults,
    ToolSpec,
    UserMessage,
)
from tcoder.protocol.request import ModelPart, ModelReply, ModelRequest
from tcoder.protocol.variant import Dialect, ModelVariant

SERVER = Path(__file__).parents[2] / "support" / "model_server.py"
CODECS: dict[Dialect, DialectCodec] = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
}
TOOL = ToolSpec("read", "Read a file", {"type": "object", "properties": {"path": {"type": "string"}}})
CHUNKS = 10_000
STEPS = 60


@contextmanager
def served(steps: list[dict[str, object]]) -> Iterator[str]:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(json.dumps(steps))
        file.flush()
        server = subprocess.Popen([sys.executable, str(SERVER), file.name], stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.terminate()
            server.wait()
            assert server.stdout is not None
            server.stdout.close()


def of(dialect: Dialect, url: str = "http://127.0.0.1:9/v1") -> ModelVariant:
    return ModelVariant("bench/model", "model", "bench", url, dialect)


def import_cost(first: str, then: str) -> float:
    """Milliseconds of CPU that importing `then` takes once `first` is there."""
    code = f"import {first}\nimport time\nt=time.process_time()\nimport {then}\nprint((time.process_time()-t)*1000)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(9)]
    return statistics.median(float(run.stdout) for run in runs)


async def chunk_cost(dialect: Dialect, url: str) -> float:
    """Microseconds of CPU for a streamed chunk, network to delta."""
    model = open_model(of(dialect, url), "key")
    request = ModelRequest(of(dialect, url), "", (UserMessage((TextPart("go"),)),))
    costs: list[float] = []
    for _ in range(5):
        started = time.process_time()
        async for _part in model.stream(request):
            pass
        costs.append((time.process_time() - started) / CHUNKS * 1e6)
    await model.close()
    return statistics.median(costs)


async def step_cost(dialect: Dialect, url: str) -> tuple[float, float]:
    """Milliseconds of CPU for one step (request made and sent, answer folded): the first ten and the last ten."""
    variant = of(dialect, url)
    model = open_model(variant, "key")
    messages: tuple[Message, ...] = (UserMessage((TextPart("go"),)),)
    costs: list[float] = []
    for _ in range(STEPS):
        started = time.process_time()
        last: ModelPart | None = None
        async for part in model.stream(ModelRequest(variant, "You fix code.", messages, (TOOL,))):
            last = part
        costs.append((time.process_time() - started) * 1000)
        assert isinstance(last, ModelReply)
        results = tuple(ToolResult(call.id, "x" * 4096) for call in last.message.calls)
        messages = (*messages, last.message, ToolResults(results))
    await model.close()
    return statistics.median(costs[1:11]), statistics.median(costs[-10:])


def long_session(dialect: Dialect) -> tuple[float, float]:
    """Milliseconds for the first and for a later request of a session of about 1,000,000 tokens (4 MB)."""
    messages: list[Message] = [UserMessage((TextPart("go"),))]
    for number in range(5000):
        call = ToolCall(f"call{number:05}", "read", '{"path": "a.py"}')
        messages += [AssistantMessage((TextPart("Next."), call)), ToolResults((ToolResult(call.id, "x" * 700),))]
    codec, history = CODECS[dialect], History()
    request = ModelRequest(of(dialect), "You fix code.", tuple(messages), (TOOL,))
    started = time.perf_counter()
    codec.to_wire(request, history)
    first = time.perf_counter() - started
    request = ModelRequest(of(dialect), "You fix code.", (*messages, UserMessage((TextPart("more"),))), (TOOL,))
    started = time.perf_counter()
    codec.to_wire(request, history)
    return first * 1000, (time.perf_counter() - started) * 1000


def fold_cost(dialect: Dialect) -> float:
    """Seconds for 100,000 deltas, parsed and folded, without a network."""
    sys.path.insert(0, str(SERVER.parent))
    from model_server import anthropic_events, chat_events, responses_events

    from tcoder.models.dialects.sse import SseParser

    make = {"openai-chat": chat_events, "openai-responses": responses_events, "anthropic": anthropic_events}[dialect]
    stream = b"".join(make({"text": "word" * 100_000}, 0, "m"))
    fold = CODECS[dialect].open_fold(ModelRequest(of(dialect), "", ()))
    parser = SseParser()
    started = time.perf_counter()
    for at in range(0, len(stream), 65536):
        fold.feed(parser.feed(stream[at : at + 65536]))
    fold.finish()
    return time.perf_counter() - started


def main() -> None:
    base = "asyncio, msgspec, tcoder.protocol.request, tcoder.models.wire.lean_httpx"
    httpx = import_cost("asyncio, msgspec", "tcoder.models.wire.lean_httpx")
    print(f"httpx without its command line  {httpx:6.1f} ms CPU")
    for module in ("dialects.openai_chat", "dialects.openai_responses", "dialects.anthropic", "client"):
        print(f"{module:25} beyond httpx   {import_cost(base, f'tcoder.models.{module}'):6.1f} ms CPU")
    print(f"catalogue                       {import_cost('asyncio, msgspec', 'tcoder.models.catalogue'):6.1f} ms CPU")
    for dialect in CODECS:
        with served([{"text": "word" * CHUNKS}]) as url:
            chunk = asyncio.run(chunk_cost(dialect, url))
        with served([{"text": "So.", "calls": [{"name": "read", "arguments": {"path": "a.py"}}]}]) as url:
            early, late = asyncio.run(step_cost(dialect, url))
        first, later = long_session(dialect)
        print(
            f"{dialect:16} {chunk:5.1f} µs a chunk, step {early:4.2f} ms then {late:4.2f} ms, "
            f"4 MB session {first:5.1f} ms then {later:4.1f} ms, 100,000 deltas {fold_cost(dialect):4.2f} s"
        )


if __name__ == "__main__":
    main()
