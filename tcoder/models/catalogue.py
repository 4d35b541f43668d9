"""The catalogue of providers and models: where they are, what dialect they speak, what they cost."""

import difflib
import tomllib
from functools import cache
from importlib import resources

from msgspec.structs import replace

from tcoder.protocol.errors import ModelError
from tcoder.protocol.variant import Dialect, Effort, ModelVariant, VariantName

PROVIDERS: dict[str, tuple[str, Dialect, str]] = {
    "openai": ("https://api.openai.com/v1", "openai-responses", "OPENAI_API_KEY"),
    "anthropic": ("https://api.anthropic.com/v1", "anthropic", "ANTHROPIC_API_KEY"),
    "openrouter": ("https://openrouter.ai/api/v1", "openai-chat", "OPENROUTER_API_KEY"),
    "ollama": ("http://127.0.0.1:11434/v1", "openai-chat", ""),
    "local": ("", "openai-chat", ""),
    "scripted": ("", "openai-chat", ""),
}


def resolve(
    model_id: str,
    *,
    base_url: str = "",
    api: Dialect | None = None,
    name: VariantName = "standard",
    effort: Effort | None = None,
) -> ModelVariant:
    """The variant that a person names. Raises `ModelError("unknown_model")`."""
    provider, slash, model = model_id.partition("/")
    if not slash or provider not in PROVIDERS:
        if base_url:
            return ModelVariant(
                id=model_id or "default", model=model_id or "default", provider="own", base_url=base_url.rstrip("/"),
                dialect=api or "openai-chat", name=name, effort=effort,
            )  # fmt: skip
        close = difflib.get_close_matches(provider, PROVIDERS, 1)
        raise ModelError("unknown_model", f"unknown model {model_id!r}", f"did you mean {close[0]}/…?" if close else "")
    url, dialect, key = PROVIDERS[provider]
    variant = ModelVariant(
        id=model_id, model=model, provider=provider, base_url=(base_url or url).rstrip("/"), dialect=api or dialect,
        name=name, effort=effort, api_key_env=key,
    )  # fmt: skip
    if provider == "local":
        if model_id not in _local():
            raise ModelError("unknown_model", f"unknown local model {model}", f"there are: {', '.join(_local())}")
        return replace(variant, strategy="guided", json_schema=True, context_window=8192)
    return variant


def fast_of(variant: ModelVariant) -> ModelVariant | None:
    """The faster end of the slider for a model, None when there is none."""
    if variant.id == "local/qwen2.5-coder-1.5b":
        return resolve("local/qwen2.5-coder-0.5b", name="fast")
    return None


@cache
def _local() -> tuple[str, ...]:
    text = resources.files("tcoder.models").joinpath("local_models.toml").read_text(encoding="utf-8")
    return tuple(model["id"] for model in tomllib.loads(text)["model"])
