"""The interface as a person uses it, in process: keys, approvals, slider, scrolling, copying."""

from textual import events

from tcoder.frontends.actions import ACTIONS
from tcoder.frontends.approval import SETTLE_S
from tcoder.frontends.cards import ToolCard
from tcoder.frontends.plain.deeds import DEEDS as PLAIN_DEEDS
from tcoder.frontends.tui.app import DEEDS
from tcoder.frontends.tui.screens.pick import PickScreen
from tcoder.frontends.tui.screens.review import ReviewScreen
from tcoder.frontends.tui.screens.timeline import TimelineScreen
from tcoder.protocol.ops import (
    CommitAccepted,
    Decide,
    Interrupt,
    JudgeHunks,
    Rename,
    RunShell,
    SetApproval,
    SetVariant,
    Submit,
    TakeBack,
)
from tests.support.screens import interface, say, settle, text_of
from tests.support.scripted_session import ScriptedSession


def ops(app: object) -> list[object]:
    session = app.desk.session  # type: ignore[attr-defined]  the app under test
    assert isinstance(session, ScriptedSession)
    return list(session.ops)


def test_every_action_does_something_on_the_screen_and_in_line_mode() -> None:
    assert set(DEEDS) == {action.id for action in ACTIONS}
    assert set(PLAIN_DEEDS) >= {action.id for action in ACTIONS if action.where == "everywhere"}


async def test_a_message_is_sent_and_the_prompt_is_empty() -> None:
    async with interface() as (app, pilot):
        await pilot.press(*"hi", "enter")
        await settle(pilot)
        assert ops(app)[0] == Submit("hi")
        assert app.main.prompt.is_empty


async def test_newlines_by_key_and_by_backslash() -> None:
    async with interface() as (app, pilot):
        await pilot.press("a", "ctrl+j", "b", "backslash", "enter", "c", "enter")
        await settle(pilot)
        assert ops(app)[0] == Submit("a\nb\nc")


async def test_steer_queue_take_back_and_stop() -> None:
    async with interface("ask") as (app, pilot):
        await say(pilot, "go")
        app.main.prompt.focus()
        await pilot.press(*"one", "enter", *"two", "alt+enter")
        await settle(pilot)
        assert ops(app)[1:] == [Submit("one", steer=True), Submit("two")]
        assert "two" in text_of(app)
        await pilot.press("alt+up")
        await settle(pilot)
        assert isinstance(ops(app)[-1], TakeBack)
        assert app.main.prompt.text == "two"
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(ops(app)[-1], Interrupt)


async def test_an_unknown_command_is_never_sent() -> None:
    async with interface() as (app, pilot):
        await say(pilot, "/fsat")
        assert ops(app) == []
        assert "did you mean /fast" in text_of(app)


async def test_shell_and_mode() -> None:
    async with interface() as (app, pilot):
        await say(pilot, "!ls")
        await pilot.press("shift+tab")
        await settle(pilot)
        assert ops(app) == [RunShell("ls"), SetApproval("edits")]
        assert "edits" in text_of(app)


async def test_the_slider_by_keys_and_mouse() -> None:
    async with interface(size=(120, 36)) as (app, pilot):
        await pilot.press("alt+comma")
        await pilot.press("f2")
        await settle(pilot)
        assert ops(app) == [SetVariant("fast"), SetVariant("standard", sticky=False)]
        assert "std ▸¹" in text_of(app)
        await pilot.press("f2")
        await settle(pilot)
        assert "¹" not in text_of(app)
        await pilot.click("#slider", offset=(17, 0))
        await settle(pilot)
        assert ops(app)[-1] == SetVariant("standard")


async def test_stray_keys_do_not_answer() -> None:
    """Keys that are typed, pressed too early, or pasted never decide; then one does."""
    async with interface("ask") as (app, pilot):
        await say(pilot, "go")
        panel, prompt, clock = app.main.approval, app.main.prompt, [100.0]
        panel._clock = lambda: clock[0]
        app.main.prompt.focus()
        await pilot.pause()
        await pilot.press("1")
        assert prompt.text == "1" and not panel.has_focus
        panel.poll(last_typed=clock[0] - 0.5)
        await pilot.pause()
        assert not panel.has_focus
        panel.poll(last_typed=clock[0] - 1.0)
        await pilot.pause()
        assert panel.has_focus
        clock[0] += SETTLE_S - 0.1
        await pilot.press("1", "enter")
        panel.post_message(events.Paste("1"))
        await pilot.pause()
        clock[0] += 0.2
        await pilot.press("enter", "space")
        assert not any(isinstance(op, Decide) for op in ops(app))
        await pilot.press("1")
        await settle(pilot)
        assert ops(app)[-1] == Decide("q1", "once")
        assert prompt.text == "1" and prompt.has_focus


async def test_a_question_does_not_take_what_is_being_written() -> None:
    async with interface("ask") as (app, pilot):
        await say(pilot, "go")
        panel, prompt, clock = app.main.approval, app.main.prompt, [100.0]
        panel._clock = lambda: clock[0]
        prompt.focus()
        await pilot.press(*"use")
        panel.poll(last_typed=0.0, drafting=True)
        await pilot.pause()
        assert not panel.has_focus and "Tab answers" in text_of(app)
        prompt.set_text("")
        panel.poll(last_typed=0.0)
        await pilot.pause()
        clock[0] += 5
        await pilot.press(*"also use tabs")
        await settle(pilot)
        assert prompt.text == "also use tabs" and prompt.has_focus
        assert not any(isinstance(op, Decide) for op in ops(app))


