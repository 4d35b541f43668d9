from pathlib import Path

import pytest
from support.model_calls import hear, request, variant

from tcoder.models.scripted import ScriptedModel, Step, open_script
from tcoder.protocol.errors import ModelError

SCRIPT = """[
  {"reasoning": "hm", "text": "I read it, and this line is longer than a piece.",
   "calls": [{"name": "read", "arguments": {"path": "a"}}, {"name": "read", "arguments": "not json", "id": "x"}]},
  {"retry": "overloaded", "text": "done", "stop": "length",
   "usage": {"input_uncached": 5, "cache_read": 6, "output": 7}},
  {"text": "part", "fail": "rate_limit", "message": "later"}
]"""


async def test_a_script_is_played_step_by_step(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text(SCRIPT)
    model = open_script(str(path))
    heard = [await hear(model.stream(request(variant()))) for _ in range(4)]
    first, second, third, over = heard
    assert first.reply is not None
    assert first.text == first.reply.message.text == "I read it, and this line is longer than a piece."
    assert first.reasoning == "hm"
    assert [(c.id, c.arguments) for c in first.reply.message.calls] == [
        ("call00000", '{"path":"a"}'),
        ("x", "not json"),
    ]
    assert first.reply.message.stop == "tool_calls"
    assert second.reply is not None
    assert (second.reply.message.stop, second.reply.served.retries) == ("length", 1)
    assert second.reply.message.usage is not None
    assert (second.reply.message.usage.prompt, second.reply.message.usage.output) == (11, 7)
    assert third.text == "part"
    assert third.error is not None
    assert third.error.failure == "rate_limit"
    assert over.text == "The script is over."
    assert len(model.requests) == 4
    await model.close()


@pytest.mark.parametrize("content", ["{", '{"text": "x"}', '[{"txet": "x"}]', '[{"fail": "whim"}]'])
def test_what_is_no_script_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "script.json"
    path.write_text(content)
    with pytest.raises(ModelError, match="is no script"):
        open_script(str(path))
    with pytest.raises(ModelError, match="cannot be read"):
        open_script(str(tmp_path / "gone.json"))


async def test_steps_can_be_values() -> None:
    heard = await hear(ScriptedModel([Step(text="a")]).stream(request(variant())))
    assert heard.text == "a"
