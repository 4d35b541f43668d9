"""A question to a small model: it is shown the code that the question is about, since it cannot look for it."""

from collections.abc import Iterable

from tcoder.agent import guided_place
from tcoder.agent.turn import Turn
from tcoder.agent.verdict import Ending, done
from tcoder.protocol.errors import TcoderError
from tcoder.protocol.location import SymbolHit
from tcoder.protocol.messages import Message
from tcoder.protocol.request import ModelRequest
from tcoder.resources import prompt

SHOWN = 2
MAX_LINES, MAX_CHARACTERS = 60, 3_000
REMEMBERED = 6
MAX_ANSWER = 500


async def answer(turn: Turn) -> Ending:
    """Show the best definitions, ask once. Raises `Halt`, `ModelError`."""
    places = await guided_place.find(turn)
    shown = _code(turn, places.symbols)
    if shown:
        turn.note("code", shown)
    request = ModelRequest(
        variant=turn.variant,
        system=prompt("system/guided_answer"),
        messages=_recent(turn.state.messages),
        max_output=MAX_ANSWER,
    )
    message = await turn.ask(request)
    return done(message.text, None, wanted_change=False)


def _recent(messages: Iterable[Message]) -> tuple[Message, ...]:
    return tuple(messages)[-REMEMBERED:]


def _code(turn: Turn, hits: tuple[SymbolHit, ...]) -> str:
    """The first definitions with their text, the others by name and place; bounded."""
    parts: list[str] = []
    for hit in hits[:SHOWN]:
        try:
            file = turn.env.files.read_if_there(hit.path)
        except TcoderError:
            continue
        if file is not None:
            lines = file.text.split("\n")[hit.line - 1 : hit.end_line][:MAX_LINES]
            parts.append(f"{hit.path}:{hit.line}\n```\n" + "\n".join(lines) + "\n```")
    parts += [f"{hit.path}:{hit.line} {hit.signature or hit.name}" for hit in hits[SHOWN:]]
    return "\n".join(parts)[:MAX_CHARACTERS]