async def test_the_rule_can_be_edited_and_a_refusal_has_a_reason() -> None:
    async with interface("ask") as (app, pilot):
        await say(pilot, "go")
        panel, clock = app.main.approval, [100.0]
        panel._clock = lambda: clock[0]
        panel.focus()
        await pilot.pause()
        clock[0] += 1
        await pilot.press("e", "ctrl+u", *"make build", "enter")
        assert "make build" in text_of(app)
        await pilot.press("2")
        await settle(pilot)
        assert ops(app)[-1] == Decide("q1", "session", rule="make build")
    async with interface("ask") as (app, pilot):
        await say(pilot, "go")
        panel, later = app.main.approval, [200.0]
        panel._clock = lambda: later[0]
        panel.focus()
        await pilot.pause()
        later[0] += 1
        await pilot.press("4", *"no rm", "enter")
        await settle(pilot)
        assert ops(app)[-1] == Decide("q1", "deny", note="no rm")


async def test_scrolling_leaves_the_end_and_comes_back() -> None:
    async with interface("long", size=(80, 24)) as (app, pilot):
        view = app.main.conversation
        assert view.following
        await pilot.press("pageup")
        before = text_of(app)
        assert not view.following
        app.desk.note("something new")
        await pilot.pause()
        assert "new line" in text_of(app)
        assert before.splitlines()[1:15] == text_of(app).splitlines()[1:15]
        await pilot.press("ctrl+end")
        assert view.following and "something new" in text_of(app)


async def test_a_card_is_unfolded_by_a_click_and_by_enter() -> None:
    async with interface(size=(120, 50)) as (app, pilot):
        await say(pilot, "go")
        at = next(
            i for i, of in enumerate(app.desk.transcript.blocks) if isinstance(of, ToolCard) and of.name == "read"
        )
        row = next(y for y, text in enumerate(text_of(app).splitlines()) if "read" in text and "84 lines" in text)
        await pilot.click("#transcript", offset=(4, row - 1))
        assert "│ 84 lines" in text_of(app)
        app.main.conversation.focus()
        app.main.conversation.cursor = at
        await pilot.press("enter")
        assert "│ 84 lines" not in text_of(app)


async def test_a_selection_copies_source_text() -> None:
    async with interface(size=(120, 50)) as (app, pilot):
        await say(pilot, "go")
        copied: list[str] = []

        async def take(text: str) -> None:
            copied.append(text)

        app.main.copy = take  # type: ignore[method-assign]  the clipboard of the test
        lines = text_of(app).splitlines()
        first = next(y for y, text in enumerate(lines) if "− " in text and "base * attempt" in text)
        await pilot.mouse_down("#transcript", offset=(3, first - 1))
        await pilot._post_mouse_events([events.MouseMove], "#transcript", offset=(70, first), button=1)
        await pilot.mouse_up("#transcript", offset=(70, first))
        await pilot.press("ctrl+y")
        assert copied == ["        delay = base * attempt\n        delay = min(cap, base * 2 ** attempt)"]


async def test_screens_open_and_close() -> None:
    async with interface(size=(100, 30)) as (app, pilot):
        await pilot.press("f1")
        await pilot.pause()
        assert isinstance(app.screen, PickScreen)
        await pilot.press("escape", *"/rewind", "enter")
        await pilot.pause()
        assert isinstance(app.screen, TimelineScreen)
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is app.main


async def test_review_accepts_rejects_and_commits_on_its_own_key() -> None:
    async with interface(size=(120, 36)) as (app, pilot):
        await say(pilot, "/diff")
        assert isinstance(app.screen, ReviewScreen)
        await pilot.press("a")
        await pilot.press("k", "r", *"no", "enter")
        await pilot.press("J", "x")
        assert "your own changes" in text_of(app)
        await pilot.press("j", "a")
        await settle(pilot)
        judged = [op for op in ops(app) if isinstance(op, JudgeHunks)]
        assert judged == [JudgeHunks(("h1",), "accepted"), JudgeHunks(("h1",), "rejected", "no")]
        assert "✗ hunk 1/2" not in text_of(app) and "stale" in text_of(app)
        await pilot.press("c", "enter")
        assert not any(isinstance(op, CommitAccepted) for op in ops(app))
        await pilot.press("C")
        await settle(pilot)
        assert ops(app)[-1] == CommitAccepted("fix(retry): cap exponential backoff\n\nThe delay had no upper bound.")
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is app.main


async def test_history_and_stash() -> None:
    async with interface() as (app, pilot):
        await say(pilot, "first")
        await pilot.press("up")
        assert app.main.prompt.text == "first"
        await pilot.press("ctrl+s")
        assert app.main.prompt.is_empty
        await pilot.press("ctrl+s")
        assert app.main.prompt.text == "first"


async def test_enter_sends_what_was_typed_when_completions_come_late() -> None:
    async with interface(size=(100, 30)) as (app, pilot):
        await pilot.press("slash", "r")
        await pilot.pause()
        assert app.main.prompt.popup_open
        for key in "ename my toy":
            app.main.prompt.insert(key)
        app.main.prompt._own_key(events.Key("enter", None))
        app.main.prompt.insert("/bug")
        await settle(pilot)
        assert app.main.prompt.text == "/bug"
        assert ops(app)[-1] == Rename("my toy")
