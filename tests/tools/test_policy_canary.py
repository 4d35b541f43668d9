"""The key of the model never leaves the client: everything that a run leaves behind is searched for it."""

import base64
from pathlib import Path
from typing import Any

import pytest
from support.desk import Desk
from support.model_server import ModelServer

CANARY = "canary-7f3a91c2-do-not-print"
NAMES = ("TCODER_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY")


def shell(command: str) -> dict[str, Any]:
    return {"calls": [{"name": "shell", "arguments": {"command": command}}]}


def leaked(desk: Desk, *texts: str, server: ModelServer) -> list[str]:
    """Where the canary is, or an encoding of it."""
    spellings = [CANARY.encode(), base64.b64encode(CANARY.encode()).rstrip(b"="), CANARY[::-1].encode()]
    places = {f"text {at}": text.encode() for at, text in enumerate(texts)}
    places |= {f"request {at}": seen.raw for at, seen in enumerate(server.requests)}
    places |= {f"path {at}": seen.path.encode() for at, seen in enumerate(server.requests)}
    for folder in (desk.home, desk.root):
        places |= {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return [place for place, data in places.items() if any(spelling in data for spelling in spellings)]


def run(desk: Desk, server: ModelServer, *arguments: str) -> list[str]:
    ended = desk.ask(server, "do it", *arguments, **dict.fromkeys(NAMES, CANARY))
    assert any(CANARY in seen.headers.get("authorization", "") for seen in server.requests), ended
    return leaked(desk, ended.out, ended.err, server=server)


@pytest.mark.parametrize(
    ("output", "command"),
    [
        ("text", "env; export -p; set"),
        ("json", "cat /proc/*/environ | tr '\\0' '\\n'; tr '\\0' '\\n' < /proc/$PPID/environ"),
        ("stream-json", "ps axe; cat /proc/*/cmdline | tr '\\0' ' '"),
        ("text", "python3 -c 'import os; print(os.environ)'; printenv TCODER_API_KEY OPENAI_API_KEY"),
    ],
)
def test_commands_do_not_see_the_key(desk: Desk, serve: Any, output: str, command: str) -> None:
    assert run(desk, serve(shell(command), {"text": "done"}), "--output-format", output, "-v") == []


@pytest.mark.parametrize(
    "step",
    [
        {"status": 400, "body": {"error": {"message": "bad request"}}},
        {"status": 401, "body": {"error": {"message": "no such key"}}},
        {"raw": "data: {nonsense", "content_type": "text/event-stream"},
        {"page": "<html>log in</html>"},
        {"calls": [{"name": "shell", "arguments": "{broken"}]},
    ],
)
def test_failures_do_not_show_the_key(desk: Desk, serve: Any, step: dict[str, Any]) -> None:
    assert run(desk, serve(step, {"text": "done"}), "--json", "-v") == []


def test_a_redirect_does_not_get_the_key(desk: Desk, serve: Any) -> None:
    thief = serve({"text": "thanks"})
    server = serve({"redirect": f"{thief.url}/chat/completions"})
    assert run(desk, server, "--json", "-v") == []
    assert not any(CANARY in value for seen in thief.requests for value in seen.headers.values())


def test_the_search_would_find_it(desk: Desk, serve: Any) -> None:
    server = serve({"text": "done"})
    (desk.root / "notes.txt").write_text(f"x{CANARY}x")
    Path(desk.home).mkdir(exist_ok=True)
    assert leaked(desk, CANARY, server=server) == ["text 0", str(desk.root / "notes.txt")]
