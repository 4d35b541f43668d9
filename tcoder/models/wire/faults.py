"""What went wrong between us and a model: every failure as one `ModelError`, classified once, in one clear sentence."""

import email.utils
import re
import time
from typing import Any, cast

import msgspec

from tcoder.protocol.errors import ErrorKind, ModelError
from tcoder.protocol.variant import ModelVariant

# Patterns stay text until the first error needs them: compiling them all would cost every start 2 ms.
_SPENT = (
    r"insufficient_quota|credit_balance|spend_limit|usage_limit_exceeded|billing|"
    r"insufficient[ _](?:balance|credits|funds)|"
    r"exceeded your current quota|payment required|out of credits"
)
_CONTEXT = (
    r"context_length_exceeded|context[ _](?:length|window|size)|maximum context|prompt is too long|too many tokens|"
    r"exceeds? the (?:available|model'?s) context|input (?:is|was) too long|request_too_large|"
    r"input token count .* exceeds"
)
_FILTER = r"content_filter|content_policy|content management policy|safety system|moderation"
_NO_MODEL = (
    r"model_not_found|unknown model|invalid model|no such model|not a valid model|"
    r"model .{0,80}(?:not found|does not exist)"
)
_KEY = r"invalid_api_key|invalid x-api-key|incorrect api key|api key not valid|authentication_error"
_RATE = r"rate[ _]limit"
_REASONING = r"thinking|redacted|signature|reasoning|encrypted_content"


def _says(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE | re.DOTALL) is not None


class UnreachableError(ModelError):
    """Nothing answers at the address: worth one or two more tries, not a minute of them."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__("network", message, hint)


class ReasoningRefusedError(ModelError):
    """The provider refuses the reasoning that was sent back to it; the same request without may pass."""


def http_error(status: int, headers: dict[str, str], body: bytes, variant: ModelVariant) -> ModelError:
    """The error that a response with a status outside 2xx means. `headers` have lower-case names."""
    said, code = _read_body(body)
    seen = f"{code} {said}"
    wait = retry_after(headers)
    name = name_of(variant)
    quote = f": {said}" if said else ""
    if 300 <= status < 400:
        target = headers.get("location", "another address")
        return ModelError(
            "bad_response",
            f"{variant.base_url} redirects to {target[:200]}; the key is not sent there",
            "set the base URL to the address that answers itself",
        )
    if is_page(headers.get("content-type", ""), body):
        kind: ErrorKind = "overloaded" if status in (502, 503, 504, 520, 521, 522, 523, 524, 529) else "bad_response"
        return ModelError(
            kind,
            f"{variant.base_url} answered {status} with a web page{_title(body)}",
            "check the base URL, and whether a proxy or a login page stands in between",
        )
    resting = "enforced_spend_limit" in seen and wait is not None  # a limit that is lifted when the wait is over
    if status == 402 or (status in (400, 403, 429) and _says(_SPENT, seen) and not resting):
        return ModelError("quota", f"{name} refuses because nothing is left to spend{quote}", "check plan and billing")
    if status == 401 or (status in (400, 403) and _says(_KEY, seen)):
        return ModelError("auth", f"{name} does not accept the key ({status}{quote})", key_hint(variant))
    if status == 403:
        return ModelError(
            "auth", f"{name} forbids this ({status}{quote})", f"check what the key may use; {key_hint(variant)}"
        )
    if status == 404 or (status == 400 and _says(_NO_MODEL, seen)):
        if _says(_NO_MODEL, seen) or "model" in said.lower():
            return ModelError(
                "unknown_model", f"{name} does not know the model {variant.model!r}{quote}", "check --model"
            )
        return ModelError(
            "unknown_model",
            f"{variant.base_url} has no such address (404{quote})",
            "check --base-url, --api and --model",
        )
    if status == 413 or (status in (400, 422, 500) and _says(_CONTEXT, seen)):
        return ModelError("context_full", f"The conversation does not fit into {variant.model}'s context{quote}")
    if status == 429:
        kind = "overloaded" if "slow_down" in seen else "rate_limit"
        return ModelError(
            kind, f"{name} asks to slow down (429{quote})", "wait, or use another model", retry_after_s=wait
        )
    if status in (400, 422) and _says(_FILTER, seen):
        return ModelError("content_filter", f"{name} refuses the content{quote}")
    if status in (408, 409, 425):
        return ModelError("overloaded", f"{name} asks to try again ({status}{quote})", retry_after_s=wait)
    if status >= 500:
        return ModelError(
            "overloaded", f"{name} has a problem ({status}{quote})", "try again later", retry_after_s=wait
        )
    if status < 300:
        return ModelError("bad_response", f"{name} answered without content ({status}{quote})", "check the base URL")
    if status == 400 and _says(_REASONING, seen):
        return ReasoningRefusedError("bad_request", f"{name} refuses the request ({status}{quote})")
    return ModelError("bad_request", f"{name} refuses the request ({status}{quote})", "check model, --api and --effort")


def stream_error(error: Any) -> ModelError:
    """The error that a server reports inside a stream that began well."""
    said, code = _from_error(error)
    seen = f"{code} {said}"
    text = said or code or "no reason given"
    if _says(_SPENT, seen):
        return ModelError("quota", f"The provider stopped the answer: nothing is left to spend: {text}")
    if _says(_CONTEXT, seen):
        return ModelError("context_full", f"The conversation does not fit into the model's context: {text}")
    if _says(_RATE, seen):
        return ModelError("rate_limit", f"The provider stopped the answer: {text}")
    if _says(_FILTER, seen):
        return ModelError("content_filter", f"The provider stopped the answer: {text}")
    if _says(_KEY, seen) or {"401", "403"} & set(code.split()):
        return ModelError("auth", f"The provider does not accept the key: {text}")
    if _says(_NO_MODEL, seen):
        return ModelError("unknown_model", f"The provider does not know the model: {text}")
    if {"invalid_request_error", "400", "bad_request"} & set(code.split()):
        kind = ReasoningRefusedError if _says(_REASONING, seen) else ModelError
        return kind("bad_request", f"The provider refuses the request: {text}")
    return ModelError("overloaded", f"The provider broke the answer off: {text}")


def name_of(variant: ModelVariant) -> str:
    """How a person knows the provider: by name, or by address where it is an endpoint of one's own."""
    return variant.base_url if variant.provider in ("", "own") else variant.provider


