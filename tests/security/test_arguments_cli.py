"""Arguments that are hardly JSON: A74. Each is an error for the model, or means the same to policy and tool."""

import pytest
from support.ground import Ground
from support.model_server import ModelServer

STRANGE: tuple[tuple[str, str, str, str], ...] = (  # case, tool, arguments as sent, what the model is told
    ("nesting", "shell", '{"command": ' + "[" * 100_000 + "]" * 100_000 + "}", "wrong arguments"),
    ("digits", "shell", '{"command": "echo x", "timeout": ' + "9" * 5_000 + "}", "wrong arguments"),
    ("NaN", "shell", '{"command": "echo x", "timeout": NaN}', "not valid JSON"),
    ("twice", "shell", '{"command": "echo one", "command": "echo two"}', "two"),
    ("surrogate", "shell", '{"command": "echo \\ud83d"}', "not valid JSON"),
    ("NUL", "shell", '{"command": "echo a\\u0000b"}', "U+0000"),
    ("NUL in a path", "read", '{"path": "a\\u0000b"}', "not a path"),
    ("unknown", "shell", '{"command": "echo x", "sandbox": "off"}', "wrong arguments"),
    ("last", "shell", '{"command": "echo still here"}', "still here"),
)


@pytest.fixture(scope="module")
def answers(ground: Ground) -> list[str]:
    calls = [{"name": tool, "arguments": text} for _, tool, text, _ in STRANGE]
    with ModelServer([{"calls": calls}, {"text": "done"}]) as server:
        flags = ("--base-url", server.url, "-m", "scripted", "--no-tests", "--approval", "auto")
        ended = ground.run("--task", "go", *flags)
        assert "Traceback" not in ended.err and ended.code in (0, 4), ended
    return [str(message["content"]) for message in server.bodies[-1]["messages"] if message["role"] == "tool"]


@pytest.mark.parametrize("number", range(len(STRANGE)), ids=[case for case, *_ in STRANGE])
def test_a74_arguments_that_are_hardly_json(answers: list[str], number: int) -> None:
    assert len(answers) == len(STRANGE)
    assert STRANGE[number][3] in answers[number], answers[number][:300]
