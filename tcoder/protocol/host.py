"""What a front end may ask of the program around its session: keys, local models, settings, this machine."""

from collections.abc import Callable
from typing import Literal, Protocol

from msgspec import Struct

from tcoder.protocol.queries import StatusReport
from tcoder.protocol.variant import VariantName

ReportName = Literal["config", "doctor", "memory"]


class KeyOffer(Struct, frozen=True):
    """A provider that takes a key. `present` = `variable` is set in the environment; its value is never shown. `model`
    is one of the provider's models to begin with, empty = the person has to name one."""

    provider: str
    variable: str
    base_url: str
    model: str = ""
    present: bool = False


class LocalOffer(Struct, frozen=True):
    """A model for the engine on this machine. `bytes` is its file's size, also before it is `present`; `speed` says in
    words what was measured with it, empty = nothing."""

    id: str
    bytes: int
    present: bool = False
    speed: str = ""


class ServerOffer(Struct, frozen=True):
    """A model server that answered on this machine."""

    base_url: str
    models: tuple[str, ...]


class Offers(Struct, frozen=True):
    """The ways to a model that are known without asking the network."""

    keys: tuple[KeyOffer, ...] = ()
    local: tuple[LocalOffer, ...] = ()


class Host(Protocol):
    """The program around the session. Every method may be called while a turn runs."""

    async def offers(self) -> Offers: ...

    async def servers(self) -> tuple[ServerOffer, ...]:
        """Ask the usual ports of this machine; only ever called because a person wants it."""
        ...

    async def store_key(self, provider: str, key: str, model: str) -> None:
        """Try the key with one token, then keep it for this provider's address. Raises `TcoderError` when it does not
        work; nothing is kept then."""
        ...

    async def fetch(self, model: str, progress: Callable[[str], None]) -> None:
        """Get a local model's file. Raises `TcoderError`."""
        ...

    def use(self, model: str, base_url: str = "") -> None:
        """The model of sessions from now on, and the one to begin with next time. Raises `TcoderError` when it cannot
        be kept."""
        ...

    def keep_variant(self, name: VariantName | None) -> None:
        """The slider's stop to begin with next time, None = automatic. Raises `TcoderError` when it cannot be kept."""
        ...

    def trust(self) -> None:
        """From now on and for good, this folder's own settings count."""
        ...

    async def report(self, name: ReportName) -> StatusReport: ...
