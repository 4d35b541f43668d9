"""Loads plugins: a folder with `plugin.toml` and one Python module with `register(api)`.

Shipped plugins and the user's own are loaded the same way. A plugin that fails is named and left out; it never takes
the session with it, and nothing it does can widen what the policy allows.
"""

import importlib.util
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from tcoder.plugins.api import VERSION, PluginApi
from tcoder.protocol.errors import PluginError
from tcoder.protocol.events import Event, Notice, Recorded


class Manifest(Struct, frozen=True, forbid_unknown_fields=True):
    """`plugin.toml`. `module` is a file name beside it, without `.py`; `api` the version it was written for."""

    name: str
    description: str
    module: str
    api: int


class Loaded(Struct, frozen=True):
    """The plugins that work, and one sentence for each that does not."""

    plugins: tuple[PluginApi, ...]
    problems: tuple[str, ...]

    def observer(self, record: Callable[[Event], Recorded]) -> Callable[[Recorded], None]:
        """A session observer that hands events to the plugins. `record` is the session's writer."""
        for plugin in self.plugins:
            plugin.attach(lambda text: _notice(record, text))
        failed: set[str] = set()

        def observe(recorded: Recorded) -> None:
            for plugin in self.plugins:
                if plugin.name in failed:
                    continue
                try:
                    for kind, handler in plugin.handlers:
                        if isinstance(recorded.event, kind):
                            handler(recorded, recorded.event)
                except Exception as error:  # noqa: BLE001 a plugin's bug must not end the session
                    failed.add(plugin.name)
                    record(Notice("warning", "plugin", f"plugin {plugin.name} failed and is off now: {error!r}"))

        return observe


def _notice(record: Callable[[Event], Recorded], text: str) -> None:
    record(Notice("info", "attention", text))


def load(folders: Iterable[Path], disabled: frozenset[str] = frozenset()) -> Loaded:
    """Load every plugin found directly below `folders`, by name; the first of a name wins."""
    plugins: dict[str, PluginApi] = {}
    problems: list[str] = []
    for manifest_path in sorted(path for folder in folders for path in folder.glob("*/plugin.toml")):
        try:
            manifest = _manifest(manifest_path)
            if manifest.name not in disabled and manifest.name not in plugins:
                plugins[manifest.name] = _register(manifest, manifest_path.parent)
        except PluginError as error:
            problems.append(str(error))
    return Loaded(tuple(plugins.values()), tuple(problems))


def _manifest(path: Path) -> Manifest:
    try:
        manifest = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Manifest)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise PluginError(f"{path}: {error}") from error
    if manifest.api != VERSION:
        raise PluginError(f"plugin {manifest.name} was written for plugin API {manifest.api}, this is {VERSION}")
    if not manifest.module.isidentifier():
        raise PluginError(f"plugin {manifest.name}: {manifest.module!r} is no module name")
    return manifest


def _register(manifest: Manifest, folder: Path) -> PluginApi:
    spec = importlib.util.spec_from_file_location(f"tcoder_plugin_{manifest.module}", folder / f"{manifest.module}.py")
    if spec is None or spec.loader is None:
        raise PluginError(f"plugin {manifest.name}: {manifest.module}.py cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    api = PluginApi(manifest.name)
    try:
        spec.loader.exec_module(module)
        module.register(api)
    except Exception as error:  # foreign code: whatever it raises is its problem, said once
        raise PluginError(f"plugin {manifest.name} failed to load: {error!r}") from error
    return api
