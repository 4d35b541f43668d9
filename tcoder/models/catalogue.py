"""The catalogue of providers and models: where they are, what they speak, what they can, what they cost.

The data is in `catalogue.toml`; models of the embedded engine are those that `local/local_models.toml` has weights for.
"""

import difflib
import os
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tcoder.models.local.folders import local_folders, own_file
from tcoder.protocol.errors import ModelError
from tcoder.protocol.variant import Dialect, Effort, ModelVariant, Price, Strategy, VariantName

_FOLDER = Path(__file__).parent


class FastWay(Struct, frozen=True, forbid_unknown_fields=True):
    """How a model is had faster: a service tier or a speed, at `times` the price, or another model of the catalogue."""

    tier: str = ""
    speed: str = ""
    model: str = ""
    times: int = 1


class ProviderEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """What holds for all of a provider's models unless a model's own entry says otherwise."""

    base_url: str = ""
    api: Dialect = "openai-chat"
    api_key_env: str = ""
    quirks: tuple[str, ...] = ()
    images: bool = False
    json_schema: bool = False
    window: int = 128_000
    strategy: Strategy = "agent"
    price: Price | None = None


class ModelEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """A known model; its quirks come on top of its provider's. No `efforts` = any may be asked for."""

    id: str
    window: int | None = None
    max_output: int | None = None
    efforts: tuple[Effort, ...] = ()
    quirks: tuple[str, ...] = ()
    images: bool | None = None
    price: Price | None = None
    fast: FastWay | None = None


class _Catalogue(Struct, frozen=True, forbid_unknown_fields=True):
    provider: dict[str, ProviderEntry]
    model: tuple[ModelEntry, ...]


def resolve(
    model_id: str,
    *,
    base_url: str = "",
    api: Dialect | None = None,
    name: VariantName = "standard",
    effort: Effort | None = None,
    context_window: int | None = None,
    max_output: int | None = None,
    strategy: Strategy | None = None,
) -> ModelVariant:
    """The variant that a person names as `provider/model`.

    A model that the catalogue does not list is used with its provider's properties and an unknown price. With a
    `base_url` of one's own the provider may be unknown or left out, and prices are unknown too, since somebody else
    bills. Raises `ModelError`: `unknown_model` (an unknown provider, a local model that is neither listed nor a file of
    the person's own) with the
    nearest known name as its hint, `bad_request` for an effort that the model does not have.
    """
    provider_name, slash, model = model_id.partition("/")
    provider = providers().get(provider_name) if slash else None
    if provider is None and not base_url:
        raise _unknown(model_id, provider_name, bool(slash))
    if provider is None:
        provider, provider_name, model = ProviderEntry(), "own", model_id or "default"
    if not model:
        raise ModelError("unknown_model", f"{model_id!r} names no model", f"add one: {provider_name}/…")
    if provider_name == "local" and not base_url and model_id not in local_ids():
        folder = local_folders(os.environ).weights
        if own_file(model, folder) is None:
            hint = f"there are: {', '.join(local_ids())}; a .gguf file of your own is taken from {folder}"
            raise ModelError("unknown_model", f"There is no local model {model!r}", hint)
    entry = entry_of(model_id) or ModelEntry(id=model_id)
    if effort is not None and entry.efforts and effort not in entry.efforts:
        known = ", ".join(entry.efforts)
        raise ModelError("bad_request", f"{model_id} has no effort {effort!r}", f"it has: {known}")
    own = bool(base_url) and base_url.rstrip("/") != provider.base_url
    return ModelVariant(
        id=model_id or model,
        model=model,
        provider=provider_name,
        base_url=(base_url or provider.base_url).rstrip("/"),
        dialect=api or provider.api,
        name=name,
        api_key_env=provider.api_key_env,
        effort=effort,
        max_output=max_output or entry.max_output,
        context_window=context_window or entry.window or provider.window,
        strategy=strategy or provider.strategy,
        price=None if own else entry.price or provider.price,
        images=provider.images if entry.images is None else entry.images,
        json_schema=provider.json_schema,
        quirks=provider.quirks + entry.quirks,
    )


def fast_of(variant: ModelVariant) -> ModelVariant | None:
    """The fast end of the slider for a variant; None when the catalogue knows none, or the endpoint is one's own."""
    entry = entry_of(variant.id)
    provider = providers().get(variant.provider)
    if entry is None or entry.fast is None or provider is None or variant.base_url != provider.base_url:
        return None
    way = entry.fast
    if way.model:
        return resolve(way.model, name="fast", api=variant.dialect)
    return replace(
        variant,
        name="fast",
        tier=way.tier,
        speed=way.speed,
        price=_scaled(variant.price, way.times),
        base_price=variant.price,
    )


def providers() -> dict[str, ProviderEntry]:
    """Known providers by name."""
    return _catalogue().provider


def models() -> tuple[ModelEntry, ...]:
    """Known models, those of the embedded engine included."""
    listed = _catalogue().model
    known = {entry.id for entry in listed}
    return listed + tuple(ModelEntry(id=model_id) for model_id in local_ids() if model_id not in known)


def entry_of(model_id: str) -> ModelEntry | None:
    """The entry of a known model; a dated name (`…-20261001`, `…-2026-10-01`) counts as the model it is a state of."""
    by_id = _by_id()
    if model_id in by_id:
        return by_id[model_id]
    base, dash, date = model_id.replace("-20", "\n20", 1).partition("\n")
    return by_id.get(base) if dash and date.replace("-", "").isdigit() else None


@cache
def local_ids() -> tuple[str, ...]:
    """Models whose weights the embedded engine can get, smallest first."""
    text = (_FOLDER / "local" / "local_models.toml").read_text(encoding="utf-8")
    return tuple(model["id"] for model in tomllib.loads(text)["model"])


@cache
def _catalogue() -> _Catalogue:
    given: dict[str, Any] = tomllib.loads((_FOLDER / "catalogue.toml").read_text(encoding="utf-8"))
    return msgspec.convert(given, _Catalogue)


@cache
def _by_id() -> dict[str, ModelEntry]:
    return {entry.id: entry for entry in _catalogue().model}


def _unknown(model_id: str, provider: str, has_provider: bool) -> ModelError:  # noqa: FBT001 - private, one caller
    if not model_id:
        return ModelError("unknown_model", "No model is named", "use --model provider/model")
    known = [entry.id for entry in models()]
    if not has_provider:
        named = [model for model in known if model.partition("/")[2] == model_id]
        near = named or difflib.get_close_matches(model_id, [m.partition("/")[2] for m in known], 1, 0.5)
        whole = next((m for m in known if near and m.endswith(near[0])), "")
        hint = f"did you mean {whole}?" if whole else "write it as provider/model, or give --base-url"
        return ModelError("unknown_model", f"The model {model_id!r} is not known", hint)
    near = difflib.get_close_matches(provider, list(providers()), 1, 0.4)
    hint = f"did you mean {near[0]}/{model_id.partition('/')[2]}?" if near else f"known: {', '.join(providers())}"
    return ModelError("unknown_model", f"The provider {provider!r} is not known", hint)


def _scaled(price: Price | None, times: int) -> Price | None:
    if price is None or times == 1:
        return price
    return replace(
        price,
        input=price.input * times,
        output=price.output * times,
        cache_read=None if price.cache_read is None else price.cache_read * times,
        cache_write=None if price.cache_write is None else price.cache_write * times,
        long=_scaled(price.long, times),
    )
