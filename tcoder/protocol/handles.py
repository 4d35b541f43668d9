"""The seams between packages: what a session and a model look like from outside."""

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from typing import Protocol

from tcoder.protocol.events import Delta, Recorded
from tcoder.protocol.ops import Op
from tcoder.protocol.request import ModelPart, ModelRequest


class Model(Protocol):
    """Something that answers requests. One object serves every variant of its provider."""

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelPart]:
        """Parts as they arrive; the last is the `ModelReply`. Raises `ModelError` when there is no answer, after the
        retries that its class allows. Cancelling closes the connection at once."""
        ...

    async def close(self) -> None:
        """Release connections and child processes. May be called twice."""
        ...


class Subscription(Protocol):
    """An open ear on a session: first every event so far, then what comes, deltas in between; ends with the session."""

    def __aiter__(self) -> AsyncIterator[Recorded | Delta]: ...


class SessionHandle(Protocol):
    """All that a front end has of a session: ops in, events out."""

    @property
    def session_id(self) -> str: ...

    def subscribe(self) -> AbstractContextManager[Subscription]:
        """Subscribe from the first event on; leaving the context ends the subscription."""
        ...

    async def submit(self, op: Op) -> None:
        """Hand an op over; returns when it is accepted, not when it is done. Raises `UsageError` for an op that makes
        no sense now (an unknown question, nothing to undo)."""
        ...
