"""The seams between packages: what a session and a model look like from outside."""

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from typing import Protocol

from tcoder.protocol.events import Delta, Recorded
from tcoder.protocol.ops import Op
from tcoder.protocol.queries import Query, Reply, SessionChoice
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

    def subscribe(self, *, past: bool = True) -> AbstractContextManager[Subscription]:
        """Subscribe from the first event on, or without `past` from when this process opened the session; leaving the
        context ends the subscription."""
        ...

    async def submit(self, op: Op) -> None:
        """Hand an op over; returns when it is accepted, not when it is done. Raises `UsageError` for an op that makes
        no sense now (an unknown question, nothing to undo)."""
        ...

    async def query(self, query: Query) -> Reply:
        """Answer with the struct that the query's docstring names, or `Unavailable`. Changes nothing, never raises for
        what a session cannot know, and may be called while a turn runs."""
        ...


class Connect(Protocol):
    """How a front end gets its session, and others later (`/new`, `/resume`, `/fork`)."""

    async def __call__(self, choice: SessionChoice = SessionChoice()) -> SessionHandle:  # noqa: B008 - frozen value
        """Open a session. Raises `TcoderError` when it cannot be opened (held by another process, unreadable)."""
        ...
