"""Which model a stored session goes on with: a flag's, else the one that it used last, else that of the settings."""

import os

from msgspec.structs import replace

from tcoder.agent.stored import LastModel, last_model
from tcoder.app import credentials, variants
from tcoder.app.options import Options
from tcoder.app.place import Place, find_session
from tcoder.config import Settings
from tcoder.protocol.errors import ModelError, NoModelError
from tcoder.protocol.variant import ModelVariant


def as_before(options: Options, place: Place) -> Place:
    """The place with the model that the session to go on with used last, as if it had been given by flags; unchanged
    when no session is gone on with, a flag names a model, or that one can no longer be used and the settings name
    another. Raises `UsageError`, `JournalError`."""
    if not (options.resume_last or options.resume is not None) or options.model or options.base_url:
        return place
    last = last_model(find_session(place, options.resume or ""))
    if last is None or last.id.startswith("scripted/"):
        return place
    settings = _settings_for(last, place.settings)
    if settings is None or (_chosen(place.settings) is not None and not _has_key(settings, place)):
        return place
    return _with(place, settings)


def _with(place: Place, settings: Settings) -> Place:
    return Place(place.root, replace(place.config, settings=settings), place.trusted, place.untrusted)


def _settings_for(last: LastModel, settings: Settings) -> Settings | None:
    """Settings that lead to that model at that address; None when there are none. Where the settings know the provider,
    they know its address, too."""
    by_settings = replace(settings, model=last.id, base_url="")
    found = _chosen(by_settings)
    if found is not None and (last.base_url in ("", found.base_url) or found.provider in settings.providers):
        return by_settings
    as_given = replace(settings, model=last.id, base_url=last.base_url, api=last.dialect)
    return as_given if last.base_url and _chosen(as_given) is not None else None


def _chosen(settings: Settings) -> ModelVariant | None:
    try:
        return variants.choose(settings, os.environ)["standard"]
    except (NoModelError, ModelError):
        return None


def _has_key(settings: Settings, place: Place) -> bool:
    """Whether the model can be asked: it is here, or there is a key for it."""
    variant = _chosen(settings)
    if variant is None or variant.on_this_machine or not variant.api_key_env:
        return variant is not None
    own = variants.own_url(settings, os.environ, variant)
    keys = place.config.folders.config / credentials.FILE
    return credentials.key_for(variant, os.environ, keys, own_url=own) is not None
