"""Which models a session uses: the slider's two ends, from flags, settings and the catalogue."""

from collections.abc import Mapping

from msgspec.structs import replace

from tcoder.config import Settings, VariantSettings
from tcoder.models import catalogue
from tcoder.protocol.errors import NoModelError
from tcoder.protocol.variant import ModelVariant, VariantName

URL_VARIABLES = {
    "openai-chat": "OPENAI_BASE_URL",
    "openai-responses": "OPENAI_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
}
NO_MODEL = NoModelError(
    "no model is configured",
    "choose one with --model provider/model; `tcoder models pull local/qwen2.5-coder-1.5b` gets one that needs no key",
)

NOBODY = ModelVariant(id="none", model="", provider="none", base_url="")


def choose(settings: Settings, environ: Mapping[str, str]) -> dict[VariantName, ModelVariant]:
    """The variants by the slider's stop; `standard` is always there. Raises `NoModelError`, `ModelError`."""
    standard = settings.model or settings.variants.standard.model
    if not standard and not settings.base_url:
        standard = _from_environment(environ)
    if not standard and not settings.base_url:
        raise NO_MODEL
    found: dict[VariantName, ModelVariant] = {
        "standard": _resolve(standard, settings, environ, "standard", settings.variants.standard)
    }
    wanted = settings.variants.fast
    fast = wanted.model or (standard if wanted != VariantSettings() else "")
    if fast:
        found["fast"] = _resolve(fast, settings, environ, "fast", wanted)
    elif own := catalogue.fast_of(found["standard"]):
        found["fast"] = replace(own, context_window=_window(own, settings))
    return found


def _from_environment(environ: Mapping[str, str]) -> str:
    """Variables other tools use too."""
    if model := environ.get("ANTHROPIC_MODEL"):
        return f"anthropic/{model}"
    if model := environ.get("OPENAI_MODEL"):
        return f"openai/{model}"
    return ""


def _resolve(
    model: str, settings: Settings, environ: Mapping[str, str], name: VariantName, wanted: VariantSettings
) -> ModelVariant:
    model = settings.aliases.get(model, model)
    provider = settings.providers.get(model.partition("/")[0])
    base_url = settings.base_url or (provider.base_url if provider else "")
    variant = catalogue.resolve(
        model,
        base_url=base_url,
        api=settings.api or (provider.api if provider else None),
        name=name,
        effort=wanted.effort or settings.effort,
    )
    if (
        not base_url
        and (own := environ.get(URL_VARIABLES[variant.dialect]))
        and variant.provider in ("openai", "anthropic")
    ):
        variant = replace(variant, base_url=own.rstrip("/"))
    return replace(
        variant,
        tier=wanted.tier or variant.tier,
        speed=wanted.speed or variant.speed,
        max_output=wanted.max_output or variant.max_output,
        api_key_env=(provider.api_key_env if provider else "") or variant.api_key_env,
        context_window=(provider.context_window if provider else None) or _window(variant, settings),
    )


def _window(variant: ModelVariant, settings: Settings) -> int:
    """Of the embedded engine the context that it is started with."""
    return settings.local.context if variant.provider == "local" else variant.context_window


def own_url(settings: Settings, environ: Mapping[str, str], variant: ModelVariant) -> bool:
    """Whether a person gave this variant's address: by flag, environment or their settings."""
    addresses = {settings.base_url, environ.get(URL_VARIABLES[variant.dialect], "")}
    addresses |= {provider.base_url for provider in settings.providers.values()}
    return variant.base_url in {address.rstrip("/") for address in addresses if address}
