"""Keeps what a person chose: a key in a 0600 file beside its address, a model in their settings."""

import json
import os
import tempfile
import tomllib
from pathlib import Path
from typing import cast

from tcoder.agent.journal import private_folder
from tcoder.protocol.errors import UsageError


def store_key(file: Path, provider: str, base_url: str, key: str) -> None:
    """Keep `key` for `provider` at `base_url`, other entries as they are; nobody but the user can read the file.
    Raises `UsageError`."""
    entries = _read(file)
    entries[provider] = {"base_url": base_url, "key": key}
    lines: list[str] = []
    for name, fields in entries.items():
        if isinstance(fields, dict):
            values = cast("dict[str, object]", fields)
            lines += [f"[{_text(name)}]", *(f"{field} = {_text(value)}" for field, value in values.items()), ""]
    _write(file, "\n".join(lines))


def store_model(file: Path, model: str, base_url: str) -> None:
    """Make `model` the one to begin with. Raises `UsageError`."""
    chosen = {"model": model, **({"base_url": base_url} if base_url else {})}
    _store_head(file, chosen, drop=("model", "base_url"))


def store_variant(file: Path, name: str) -> None:
    """Make this stop of the slider, or `auto`, the one to begin with. Raises `UsageError`."""
    _store_head(file, {"variant": name}, drop=("variant",))


def _store_head(file: Path, values: dict[str, str], *, drop: tuple[str, ...]) -> None:
    """Put `values` at the head of the settings in place of those to `drop`, the rest untouched."""
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    head, table, tables = text.partition("\n[") if not text.startswith("[") else ("", "[", text[1:])
    kept = [line for line in head.split("\n") if line.partition("=")[0].strip() not in drop]
    chosen = [f"{name} = {_text(value)}" for name, value in values.items()]
    head = "\n".join([*chosen, *kept]).rstrip("\n")
    new = f"{head}\n{table}{tables}" if table else f"{head}\n"
    try:
        tomllib.loads(new)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file} cannot be changed: {error}", f"write {'; '.join(chosen)} into it yourself") from error
    _write(file, new)


def _text(value: object) -> str:
    """A TOML basic string; JSON's escapes are among TOML's."""
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _read(file: Path) -> dict[str, object]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {file}: {error}", "mend it or move it away") from error


def _write(file: Path, text: str) -> None:
    """In one step, readable by the user alone from the first byte on."""
    private_folder(file.parent)
    try:
        descriptor, name = tempfile.mkstemp(prefix=file.name, dir=file.parent)
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(text)
        Path(name).replace(file)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from error
