"""The first run: the card, keys, servers, local models, trust."""

import pytest

from tests.support.screens import interface, say, settle, text_of
from tests.support.scripted_host import ScriptedHost


async def test_without_a_model_a_card_shows_the_ways() -> None:
    async with interface(size=(100, 30), host=ScriptedHost(), no_model="none") as (app, pilot):
        await settle(pilot)
        seen = text_of(app)
        assert "1  paste a key" in seen and "OPENAI_API_KEY is set" in seen
        assert "local/tiny-coder, 491.4 MB, 27 tokens/s" in seen


@pytest.mark.parametrize(("key", "kept"), [("sk-good", True), ("sk-bad", False)])
async def test_a_key_is_masked_tried_and_kept_only_when_it_works(key: str, kept: bool) -> None:
    host = ScriptedHost()
    async with interface(size=(100, 30), host=host) as (app, pilot):
        await say(pilot, "/setup key")
        await pilot.press("enter", "enter")
        await pilot.pause()
        await pilot.press(*key)
        await pilot.pause()
        assert key not in text_of(app)
        await pilot.press("enter")
        await settle(pilot)
        assert host.kept == ([("openai", key, "openai/small")] if kept else [])
        assert host.used == ([("openai/small", "")] if kept else [])
        assert key not in text_of(app)
        assert ("the key was refused" in text_of(app)) is not kept


async def test_a_server_of_this_machine() -> None:
    host = ScriptedHost()
    async with interface(size=(100, 30), host=host) as (_, pilot):
        await say(pilot, "/setup server")
        await pilot.press("enter")
        await settle(pilot)
        assert host.used == [("served", "http://127.0.0.1:8080/v1")]


async def test_a_local_model_is_fetched_while_the_prompt_lives() -> None:
    host = ScriptedHost()
    async with interface(size=(100, 30), host=host) as (_, pilot):
        await say(pilot, "/setup local")
        await pilot.press("enter")
        await settle(pilot)
        assert host.used == [("local/tiny-coder", "")]


@pytest.mark.parametrize(("keys", "trusted"), [(("enter",), True), (("down", "enter"), False)])
async def test_trust_is_one_question(keys: tuple[str, ...], trusted: bool) -> None:
    host = ScriptedHost()
    async with interface(size=(100, 30), host=host, ask_trust=True) as (app, pilot):
        assert "Trust it?" in text_of(app)
        await pilot.press(*keys)
        await settle(pilot)
        assert host.trusted is trusted
        assert (app.desk.view.approval == "plan") is not trusted


async def test_reports_of_the_program() -> None:
    async with interface(size=(100, 30), host=ScriptedHost()) as (app, pilot):
        await say(pilot, "/doctor")
        assert "as it is" in text_of(app)
