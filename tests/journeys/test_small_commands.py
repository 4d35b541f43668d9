"""The smaller commands as a person uses them after a task: sessions, apply, review, commit."""

from typing import Any

import pytest
from support.desk import Desk


def ids(desk: Desk) -> list[str]:
    return [one["id"] for one in desk.run("sessions", "--json").result["sessions"]]


@pytest.mark.parametrize("arguments", [(), ("",), ("first", "")])
def test_removing_a_session_needs_its_name(desk: Desk, serve: Any, arguments: tuple[str, ...]) -> None:
    desk.ask(serve({"text": "Nothing."}), "what is here?", "--session-id", "first")
    ended = desk.run("sessions", "rm", *arguments)
    assert ended.code == 2 and "needs the id" in ended.err and "tcoder sessions" in ended.err
    assert ids(desk) == ["first"]


def test_sessions_that_are_named_are_removed_all_or_none(desk: Desk, serve: Any) -> None:
    server = serve({"text": "Nothing."}, {"text": "Nothing."}, {"text": "Nothing."})
    for name in ("one", "two", "three"):
        desk.ask(server, "what is here?", "--session-id", name)
    assert desk.run("sessions", "rm", "one", "nowhere").code == 2 and len(ids(desk)) == 3
    ended = desk.run("sessions", "rm", "one", "three")
    assert ended.code == 0 and ended.out == "removed one\nremoved three\n"
    assert ids(desk) == ["two"]
