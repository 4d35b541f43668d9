"""The smallest real model, pulled if need be: run with `make live`."""

import json

import pytest

from tcoder.models.local.local import LocalModel
from tcoder.models.local.weights import find, pull
from tcoder.protocol.messages import TextPart, UserMessage
from tcoder.protocol.request import ModelReply, ModelRequest
from tcoder.protocol.variant import ModelVariant

MODEL = "local/qwen2.5-coder-0.5b"
VARIANT = ModelVariant(id=MODEL, model="", provider="local", base_url="", json_schema=True)


@pytest.mark.live
@pytest.mark.timeout(1200)
async def test_a_small_model_writes_code_and_obeys_a_schema() -> None:
    assert await pull(MODEL) == await find(MODEL)
    model = LocalModel(idle_s=30)

    async def ask(text: str, schema: dict[str, object] | None = None) -> ModelReply:
        messages = (UserMessage((TextPart(text),)),)
        request = ModelRequest(
            VARIANT, "You write Python.", messages, max_output=120, temperature=0.0, response_schema=schema
        )
        parts = [part async for part in model.stream(request)]
        assert isinstance(parts[-1], ModelReply)
        return parts[-1]

    answer = await ask("Write a function add(a, b) that returns the sum of two numbers. Only the code.")
    assert "def add(a, b)" in answer.message.text
    again = await ask("Write a function add(a, b) that returns the sum of two numbers. Only the code.")
    assert again.message.usage is not None
    assert again.message.usage.cache_read > 20
    schema = {"type": "object", "properties": {"answer": {"enum": ["yes", "no"]}}, "required": ["answer"]}
    choice = await ask("Is Python a programming language? Answer as JSON.", schema)
    assert json.loads(choice.message.text)["answer"] in ("yes", "no")
    await model.close()
