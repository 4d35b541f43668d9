"""How much of all prompts comes from the cache: sixty steps of the real command line against a server with a prompt
cache (tests/support/prefix_server.py), in each dialect; with --local the same prompts against the embedded engine.

    python tests/bench/context/cache_share.py [--local [MODEL]]

Bar: 96 % of all prompt tokens on a run of 60 steps. `best` is what an ideal cache could serve: everything but what is
new in each request. `lowest` is the lowest share of a single request after the second. The engine's own counts take two
to five minutes on two cores; they are of the requests that the command line made, with one token asked for each.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1] / "loop"))

from steps import STEPS, call, make_repository, step
from support.model_server import Step
from support.prefix_server import PrefixServer

LOCAL_CONTEXT = 16_384


def script(kind: str) -> list[Step]:
    return [*(small(n) if kind == "small" else step(kind, n) for n in range(STEPS)), {"text": "done"}]


def small(number: int) -> Step:
    """Results of some three hundred characters: sixty of them fit into a small context."""
    return call("read", path=f"src/m{number % 40}.py", offset=1 + number, limit=6)


def run(kind: str, api: str) -> PrefixServer:
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    try:
        make_repository(folder / "repo")
        with PrefixServer(script(kind)) as server:
            environment = {**os.environ, "TCODER_HOME": str(folder / "home")}
            said = ["--task", "improve the code", "--base-url", server.url, "-m", "x/x", "--api", api, "--no-tests"]
            subprocess.run(
                [sys.executable, "-m", "tcoder", *said],
                cwd=folder / "repo",
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
            )
            return server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def row(name: str, counts: list[tuple[int, int]]) -> None:
    prompts = [prompt for prompt, _ in counts]
    ideal = 1 - prompts[-1] / sum(prompts)
    share = sum(cached for _, cached in counts) / sum(prompts)
    lowest = min(cached / prompt for prompt, cached in counts[2:])
    print(
        f"{name:28} {len(counts):3} requests, {sum(prompts):9} prompt tokens, "
        f"{share:6.2%} from the cache (best {ideal:.2%}), lowest {lowest:.1%}",
        flush=True,
    )


async def against_engine(model_id: str, server: PrefixServer) -> list[tuple[int, int]]:
    """The run's own requests, sent to the embedded engine; its counts."""
    from msgspec.structs import replace

    from tcoder.models import catalogue
    from tcoder.models.local.local import LocalModel
    from tcoder.protocol.request import ModelReply

    variant = replace(catalogue.resolve(model_id), context_window=LOCAL_CONTEXT)
    model = LocalModel(idle_s=30, context=LOCAL_CONTEXT)
    counts: list[tuple[int, int]] = []
    try:
        for seen in server.requests:
            async for part in model.stream(request_of(variant, seen.body)):
                if isinstance(part, ModelReply) and part.message.usage is not None:
                    usage = part.message.usage
                    counts.append((usage.prompt, usage.cache_read))
    finally:
        await model.close()
    return counts


def request_of(variant: Any, body: dict[str, Any]) -> Any:
    """A request of the chat dialect read back."""
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
    from tcoder.protocol.request import ModelRequest

    system, *rest = body["messages"]
    messages: list[Message] = []
    for message in rest:
        match message["role"]:
            case "user":
                messages.append(UserMessage((TextPart(message["content"]),)))
            case "tool":
                result = ToolResult(message["tool_call_id"], message["content"])
                messages.append(ToolResults((result,)))
            case _:
                calls = message.get("tool_calls", ())
                made = [ToolCall(of["id"], of["function"]["name"], of["function"]["arguments"]) for of in calls]
                text = [TextPart(message["content"])] if message["content"] else []
                messages.append(AssistantMessage((*text, *made), variant.id))
    tools = [ToolSpec(**tool["function"]) for tool in body.get("tools", ())]
    return ModelRequest(variant, system["content"], tuple(messages), tuple(tools), max_output=1)


def main(arguments: list[str]) -> None:
    if "--local" in arguments:
        model_id = (arguments[arguments.index("--local") + 1 :] or ["local/qwen2.5-coder-0.5b"])[0]
        row(model_id, asyncio.run(against_engine(model_id, run("small", "openai-chat"))))
        return
    for api in ("openai-chat", "openai-responses", "anthropic"):
        for kind in ("read", "mix", "small"):
            row(f"{api}, {kind}", run(kind, api).counts)


if __name__ == "__main__":
    main(sys.argv[1:])