def key_hint(variant: ModelVariant) -> str:
    """Which setting holds the key."""
    return f"check {variant.api_key_env}" if variant.api_key_env else "check the key of this endpoint"


def is_page(content_type: str, body: bytes) -> bool:
    start = body[:256].lstrip().lower()
    return "html" in content_type.lower() or start.startswith((b"<!doctype html", b"<html"))


def _title(body: bytes) -> str:
    found = re.search(rb"<title[^>]*>([^<]{1,200})", body, re.IGNORECASE)
    title = " ".join(found[1].decode("utf-8", "replace").split()) if found else ""
    return f" titled {title!r}" if title else ""


def page_instead(variant: ModelVariant, content_type: str, body: bytes) -> ModelError:
    """A 200 that is no event stream."""
    if is_page(content_type, body):
        return ModelError(
            "bad_response",
            f"{variant.base_url} answered with a web page{_title(body)}, not with a model's answer",
            "check the base URL, and whether a proxy or a login page stands in between",
        )
    kind = content_type.partition(";")[0] or "no content type"
    return ModelError(
        "bad_response",
        f"{variant.base_url} answered with {kind}, not with an event stream",
        "check the base URL and --api",
    )


def retry_after(headers: dict[str, str], now: float | None = None) -> float | None:
    """Seconds that `Retry-After` (seconds or an HTTP date) or `retry-after-ms` asks for; None when it is not there or
    makes no sense."""
    millis = headers.get("retry-after-ms", "")
    if re.fullmatch(r"\d+(\.\d+)?", millis):
        return float(millis) / 1000
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", value):
        return float(value)
    if not value:
        return None
    try:
        date = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, date.timestamp() - (time.time() if now is None else now))


def _read_body(body: bytes) -> tuple[str, str]:
    """What the server said, shortened to one line, and its code."""
    try:
        given: Any = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _one_line(body[:2000].decode("utf-8", "replace")), ""
    if isinstance(given, list):  # Google wraps its errors in a list
        given = next(iter(cast("list[Any]", given)), "")
    if isinstance(given, dict):
        outer = cast("dict[str, Any]", given)
        return _from_error(outer.get("error") or outer)
    return _one_line(str(given)), ""


def _from_error(error: Any) -> tuple[str, str]:
    if not isinstance(error, dict):
        return _one_line(str(error)), ""
    given = cast("dict[str, Any]", error)
    details: Any = given.get("details")
    inner = str(cast("dict[str, Any]", details).get("error_code", "")) if isinstance(details, dict) else ""
    codes = [str(given.get(name)) for name in ("code", "type", "status") if given.get(name)]
    said: Any = given.get("message") or given.get("detail") or ""
    metadata: Any = given.get("metadata")
    if isinstance(metadata, dict) and cast("dict[str, Any]", metadata).get("raw"):
        said = f"{said}: {cast('dict[str, Any]', metadata)['raw']}"
    return _one_line(str(said)), " ".join([*codes, inner]).strip()


def _one_line(text: str) -> str:
    shown = "".join(char if char.isprintable() else " " for char in text)
    shown = " ".join(shown.split())
    return shown if len(shown) <= 400 else shown[:399] + "…"
