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
    names_code = bool(guided_place.mentions(turn.task).names)
    shown = _code(turn, places.symbols, places.file if not names_code else "")
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


def _code(turn: Turn, hits: tuple[SymbolHit, ...], named: str) -> str:
    """The beginning of the file that is asked about, when one is; the first definitions with their text, the others by
    name and place; bounded."""
    parts: list[str] = []
    wanted = [(named, 1, MAX_LINES)] if named else [(hit.path, hit.line, hit.end_line) for hit in hits[:SHOWN]]
    for path, first, last in wanted:
        try:
            file = turn.env.files.read_if_there(path)
        except TcoderError:
            continue
        if file is not None:
            lines = file.text.split("\n")[first - 1 : last][:MAX_LINES]
            parts.append(f"{path}:{first}\n```\n" + "\n".join(lines) + "\n```")
    if named:
        hits = tuple(hit for hit in hits if hit.path == named)
        return "\n".join((*parts, *(f"{hit.path}:{hit.line} {hit.signature or hit.name}" for hit in hits)))[
            :MAX_CHARACTERS
        ]
    parts += [f"{hit.path}:{hit.line} {hit.signature or hit.name}" for hit in hits[SHOWN:]]
    return "\n".join(parts)[:MAX_CHARACTERS]
