"""Settings: read once from files and environment, handed down frozen.

Flag > environment (`TCODER_*`) > project `.tcoder/config.toml` > user `config.toml` > defaults. A project's file is
data until its folder is trusted, and even then may not set what would widen rights or send keys elsewhere.
"""

import difflib
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from tcoder.frontends.startup import MouseMode, ThemeName
from tcoder.protocol.budget import Tier
from tcoder.protocol.errors import UsageError
from tcoder.protocol.permissions import Approval
from tcoder.protocol.variant import Dialect, Effort

Switch = Literal["on", "off"]
Network = Literal["on", "off", "allowlist"]


class VariantSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """One end of the slider: any of these, the rest from the catalogue."""

    model: str = ""
    tier: str = ""
    speed: str = ""
    effort: Effort | None = None
    max_output: int | None = None


class Variants(Struct, frozen=True, forbid_unknown_fields=True):
    fast: VariantSettings = VariantSettings()
    standard: VariantSettings = VariantSettings()


class ProviderSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """An endpoint of one's own, or a change to a known one."""

    base_url: str = ""
    api: Dialect | None = None
    api_key_env: str = ""
    context_window: int | None = None


class ChecksSettings(Struct, frozen=True, forbid_unknown_fields=True):
    test: str = ""
    lint: str = ""
    max_attempts: int = 5
    timeout_s: float = 900.0


class BudgetSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of a run by the size of its task (`tier`); a number of one's own replaces the tier's, 0 = no limit.
    `max_context` is in tokens, `compact_at` the share of it at which the conversation is made shorter, `tool_output`
    the characters of one tool result that the model is shown, `outline` the tokens of the repository's outline that it
    begins with (never for local models)."""

    tier: Tier = "medium"
    max_turns: int | None = None
    max_cost: Decimal | None = None
    max_tokens: int | None = None
    max_time_s: float | None = None
    max_context: int | None = None
    compact_at: Annotated[float, Meta(ge=0.2, le=0.95)] | None = None
    tool_output: Annotated[int, Meta(ge=1_000)] | None = None
    outline: Annotated[int, Meta(ge=0, le=20_000)] | None = None


class RuleSettings(Struct, frozen=True, forbid_unknown_fields=True):
    decision: Literal["allow", "ask", "deny"]
    tool: str
    match: str = "*"
    matches: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()


class LocalSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The embedded engine; `threads` 0 = measured, `idle_s` seconds until it ends by itself."""

    threads: int = 0
    idle_s: float = 600.0
    context: int = 8192


class UiSettings(Struct, frozen=True, forbid_unknown_fields=True):
    theme: ThemeName = "tcoder-dark"
    ascii: bool = False
    reduced_motion: bool = False
    mouse: MouseMode = "on"
    keys: dict[str, str] = msgspec.field(default_factory=dict[str, str])


class PluginSettings(Struct, frozen=True, forbid_unknown_fields=True):
    disabled: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


class SessionSettings(Struct, frozen=True, forbid_unknown_fields=True):
    keep_days: int = 30


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """`project_rules` are the `rules` of a trusted repository's own file."""

    model: str = ""
    base_url: str = ""
    api: Dialect | None = None
    variant: Literal["fast", "standard", "auto"] = "standard"
    effort: Effort | None = None
    strategy: Literal["auto", "agent", "guided"] = "auto"
    approval: Approval | None = None
    sandbox: Switch = "on"
    network: Network = "off"
    allow_hosts: tuple[str, ...] = ()
    add_dirs: tuple[str, ...] = ()
    aliases: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    variants: Variants = Variants()
    providers: dict[str, ProviderSettings] = msgspec.field(default_factory=dict[str, ProviderSettings])
    checks: ChecksSettings = ChecksSettings()
    budget: BudgetSettings = BudgetSettings()
    rules: tuple[RuleSettings, ...] = ()
    project_rules: tuple[RuleSettings, ...] = ()
    local: LocalSettings = LocalSettings()
    ui: UiSettings = UiSettings()
    plugins: PluginSettings = PluginSettings()
    sessions: SessionSettings = SessionSettings()


# What a repository's own file may say. Everything else is a person's to say.
PROJECT_KEYS = frozenset({"checks", "rules", "variant", "effort", "strategy", "ui"})

ENVIRONMENT: dict[str, tuple[str, ...]] = {
    "TCODER_MODEL": ("model",),
    "TCODER_BASE_URL": ("base_url",),
    "TCODER_API": ("api",),
    "TCODER_VARIANT": ("variant",),
    "TCODER_EFFORT": ("effort",),
    "TCODER_STRATEGY": ("strategy",),
    "TCODER_APPROVAL": ("approval",),
    "TCODER_SANDBOX": ("sandbox",),
    "TCODER_NETWORK": ("network",),
    "TCODER_TEST_CMD": ("checks", "test"),
    "TCODER_BUDGET": ("budget", "tier"),
    "TCODER_MAX_TURNS": ("budget", "max_turns"),
    "TCODER_MAX_COST": ("budget", "max_cost"),
    "TCODER_MAX_TOKENS": ("budget", "max_tokens"),
    "TCODER_MAX_TIME": ("budget", "max_time_s"),
    "TCODER_LOCAL_THREADS": ("local", "threads"),
    "TCODER_THEME": ("ui", "theme"),
}


