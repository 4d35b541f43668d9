"""Which key does what: the keys of the actions, changed by the settings, with a report of what cannot be."""

import difflib
from collections.abc import Iterable, Mapping

from msgspec import Struct

from tcoder.frontends.actions import ACTIONS, Action

FORBIDDEN: dict[str, str] = {
    "ctrl+i": "it is Tab in most terminals",
    "ctrl+m": "it is Enter in most terminals",
    "ctrl+left_square_bracket": "it is Esc in most terminals",
    "enter": "it sends the prompt",
    "escape": "it goes one level back",
    "ctrl+c": "it copies, clears or quits",
}
_NAMES = {
    ",": "comma", ".": "full_stop", "/": "slash", "?": "question_mark", "[": "left_square_bracket",
    "]": "right_square_bracket", "esc": "escape", "return": "enter", "del": "delete", "space": "space",
}  # fmt: skip
_SHOWN = {
    "comma": ",", "full_stop": ".", "slash": "/", "question_mark": "?", "escape": "Esc", "pageup": "PageUp",
    "pagedown": "PageDown", "up": "↑", "down": "↓", "left": "←", "right": "→", "left_square_bracket": "[",
    "right_square_bracket": "]",
}  # fmt: skip


class Binding(Struct, frozen=True):
    key: str
    action: str


class Keymap(Struct, frozen=True):
    """`bindings` hold each key once; `problems` say in words what of the settings could not be done."""

    bindings: tuple[Binding, ...]
    problems: tuple[str, ...] = ()

    def keys(self, action: str) -> tuple[str, ...]:
        return tuple(binding.key for binding in self.bindings if binding.action == action)

    def shown(self, action: str) -> str:
        """The first key of an action as people write it, or empty."""
        keys = self.keys(action)
        return show(keys[0]) if keys else ""


def normal(key: str) -> str:
    """A key as Textual names it: `Alt-,` and `alt+comma` are the same."""
    parts = key.strip().lower().replace("-", "+").replace("meta+", "alt+").replace("control+", "ctrl+").split("+")
    *modifiers, last = [part for part in parts if part] or [""]
    return "+".join((*sorted(modifiers), _NAMES.get(last, last)))


def show(key: str) -> str:
    """A key as people write it: `Alt+,`, `F2`, `Ctrl+P`."""
    return "+".join(_SHOWN.get(part, part.capitalize() if len(part) > 1 else part.upper()) for part in key.split("+"))


def keymap(changes: Mapping[str, str], actions: Iterable[Action] = ACTIONS) -> Keymap:
    """The keys of all actions, with `changes` from action id to keys (comma separated; empty = no key).

    A key of the settings takes it from the action that had it; two settings for one key are a conflict, and the first
    keeps it.
    """
    actions = tuple(actions)
    known = {action.id for action in actions}
    problems: list[str] = []
    taken: dict[str, str] = {}
    for action_id, keys in changes.items():
        if action_id not in known:
            near = difflib.get_close_matches(action_id, known, 1)
            problems.append(f"no action {action_id!r}" + (f", the nearest is {near[0]!r}" if near else ""))
            continue
        for key in (normal(part) for part in keys.replace(",,", ",comma").split(",") if part.strip()):
            if key in FORBIDDEN:
                problems.append(f"{show(key)} cannot be bound to {action_id}: {FORBIDDEN[key]}")
            elif key in taken:
                problems.append(f"{show(key)} is set for both {taken[key]} and {action_id}; {taken[key]} keeps it")
            else:
                taken[key] = action_id
    for action in actions:
        if action.id in changes:
            continue
        for key in map(normal, action.keys):
            if key in taken:
                problems.append(f"{show(key)} now does {taken[key]}, no longer {action.id}")
            else:
                taken[key] = action.id
    return Keymap(tuple(Binding(key, action) for key, action in taken.items()), tuple(problems))
