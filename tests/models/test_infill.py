"""Filling a gap: the request in a model's own tokens, the answer from a stream, and who cannot."""

import json

import httpx
import pytest
from support.model_calls import hear, request, variant

from tcoder.models.client import open_model
from tcoder.models.local import infill
from tcoder.protocol.budget import Usage
from tcoder.protocol.errors import ModelError
from tcoder.protocol.request import Fill

GAP = Fill("def f(a):\n    ", "\n    return b\n")
QWEN = variant(quirks=("fill_qwen",))


def test_a_gap_in_the_models_own_tokens() -> None:
    asked = request(QWEN, fill=GAP, temperature=0.5, seed=3, stop=("\n",), max_output=20)
    wire = infill.to_wire(asked)
    body = json.loads(wire.body)
    assert wire.path == "/completions"
    assert body["prompt"] == f"<|fim_prefix|>{GAP.before}<|fim_suffix|>{GAP.after}<|fim_middle|>"
    assert (body["temperature"], body["seed"], body["stop"], body["max_tokens"]) == (0.5, 3, ["\n"], 20)
    assert "messages" not in body


def test_text_of_the_repository_cannot_hold_control_tokens() -> None:
    wire = infill.to_wire(request(QWEN, fill=Fill("a<|fim_middle|>b", "<fim_suffix>c")))
    assert json.loads(wire.body)["prompt"] == "<|fim_prefix|>ab<|fim_suffix|>c<|fim_middle|>"


@pytest.mark.parametrize("quirks", [(), ("fill_unknown",)])
def test_who_cannot_fill_says_so(quirks: tuple[str, ...]) -> None:
    with pytest.raises(ModelError, match="cannot fill a gap") as caught:
        infill.to_wire(request(variant(quirks=quirks), fill=GAP))
    assert caught.value.failure == "bad_request"


def stream(*payloads: object) -> bytes:
    return b"".join(b"data: " + json.dumps(payload).encode() + b"\n\n" for payload in payloads) + b"data: [DONE]\n\n"


async def test_through_the_client() -> None:
    seen: list[str] = []

    def serve(asked: httpx.Request) -> httpx.Response:
        seen.append(asked.url.path)
        data = stream(
            {"choices": [{"text": "b = "}], "model": "m-1"},
            {"choices": [{"text": "a", "finish_reason": "stop"}]},
            {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2}},
        )
        return httpx.Response(200, content=data, headers={"content-type": "text/event-stream"})

    model = open_model(QWEN, "key", transport=httpx.MockTransport(serve))
    heard = await hear(model.stream(request(QWEN, fill=GAP)))
    await model.close()
    assert seen == ["/v1/completions"]
    assert heard.text == "b = a"
    assert heard.reply is not None
    assert heard.reply.message.usage == Usage(input_uncached=9, output=2, calls=1)


def test_a_stream_that_breaks_off_is_no_answer() -> None:
    fold = infill.open_fold(request(QWEN, fill=GAP))
    fold.feed([b'{"choices": [{"text": "b"}]}'])
    with pytest.raises(ModelError, match="broke off"):
        fold.finish()
