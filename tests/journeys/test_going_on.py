"""Which model a stored session goes on with, through the command line."""

from typing import Any

import pytest
from support.desk import Desk

ELSEWHERE = "model = 'other'\nbase_url = 'http://127.0.0.1:9/v1'\n"


def settings(desk: Desk, text: str) -> None:
    (desk.home / "config").mkdir(parents=True, exist_ok=True)
    (desk.home / "config" / "config.toml").write_text(text)


@pytest.mark.parametrize("flags", [("-c",), ("-r",), ("-r", "first"), ("-c", "--fork")])
@pytest.mark.parametrize("config", ["", ELSEWHERE])
def test_a_session_goes_on_with_the_model_and_address_it_used_last(
    desk: Desk, serve: Any, flags: tuple[str, ...], config: str
) -> None:
    server = serve({"text": "One."}, {"text": "Two."}, {"text": "Three."})
    assert desk.ask(server, "what is here?", "--session-id", "first").code == 0
    settings(desk, config)
    for said in ("Two.", "Three."):
        ended = desk.run("--task", "and now?", *flags)
        assert (ended.code, ended.out.strip()) == (0, said), ended.err
    assert {request.body["model"] for request in server.requests} == {"scripted"}


def test_a_flag_has_the_last_word(desk: Desk, serve: Any) -> None:
    first, second = serve({"text": "One."}), serve({"text": "Two."})
    desk.ask(first, "what is here?")
    ended = desk.run("--task", "and now?", "-c", "-m", "another", "--base-url", second.url)
    assert ended.out.strip() == "Two." and second.requests[0].body["model"] == "another"


def test_a_model_without_a_key_gives_way_to_the_one_of_the_settings(desk: Desk, serve: Any) -> None:
    server = serve({"text": "One."}, {"text": "Two."})
    desk.ask(server, "what is here?", "--session-id", "first")
    nowhere = "http://127.0.0.1:9"
    for flags in (("-m", "anthropic/claude-sonnet-4-5"), ()):  # nothing else is there: the same one is tried again
        ended = desk.run("--task", "x", "-c", *flags, HTTPS_PROXY=nowhere)
        assert ended.code == 75 and "anthropic" in ended.err
    settings(desk, f"model = 'mine'\nbase_url = '{server.url}'\n")
    ended = desk.run("--task", "and now?", "-c", HTTPS_PROXY=nowhere)
    assert ended.out.strip() == "Two." and server.requests[-1].body["model"] == "mine"
