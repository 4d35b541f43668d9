"""`tcoder config [show|path]`: effective settings and where each comes from."""

import sys
from typing import Any, cast

import msgspec

from tcoder.app.options import Options
from tcoder.app.place import Place, find_place
from tcoder.app.printing import say, say_json
from tcoder.protocol.errors import UsageError


async def run(options: Options) -> int:
    what = options.arguments[0] if options.arguments else "show"
    place = find_place(options)
    if what == "path":
        _print_paths(options, place.config.folders)
    elif what == "show":
        _print_settings(options, msgspec.to_builtins(place.settings, str_keys=True), place.config.sources)
    else:
        raise UsageError(f"unknown: config {what}", "use config show or config path")
    return 0


def _print_paths(options: Options, folders: Any) -> None:
    paths = {
        "settings": str(folders.config / "config.toml"),
        "credentials": str(folders.config / "credentials.toml"),
        "state": str(folders.state),
        "cache": str(folders.cache),
        "data": str(folders.data),
    }
    if options.json:
        say_json(paths)
    else:
        sys.stdout.writelines(f"{name:12} {path}\n" for name, path in paths.items())


def _print_settings(options: Options, settings: dict[str, Any], sources: dict[str, str]) -> None:
    flat = dict(_flatten(settings))
    if options.json:
        body = {name: {"value": value, "source": sources.get(name, "default")} for name, value in flat.items()}
        say_json(body)
        return
    width = max(len(name) for name in flat)
    for name, value in flat.items():
        source = sources.get(name, "")
        say(f"{name:{width}}  {value!r}{f'   ({source})' if source else ''}\n")


def rows(place: Place) -> list[tuple[str, str]]:
    """The effective settings, each with where it comes from when it is not the default."""
    sources = place.config.sources
    flat = _flatten(msgspec.to_builtins(place.settings, str_keys=True))
    return [(name, f"{value!r}" + (f"   ({sources[name]})" if name in sources else "")) for name, value in flat]


def _flatten(values: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    flat: list[tuple[str, Any]] = []
    for key, value in values.items():
        name = f"{prefix}{key}"
        nested = cast("dict[str, Any]", value) if isinstance(value, dict) else None
        flat += _flatten(nested, f"{name}.") if nested else [(name, value)]
    return flat