class Folders(Struct, frozen=True):
    """Where tcoder keeps what: settings, sessions and ledgers, caches, data such as model weights."""

    config: Path
    state: Path
    cache: Path
    data: Path


class Config(Struct, frozen=True):
    """The effective settings, and for each key that is set where it comes from."""

    settings: Settings
    folders: Folders
    sources: dict[str, str]
    notices: tuple[str, ...] = ()


def folders(environ: Mapping[str, str]) -> Folders:
    """The user's folders by the XDG rules; `TCODER_HOME` puts all of them below one folder."""
    if home := environ.get("TCODER_HOME"):
        base = Path(home).expanduser().resolve()
        return Folders(base / "config", base / "state", base / "cache", base / "data")
    import platformdirs

    return Folders(
        Path(platformdirs.user_config_dir("tcoder")),
        Path(platformdirs.user_state_dir("tcoder")),
        Path(platformdirs.user_cache_dir("tcoder")),
        Path(platformdirs.user_data_dir("tcoder")),
    )


def load(
    environ: Mapping[str, str],
    flags: Mapping[str, Any],
    *,
    project: Path | None = None,
    trusted: bool = False,
    user_file: Path | None = None,
    profile: str = "",
) -> Config:
    """The effective settings. `flags` is a nested mapping of what the command line said; `project` the root of the
    repository; `user_file` replaces the user's own file. Raises `UsageError` that names the file and the key."""
    places = folders(environ)
    chosen = user_file or places.config / "config.toml"
    if user_file is not None and not user_file.is_file():
        raise UsageError(f"there is no settings file {user_file}")
    merged: dict[str, Any] = {}
    sources: dict[str, str] = {}
    notices: list[str] = []
    user = _read(chosen)
    profiles = user.pop("profiles", {})
    _merge(merged, user, sources, str(chosen))
    if profile:
        if profile not in profiles:
            raise UsageError(f"there is no profile {profile!r} in {chosen}", _nearest(profile, tuple(profiles)))
        _merge(merged, profiles[profile], sources, f"{chosen} [profiles.{profile}]")
    if project is not None:
        _merge_project(merged, sources, notices, project, trusted=trusted)
    _merge(merged, _from_environment(environ), sources, "environment")
    _merge(merged, flags, sources, "command line")
    return Config(_convert(merged, sources), places, sources, tuple(notices))


def _merge_project(
    merged: dict[str, Any], sources: dict[str, str], notices: list[str], project: Path, *, trusted: bool
) -> None:
    path = project / ".tcoder" / "config.toml"
    if not path.is_file():
        return
    if not trusted:
        notices.append(f"{path} is ignored until the folder is trusted (--trust)")
        return
    values = _read(path)
    forbidden = sorted(set(values) - PROJECT_KEYS)
    known = [key for key in forbidden if key in Settings.__struct_fields__]
    if known:
        notices.append(f"{path} may not set {', '.join(known)}; ignored")
    for key in known:
        del values[key]
    if "rules" in values:
        values["project_rules"] = values.pop("rules")  # they may ask and deny, never allow: the policy sees to that
    _merge(merged, values, sources, str(path))


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from error


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, keys in ENVIRONMENT.items():
        if text := environ.get(name):
            place = values
            for key in keys[:-1]:
                place = place.setdefault(key, {})
            place[keys[-1]] = text
    return values


def _merge(
    into: dict[str, Any], values: Mapping[str, Any], sources: dict[str, str], source: str, prefix: str = ""
) -> None:
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            nested: Mapping[str, Any] = value  # pyright: ignore[reportUnknownVariableType] TOML is untyped
            below = into.setdefault(key, {})
            if not isinstance(below, dict):
                raise UsageError(f"{name} is a table in {source} but not elsewhere")
            _merge(below, nested, sources, source, f"{name}.")  # pyright: ignore[reportUnknownArgumentType]
        elif key == "rules" and isinstance(value, list):
            into[key] = [*value, *into.get(key, [])]
            sources[name] = source
        else:
            into[key] = value
            sources[name] = source


def _convert(merged: dict[str, Any], sources: Mapping[str, str]) -> Settings:
    try:
        return msgspec.convert(merged, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(_explain(str(error), sources)) from error


def _explain(text: str, sources: Mapping[str, str]) -> str:
    """msgspec's message with the file it is about and, for an unknown key, the nearest known one."""
    place = text.rpartition("`$")[2].strip("`.") if "`$" in text else ""
    unknown = text.split("`")[1] if text.startswith("Object contains unknown field") else ""
    name = ".".join(part for part in (place.lstrip("."), unknown) if part)
    source = sources.get(name) or next((where for key, where in sources.items() if key.startswith(f"{name}.")), "")
    where = f"{source}: " if source else ""
    if not unknown:
        return f"{where}setting {name or '?'}: {text.split(' - at ')[0]}"
    nearest = _nearest(unknown, _keys_below(place))
    return f"{where}unknown setting {name!r}" + (f"; {nearest}" if nearest else "")


def _keys_below(place: str) -> tuple[str, ...]:
    kind: Any = Settings
    for part in place.lstrip(".").split("."):
        if part:
            kind = next((field.type for field in msgspec.structs.fields(kind) if field.name == part), None)
            if not (isinstance(kind, type) and issubclass(kind, Struct)):
                return ()
    return kind.__struct_fields__


def _nearest(word: str, known: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(word, known, 1, 0.5)
    return f"did you mean {close[0]!r}?" if close else ""
