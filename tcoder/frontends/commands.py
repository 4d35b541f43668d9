"""What a line typed into the prompt means: a message, a slash command, a shell command. Pure."""

import difflib
from collections.abc import Sequence

from msgspec import Struct

from tcoder.frontends.actions import ACTIONS, Action
from tcoder.protocol.queries import UserCommand

QUIT_WORDS = frozenset({"exit", "quit", ":q"})


class Say(Struct, frozen=True):
    """A message for the model."""

    text: str


class Do(Struct, frozen=True):
    """An action with what followed its name."""

    action: str
    rest: str = ""


class Shell(Struct, frozen=True):
    """`!command` shares its output with the model, `!!command` does not."""

    command: str
    share: bool


class Unknown(Struct, frozen=True):
    """No such command; `nearest` are the likely ones."""

    name: str
    nearest: tuple[str, ...]


class Nothing(Struct, frozen=True):
    pass


Meaning = Say | Do | Shell | Unknown | Nothing


def names(actions: Sequence[Action] = ACTIONS) -> dict[str, Action]:
    """Slash names and aliases to their actions."""
    return {name: action for action in actions if action.slash for name in (action.slash, *action.aliases)}


def meaning(text: str, user: Sequence[UserCommand] = (), actions: Sequence[Action] = ACTIONS) -> Meaning:
    """What `text` asks for. An unknown command is never sent to the model; `//text` sends a literal slash."""
    stripped = text.strip()
    if not stripped:
        return Nothing()
    if stripped in QUIT_WORDS:
        return Do("session.quit")
    if stripped.startswith("!!"):
        return Shell(stripped[2:].strip(), share=False) if stripped[2:].strip() else Nothing()
    if stripped.startswith("!"):
        return Shell(stripped[1:].strip(), share=True) if stripped[1:].strip() else Nothing()
    if stripped.startswith("//"):
        return Say(stripped[1:])
    if not stripped.startswith("/") or _is_path(stripped):
        return Say(text)
    name, _, rest = stripped[1:].partition(" ")
    if (action := names(actions).get(name)) is not None:
        first, _, more = rest.strip().partition(" ")
        stop = names(actions).get(first) if action.id == "variant.explain" else None
        if stop is not None and stop.group == "variant" and stop.id != action.id:
            return Do(stop.id, more.strip())  # `/variant fast` is `/fast`
        return Do(action.id, rest.strip())
    if (command := next((command for command in user if command.name == name), None)) is not None:
        return Say(command.text.replace("$ARGUMENTS", rest.strip()))
    known = [*names(actions), *(command.name for command in user)]
    near = (
        difflib.get_close_matches(name, known, 3, 0.5) or [known_name for known_name in known if name in known_name][:3]
    )
    return Unknown(name, tuple(near))


def _is_path(text: str) -> bool:
    """An absolute path at the start of a message is no command: `/etc/hosts looks wrong`."""
    return "/" in text.split()[0][1:]


class Candidate(Struct, frozen=True):
    """A completion: `text` replaces what stands from `start` to the cursor."""

    text: str
    start: int
    label: str
    note: str = ""


def fuzzy(wanted: str, text: str) -> int | None:
    """How well `wanted` fits `text`: smaller is better, None = its letters do not occur in that order."""
    wanted, text = wanted.lower(), text.lower()
    if not wanted:
        return 0
    if (at := text.find(wanted)) >= 0:
        return at
    score, at = 100, -1
    for letter in wanted:
        found = text.find(letter, at + 1)
        if found < 0:
            return None
        score += found - at - 1
        at = found
    return score


def complete(before: str, user: Sequence[UserCommand] = (), actions: Sequence[Action] = ACTIONS) -> list[Candidate]:
    """Completions of a slash command, or of its argument, for the text before the cursor."""
    if not before.startswith("/") or before.startswith("//") or "\n" in before:
        return []
    name, space, rest = before[1:].partition(" ")
    if space:
        action = names(actions).get(name)
        scored = [(fuzzy(rest, choice), choice) for choice in (action.choices if action else ())]
        start = len(name) + 2
        return [
            Candidate(choice, start, choice)
            for _, choice in sorted((s, c) for s, c in scored if s is not None)
            if choice != rest
        ]
    offered = [(action.slash, action.aliases, f"{action.usage}  {action.title}".strip()) for action in actions]
    offered += [(command.name, (), f"{command.description} ({command.source})") for command in user]
    found = [(best(name, (text, *aliases)), text, note) for text, aliases, note in offered if text]
    ordered = sorted((score, text, note) for score, text, note in found if score is not None)
    return [Candidate(f"/{text} ", 0, f"/{text}", note) for _, text, note in ordered]


def best(wanted: str, texts: Sequence[str]) -> int | None:
    """The best score of several texts; None when none fits."""
    return min((score for score in (fuzzy(wanted, text) for text in texts) if score is not None), default=None)


def mention(before: str) -> tuple[int, str] | None:
    """The `@path` that is being typed at the end of `before`: where it starts and what follows the `@`."""
    at = before.rfind("@")
    if at < 0 or (at > 0 and not before[at - 1].isspace() and before[at - 1] not in "([{'\"`"):
        return None
    text = before[at + 1 :]
    return None if any(c.isspace() for c in text) else (at, text)
