"""Keys: defaults without conflicts, changes, and what cannot be."""

import pytest

from tcoder.frontends.keymap import FORBIDDEN, keymap, normal, show


def test_the_defaults_have_no_conflict() -> None:
    found = keymap({})
    assert found.problems == ()
    assert len({binding.key for binding in found.bindings}) == len(found.bindings)
    assert not {binding.key for binding in found.bindings} & set(FORBIDDEN)


def test_a_change_replaces_the_default_keys() -> None:
    found = keymap({"variant.flip": "f5,ctrl+x"})
    assert found.keys("variant.flip") == ("f5", "ctrl+x") and found.problems == ()


def test_an_empty_change_takes_the_key_away() -> None:
    assert keymap({"variant.flip": ""}).keys("variant.flip") == ()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"variant.flop": "f5"}, "no action 'variant.flop', the nearest is 'variant.flip'"),
        ({"variant.flip": "ctrl+i"}, "Ctrl+I cannot be bound to variant.flip: it is Tab in most terminals"),
        (
            {"variant.flip": "f5", "view.dock": "F5"},
            "F5 is set for both variant.flip and view.dock; variant.flip keeps it",
        ),
        ({"variant.flip": "alt+p"}, "Alt+P now does variant.flip, no longer view.dock"),
    ],
)
def test_problems_are_said(changes: dict[str, str], problem: str) -> None:
    assert problem in keymap(changes).problems


@pytest.mark.parametrize(
    ("key", "same"),
    [
        ("Alt-,", "alt+comma"),
        ("alt+comma", "alt+comma"),
        ("Shift+Ctrl+x", "ctrl+shift+x"),
        ("Esc", "escape"),
        ("F2", "f2"),
    ],
)
def test_names_of_keys(key: str, same: str) -> None:
    assert normal(key) == same


def test_keys_as_people_write_them() -> None:
    assert [show(key) for key in ("alt+comma", "f2", "ctrl+p", "pageup")] == ["Alt+,", "F2", "Ctrl+P", "PageUp"]
