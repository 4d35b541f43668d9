"""What went wrong, and the keys that go on from there: again, with the other variant, with a key, without waiting."""

import json
from typing import Any

from support.desk import Desk
from support.person import Person, working

REFUSED = {"status": 400, "body": {"error": {"message": "the scripted refusal", "type": "invalid_request_error"}}}


def to(server: Any) -> tuple[str, ...]:
    return ("--base-url", server.url, "-m", "scripted")


def mark(person: Person, text: str) -> None:
    """Move the block cursor up to the block that says `text`."""
    for _ in range(8):
        person.press("ctrl+up")
        person.read_for(0.2)
        if any("▌" in line and text in line for line in person.screen.split("\n")):
            return
    raise AssertionError(f"{text!r} was not marked; the screen:\n{person.screen}")


def test_again_and_with_the_other_variant(desk: Desk, serve: Any) -> None:
    server = serve(REFUSED, REFUSED, {"text": "Now it works."})
    (desk.home / "config").mkdir(parents=True)
    (desk.home / "config" / "config.toml").write_text('[variants.fast]\nmodel = "scripted-small"\n')
    with working(desk, *to(server)) as person:
        person.say("hello")
        person.sees("the scripted refusal", "r tries again", "l takes the other", "ready")
        mark(person, "r tries again")
        person.press("r")
        person.wait(lambda: len(server.requests) == 2)
        person.sees("ready")
        mark(person, "l takes the other")
        person.press("l")
        person.sees("Now it works.", "ready")
    assert [request.body["model"] for request in server.requests] == ["scripted", "scripted", "scripted-small"]
    assert json.dumps(server.requests[-1].body).count("hello") == 1


def test_a_retry_that_waits_is_not_waited_for(desk: Desk, serve: Any) -> None:
    server = serve({"status": 429, "headers": {"Retry-After": "50"}}, {"text": "Now it works."})
    with working(desk, *to(server)) as person:
        person.say("hello")
        person.sees("r tries again", "tries again in 4")  # it counts down
        mark(person, "again in")
        person.press("r")
        person.sees("Now it works.", seconds=10)


def test_a_key_that_is_refused_can_be_entered_anew(desk: Desk, serve: Any) -> None:
    server = serve({"status": 401, "body": {"error": {"message": "bad key", "type": "authentication_error"}}})
    with working(desk, *to(server)) as person:
        person.say("hello")
        person.sees("bad key", "k enters a key", "ready")
        mark(person, "k enters a key")
        person.press("k")
        person.sees("Whose key")
        person.press("esc")
        person.sees("ready")
