"""Finds the key for a model: from the environment or a 0600 file, each bound to the address it was configured for.

The key goes from here into the HTTP client and nowhere else.
"""

import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from tcoder.protocol.errors import UsageError
from tcoder.protocol.variant import ModelVariant

FILE = "credentials.toml"
DIALECT_KEYS = {
    "openai-chat": "OPENAI_API_KEY",
    "openai-responses": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
}


def key_for(variant: ModelVariant, environ: Mapping[str, str], file: Path, *, own_url: bool) -> str | None:
    """The key for a variant, None when there is none.

    `own_url` says that a person gave the address in this very run (a flag, their environment or their settings); then
    `TCODER_API_KEY` is asked first and the dialect's usual variable last. A key in `file` is used only for the
    `base_url` that stands beside it. Raises `UsageError` when other users can read `file`.
    """
    names = ["TCODER_API_KEY"] if own_url else []
    if variant.api_key_env:
        names.append(variant.api_key_env)
    if own_url:
        names.append(DIALECT_KEYS[variant.dialect])
    for name in names:
        if key := environ.get(name, "").strip():
            return key
    return _from_file(variant, file)


def kept(file: Path) -> tuple[str, ...]:
    """Every key in `file`, so that none is written elsewhere; none when it cannot be read."""
    try:
        entries = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError):
        return ()
    tables = (cast("dict[str, object]", entry) for entry in entries.values() if isinstance(entry, dict))
    return tuple(key for table in tables if isinstance(key := table.get("key"), str))


def _from_file(variant: ModelVariant, file: Path) -> str | None:
    """`[provider] base_url = "…" key = "…"`."""
    try:
        mode = file.stat().st_mode
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise UsageError(f"{file} can be read by others", f"chmod 600 {file}")
        entries = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {file}: {error}") from error
    entry = entries.get(variant.provider)
    if not isinstance(entry, dict):
        return None
    fields: dict[str, object] = entry  # pyright: ignore[reportUnknownVariableType] TOML is untyped
    if str(fields.get("base_url", "")).rstrip("/") != variant.base_url:
        return None
    return str(fields.get("key", "")) or None
