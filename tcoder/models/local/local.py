"""Models that run on this machine: the embedded engine behind the chat dialect."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import cast

from msgspec import structs

from tcoder.models.client import HttpModel, open_model
from tcoder.models.local.engine import Endpoint, EngineLease, EngineSettings, hold_engine
from tcoder.models.local.engine_start import COMMAND
from tcoder.models.local.folders import LocalFolders, local_folders
from tcoder.models.local.weights import require
from tcoder.protocol.errors import ModelError, WeightsError
from tcoder.protocol.request import ModelPart, ModelRequest, RetryDelta
from tcoder.protocol.variant import ModelVariant

_RESTARTS = 2


class LocalModel:
    """Serves the variants of the provider `local`, each with an engine of its own that is started at its first request
    and shared with other tcoder processes. `threads` 0 = measured, `idle_s` 0 = the engine ends with its last user,
    `context` in tokens. `on_note` hears what is being waited for while an engine starts."""

    def __init__(
        self,
        *,
        threads: int = 0,
        idle_s: float = 600.0,
        context: int = 8192,
        folders: LocalFolders | None = None,
        on_note: Callable[[str], None] | None = None,
        command: tuple[str, ...] = COMMAND,
    ) -> None:
        self._settings = EngineSettings(threads, idle_s, context)
        self._folders = folders or local_folders(os.environ)
        self._on_note = on_note
        self._command = command
        self._starting = asyncio.Lock()
        self._leases: dict[str, EngineLease] = {}
        self._clients: dict[str, HttpModel] = {}

    async def ensure_engine(self, model_id: str, *, on_progress: Callable[[str], None] | None = None) -> Endpoint:
        """The engine of `model_id`, started if need be, and kept until `close`. Raises `ModelError` when the weights
        are missing or wrong, or the engine cannot start."""
        async with self._starting:
            lease = self._leases.get(model_id)
            if lease is not None and lease.is_alive():
                return lease.endpoint
            await self._drop(model_id)
            try:
                path = await require(model_id, self._folders)
                note = on_progress or self._on_note
                lease = await hold_engine(model_id, path, self._settings, self._folders, note, self._command)
            except WeightsError as error:
                raise ModelError("unknown_model", error.message, error.hint) from error
            self._leases[model_id] = lease
            return lease.endpoint

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelPart]:
        """See `Model.stream`. An engine that ended meanwhile is started again."""
        model_id = request.variant.id
        for attempt in range(_RESTARTS + 1):
            endpoint = await self.ensure_engine(model_id)
            local = structs.replace(request, variant=_served_at(request.variant, endpoint))
            async with aclosing(self._client(model_id, local.variant, endpoint).stream(local)) as parts:
                async for part in parts:
                    yield part
                    if isinstance(part, RetryDelta) and attempt < _RESTARTS and not self._leases[model_id].is_alive():
                        break
                else:
                    return

    async def close(self) -> None:
        """Let go of the engines; those without other users end after their idle time."""
        for model_id in tuple(self._leases):
            await self._drop(model_id)

    def _client(self, model_id: str, variant: ModelVariant, endpoint: Endpoint) -> HttpModel:
        client = self._clients.get(model_id)
        if client is None:
            client = cast(HttpModel, open_model(variant, endpoint.api_key))
            self._clients[model_id] = client
        return client

    async def _drop(self, model_id: str) -> None:
        if client := self._clients.pop(model_id, None):
            await client.close()
        if lease := self._leases.pop(model_id, None):
            lease.close()


def _served_at(variant: ModelVariant, endpoint: Endpoint) -> ModelVariant:
    return structs.replace(variant, base_url=endpoint.base_url, model=endpoint.model, dialect="openai-chat")
