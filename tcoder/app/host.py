"""What the interface may ask of the program around its session: ways to a model, trust, settings, this machine."""

import asyncio
import os
from collections.abc import Callable

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tcoder.app import credentials, keeping
from tcoder.app.place import find_place
from tcoder.app.sessions import Sessions
from tcoder.models import catalogue
from tcoder.protocol.errors import ModelError
from tcoder.protocol.host import KeyOffer, LocalOffer, Offers, ReportName, ServerOffer
from tcoder.protocol.messages import TextPart, UserMessage
from tcoder.protocol.queries import StatusReport
from tcoder.protocol.request import ModelRequest
from tcoder.protocol.variant import VariantName

PORTS = (11434, 8000, 8080, 1234)
PROBE_S = 1.5
FIRST = ("anthropic", "openai", "openrouter", "google", "mistral", "deepseek")
"""Providers that most people look for come first; the rest follow by name."""


class _Model(Struct):
    id: str


class _Models(Struct):
    data: list[_Model]


class Program:
    """Implements `Host` over the sessions of an interface."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def offers(self) -> Offers:
        from tcoder.models.local.weights import list_weights  # late: only the first run asks

        known = catalogue.models()
        keys = [
            KeyOffer(
                name,
                entry.api_key_env,
                entry.base_url,
                next((model.id for model in known if model.id.startswith(f"{name}/")), ""),
                bool(os.environ.get(entry.api_key_env)),
            )
            for name, entry in catalogue.providers().items()
            if entry.api_key_env and entry.base_url
        ]
        keys.sort(key=lambda of: (not of.present, FIRST.index(of.provider) if of.provider in FIRST else len(FIRST)))
        weights = await asyncio.to_thread(list_weights)
        local = [
            LocalOffer(
                of.id,
                of.bytes,
                of.present,
                f"{of.speeds[-1].generation:.0f} tokens/s" if of.speeds else "",
            )
            for of in weights
        ]
        return Offers(tuple(keys), tuple(local))

    async def servers(self) -> tuple[ServerOffer, ...]:
        found = await asyncio.gather(*(_probe(f"http://127.0.0.1:{port}/v1") for port in PORTS))
        return tuple(offer for offer in found if offer is not None)

    async def store_key(self, provider: str, key: str, model: str) -> None:
        from tcoder.models.client import open_model  # late: httpx is not needed before

        variant = catalogue.resolve(model)
        request = ModelRequest(variant, "", (UserMessage((TextPart("ping"),)),), max_output=1)
        client = open_model(variant, key)
        try:
            async for _ in client.stream(request):
                pass
        except ModelError as error:
            if error.failure != "truncated":  # one token is all that was asked for
                raise
        finally:
            await client.close()
        file = self._sessions.place.config.folders.config / credentials.FILE
        keeping.store_key(file, provider, variant.base_url, key)

    async def fetch(self, model: str, progress: Callable[[str], None]) -> None:
        from tcoder.models.local.weights import pull  # late: only a pull needs it
        from tcoder.models.local.weights_store import PullProgress, human  # late: only a pull needs it

        def on_progress(of: PullProgress) -> None:
            progress(f"{of.note or 'fetching'} {human(of.done)}" + (f" of {human(of.total)}" if of.total else ""))

        await pull(model, on_progress=on_progress)

    def use(self, model: str, base_url: str = "") -> None:
        sessions = self._sessions
        keeping.store_model(sessions.place.config.folders.config / "config.toml", model, base_url)
        sessions.options = replace(sessions.options, model=model, base_url=base_url)
        sessions.place = find_place(sessions.options)

    def keep_variant(self, name: VariantName | None) -> None:
        keeping.store_variant(self._sessions.place.config.folders.config / "config.toml", name or "auto")

    def trust(self) -> None:
        sessions = self._sessions
        sessions.place.trust()
        sessions.place = find_place(sessions.options)

    async def report(self, name: ReportName) -> StatusReport:
        place = self._sessions.place
        if name == "config":
            from tcoder.app.commands import config  # late: only when asked

            return StatusReport(tuple(config.rows(place)))
        if name == "memory":
            from tcoder.app.instructions import RULE_FILES  # late: only when asked

            files = [
                (file, f"{(place.root / file).stat().st_size} bytes")
                for file in RULE_FILES
                if (place.root / file).is_file()
            ]
            return StatusReport((*files[:1], ("memory", "nothing else is remembered from one session to the next")))
        from tcoder.app.commands import doctor  # late: only when asked

        checks = await asyncio.to_thread(doctor.examine, place)
        return StatusReport(
            tuple(
                (f"{'✓' if of.ok else '✗'} {of.name}", of.detail + (f"; {of.fix}" if of.fix and not of.ok else ""))
                for of in checks
            )
        )


async def _probe(base_url: str) -> ServerOffer | None:
    """The server at an address, None when nothing that speaks the protocol answers."""
    import httpx  # late: asked for by a person only

    try:
        async with httpx.AsyncClient(timeout=PROBE_S, trust_env=False) as client:
            reply = await client.get(f"{base_url}/models")
            models = msgspec.json.decode(reply.content, type=_Models)
    except (httpx.HTTPError, msgspec.MsgspecError):
        return None
    return ServerOffer(base_url, tuple(of.id for of in models.data))
