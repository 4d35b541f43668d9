"""A31: what a rule denies is not read by another way."""

from typing import Any

from support.desk import Desk, git
from support.live import live, turn

from tcoder.protocol.events import ToolFinished

RULES = '[[rules]]\ndecision = "deny"\ntool = "*"\nmatch = "conf/*"\n'


async def test_a31_a_search_withholds_what_a_rule_denies(desk: Desk, serve: Any) -> None:
    (desk.root / "conf").mkdir()
    (desk.root / "conf" / "key.toml").write_text("marker = 'hidden-value'\n")
    (desk.root / "notes.txt").write_text("marker: open\n")
    git(desk.root, "add", "-A")
    looks = [
        {"name": "search", "arguments": {"pattern": "marker"}},
        {"name": "read", "arguments": {"path": "conf/key.toml"}},
    ]
    server = serve({"calls": looks}, {"text": "Done."})
    async with live(desk, server, RULES) as session:
        await turn(session, "what is marked?")
        results = [recorded.event.result for recorded in session.log if isinstance(recorded.event, ToolFinished)]
    assert "marker: open" in results[0].content and "1 more" in results[0].content
    assert results[1].status == "denied"
    assert "hidden-value" not in server.requests[-1].raw.decode()


async def test_a31_commands_do_not_see_what_a_rule_denies(desk: Desk, serve: Any) -> None:
    (desk.root / "conf").mkdir()
    (desk.root / "conf" / "key.toml").write_text("marker = 'hidden-value'\n")
    script = (
        "import pathlib\nfor p in sorted(pathlib.Path('.').rglob('*.toml')): print(p, p.read_text())\nprint('seen')\n"
    )
    (desk.root / "walk.py").write_text(script)
    server = serve({"calls": [{"name": "shell", "arguments": {"command": "python3 walk.py"}}]}, {"text": "Done."})
    async with live(desk, server, RULES, sandbox="on") as session:
        await turn(session, "what is there?")
        results = [recorded.event.result for recorded in session.log if isinstance(recorded.event, ToolFinished)]
    assert "seen" in results[0].content and "hidden-value" not in results[0].content
    assert (desk.root / "conf" / "key.toml").read_text() == "marker = 'hidden-value'\n"
