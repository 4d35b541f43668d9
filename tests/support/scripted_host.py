"""A host that knows two ways to a model and remembers what it was asked."""

from collections.abc import Callable

from tcoder.protocol.errors import ModelError
from tcoder.protocol.host import KeyOffer, LocalOffer, Offers, ReportName, ServerOffer
from tcoder.protocol.queries import StatusReport
from tcoder.protocol.variant import VariantName


class ScriptedHost:
    def __init__(self, good_key: str = "sk-good") -> None:
        self.good_key = good_key
        self.kept: list[tuple[str, str, str]] = []
        self.used: list[tuple[str, str]] = []
        self.trusted = False
        self.variants: list[VariantName | None] = []

    async def offers(self) -> Offers:
        return Offers(
            (
                KeyOffer("openai", "OPENAI_API_KEY", "https://api.example/v1", "openai/small", present=True),
                KeyOffer("other", "OTHER_API_KEY", "https://other.example/v1"),
            ),
            (LocalOffer("local/tiny-coder", 491_400_000, speed="27 tokens/s with 2 threads"),),
        )

    async def servers(self) -> tuple[ServerOffer, ...]:
        return (ServerOffer("http://127.0.0.1:8080/v1", ("served",)),)

    async def store_key(self, provider: str, key: str, model: str) -> None:
        if key != self.good_key:
            raise ModelError("auth", "the key was refused")
        self.kept.append((provider, key, model))

    async def fetch(self, model: str, progress: Callable[[str], None]) -> None:
        progress("fetching 1 of 2")

    def use(self, model: str, base_url: str = "") -> None:
        self.used.append((model, base_url))

    def keep_variant(self, name: VariantName | None) -> None:
        self.variants.append(name)

    def trust(self) -> None:
        self.trusted = True

    async def report(self, name: ReportName) -> StatusReport:
        return StatusReport(((name, "as it is"),))
