"""Questions of line mode: to the session, and to the person."""

from typing import TypeVar

from tcoder.frontends.plain.runner import LineMode
from tcoder.frontends.sanitise import clean
from tcoder.protocol.queries import Query, Reply, Unavailable

T = TypeVar("T")


async def ask(mode: LineMode, query: Query, kind: type[T]) -> T | None:
    """The session's answer; None when there is none, which has been said then."""
    if mode.session is None:
        return None
    reply: Reply = await mode.session.query(query)
    if isinstance(reply, kind):
        return reply
    if isinstance(reply, Unavailable):
        mode.say(clean(reply.reason))
    return None


async def choose(mode: LineMode, prompt: str) -> str:
    """What the person answers; empty for Ctrl+C and at the end of the input. Nothing typed before counts."""
    try:
        text = await mode.reader.line(prompt, answer=True)
    except KeyboardInterrupt:
        return ""
    return (text or "").strip()
