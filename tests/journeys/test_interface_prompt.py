"""The prompt, copying, themes and sizes, the first run, line mode: in a real terminal."""

import base64
import json
from typing import Any

import pytest
from support.desk import Desk
from support.person import working


def to(server: Any) -> tuple[str, ...]:
    return ("--base-url", server.url, "-m", "scripted")


def test_files_commands_shell_and_history(desk: Desk, serve: Any) -> None:
    server = serve({"text": "Seen."})
    with working(desk, *to(server)) as person:
        person.write(b"what is in @ca")
        person.sees("▸ calc.py")
        person.press("tab")
        person.sees("@calc.py")
        person.write(b"\x7f:1-2 ?")
        person.press("enter")
        person.sees("Seen.")
        person.write(b"/eff")
        person.sees("/effort")
        person.write(b"ort h")
        person.sees("▸ high")
        person.press("esc", "ctrl+c")
        person.say("!echo from the shell")
        person.sees("run  echo from the shell", "│ from the shell")
        person.press("ctrl+r")
        person.sees("History", "what is in @calc.py:1-2 ?")
        person.press(*"what", "enter")
        person.sees("│ what is in @calc.py:1-2 ?")
    sent = json.dumps(server.requests[0].body)
    assert "def add(a, b)" in sent and "def double" not in sent


def test_paste_editor_and_stash(desk: Desk, serve: Any) -> None:
    editor = desk.root.parent / "editor"
    editor.write_text('#!/bin/sh\necho "from the editor" > "$1"\n')
    editor.chmod(0o755)
    server = serve({"text": "Read."})
    with working(desk, *to(server), VISUAL=str(editor)) as person:
        person.paste("\n".join(f"line {number}" for number in range(400)))
        person.sees("[paste 1: 400 lines")
        person.press("enter")
        person.sees("Read.")
        person.press("ctrl+g")
        person.sees("│ from the editor")
        person.press("ctrl+s")
        person.sees("draft put aside")
        person.press("ctrl+s")
        person.sees("│ from the editor")
    assert "line 399" in json.dumps(server.requests[0].body)


def test_an_image_goes_along(desk: Desk, serve: Any) -> None:
    data = b"\x89PNG\r\n\x1a\n" + bytes(40)
    (desk.root / "dot.png").write_bytes(data)
    server = serve({"text": "A dot."})
    with working(desk, *to(server)) as person:
        person.say("/image dot.png")
        person.sees("the image goes along")
        person.say("what is this?")
        person.sees("A dot.", "1 image")


def test_copying_says_where_the_text_went_and_the_mouse_is_freed(desk: Desk, serve: Any) -> None:
    server = serve({"text": "    indented answer"})
    with working(desk, *to(server)) as person:
        person.say("say something")
        person.sees("indented answer", "model call")
        person.press("ctrl+y")
        person.sees("sent to the terminal, 19 characters (OSC 52, which cannot be verified)")
        assert b"\x1b]52;c;" + base64.b64encode(b"    indented answer") in person.output
        since = len(person.output)
        person.say("/mouse off")
        person.sees("tcoder  mouse off")
        assert b"\x1b[?1000l" in person.output[since:] and b"\x1b[?1006l" in person.output[since:]


@pytest.mark.parametrize("theme", ["tcoder-light", "high-contrast-dark", "ansi", "mono"])
def test_themes(desk: Desk, serve: Any, theme: str) -> None:
    with working(desk, *to(serve({"text": "Hello."})), size=(80, 24)) as person:
        since = len(person.output)
        person.say(f"/theme {theme}")
        person.wait(lambda: b"\x1b[" in person.output[since:])
        person.say("hello")
        person.sees("Hello.", "ready")


@pytest.mark.parametrize("size", [(80, 24), (40, 15)])
def test_small_terminals(desk: Desk, serve: Any, size: tuple[int, int]) -> None:
    with working(desk, *to(serve({"text": "Hello."})), size=size) as person:
        person.say("hello")
        person.sees("Hello.")
        person.press("f1")
        person.sees("Keys", "F2")
        person.press("esc")
        person.misses("type to filter")


def test_no_colour_and_ascii(desk: Desk, serve: Any) -> None:
    with working(desk, *to(serve({"text": "Hello."})), NO_COLOR="1", LANG="C", PYTHONIOENCODING="ascii") as person:
        person.sees("[fast|STD]")
        person.say("hello")
        person.sees("Hello.", "ready")
        assert person.screen.isascii()


def test_a_conflict_of_keys_is_reported(desk: Desk, serve: Any) -> None:
    (desk.home / "config").mkdir(parents=True)
    (desk.home / "config" / "config.toml").write_text('[ui.keys]\n"variant.flip" = "alt+p"\n')
    with working(desk, *to(serve({"text": "Hello."}))) as person:
        person.press("f1")
        person.sees("Keys")
        person.press("esc")
        person.sees("Alt+P now does variant.flip, no longer view.dock")


def test_the_first_run_and_the_demo(desk: Desk) -> None:
    with working(desk) as person:
        person.sees("1  paste a key", "3  a server here", "6  look around", "local/")
        person.say("!echo works")
        person.sees("│ works")
        person.say("/diff")
        person.sees("nothing has changed")
        person.press("esc")
        person.say("5")
        person.sees("│ make the failing test pass")
        person.press("enter")
        person.allows()
        person.sees("edit", seconds=30)


def test_line_mode_does_the_same(desk: Desk, serve: Any) -> None:
    server = serve({"text": "Hello there."})
    with working(desk, *to(server), ready="line mode", TERM="dumb") as person:
        person.say("hello")
        person.sees("Hello there.")
        person.say("/cost")
        person.sees("model calls")
        person.say("/fsat")
        person.sees("did you mean /fast")
        person.say("/quit")
        person.wait(lambda: person.ended)
        assert b"\x1b" not in person.output


@pytest.mark.parametrize("variables", [{"ACCESSIBLE": "1"}, {"SCREEN_READER": "1"}, {"TCODER_PLAIN": "1"}])
def test_lines_for_who_asks_for_them(desk: Desk, serve: Any, variables: dict[str, str]) -> None:
    with working(desk, *to(serve({"text": "Hello."})), ready="line mode", **variables) as person:
        assert b"\x1b[?1049h" not in person.output


def test_lines_in_a_narrow_terminal(desk: Desk, serve: Any) -> None:
    with working(desk, *to(serve({"text": "Hello."})), ready="line mode", size=(36, 20)):
        pass
