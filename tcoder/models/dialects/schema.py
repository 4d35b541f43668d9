"""JSON Schema, as far as tool parameters need it: does a value fit, and types where a vendor wants them."""

import re
from collections.abc import Callable
from typing import Any, cast

Schema = dict[str, Any]

_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "number": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
    "integer": lambda v: (isinstance(v, int) and not isinstance(v, bool)) or (isinstance(v, float) and v.is_integer()),
}


def fits(value: Any, schema: Schema) -> bool:
    """Whether `value` is valid under `schema`. Knows type, enum, const, properties, required, additionalProperties,
    items, bounds, pattern, anyOf, oneOf, allOf and local `$ref`; other keywords do not restrict."""
    return _fits(value, schema, schema, 0)


def _fits(value: Any, schema: Any, root: Schema, depth: int) -> bool:
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, dict) or depth > 32:
        return False
    rules = cast(Schema, schema)
    if "$ref" in rules:
        return _fits(value, _resolve(str(rules["$ref"]), root), root, depth + 1)
    if "const" in rules and value != rules["const"]:
        return False
    if "enum" in rules and value not in rules["enum"]:
        return False
    for name in ("anyOf", "oneOf"):
        if name in rules and not any(_fits(value, option, root, depth + 1) for option in rules[name]):
            return False
    if not all(_fits(value, part, root, depth + 1) for part in rules.get("allOf", ())):
        return False
    kind: Any = rules.get("type")
    kinds = cast("list[str]", kind if isinstance(kind, list) else [kind] if kind else [])
    if kinds and not any(_TYPES[name](value) for name in kinds if name in _TYPES):
        return False
    match value:
        case dict():
            return _object_fits(cast("dict[str, Any]", value), rules, root, depth)
        case list():
            items = cast("list[Any]", value)
            within = rules.get("minItems", 0) <= len(items) <= rules.get("maxItems", len(items))
            return within and all(_fits(item, rules.get("items", True), root, depth + 1) for item in items)
        case str():
            within = rules.get("minLength", 0) <= len(value) <= rules.get("maxLength", len(value))
            return within and ("pattern" not in rules or re.search(rules["pattern"], value) is not None)
        case int() | float():
            return _number_fits(value, rules)
        case _:
            return True


def _object_fits(value: dict[str, Any], rules: Schema, root: Schema, depth: int) -> bool:
    if any(name not in value for name in rules.get("required", ())):
        return False
    known: Schema = rules.get("properties", {})
    others: Any = rules.get("additionalProperties", True)
    return all(_fits(item, known.get(name, others), root, depth + 1) for name, item in value.items())


def _number_fits(value: float, rules: Schema) -> bool:
    return (
        value >= rules.get("minimum", value)
        and value <= rules.get("maximum", value)
        and ("exclusiveMinimum" not in rules or value > rules["exclusiveMinimum"])
        and ("exclusiveMaximum" not in rules or value < rules["exclusiveMaximum"])
    )


def _resolve(ref: str, root: Schema) -> Any:
    found: Any = root
    for step in ref.removeprefix("#/").split("/"):
        found = cast(Schema, found).get(step) if isinstance(found, dict) else None
    return found


def with_types(schema: Schema) -> Schema:
    """`schema` with a `type` wherever one follows from the other keywords: some vendors refuse a schema without."""
    typed: Schema = {}
    for name, part in schema.items():
        if name in ("properties", "$defs") and isinstance(part, dict):
            typed[name] = {key: with_types(sub) for key, sub in cast("dict[str, Schema]", part).items()}
        elif name in ("anyOf", "oneOf", "allOf"):
            typed[name] = [with_types(sub) for sub in part]
        elif name in ("items", "additionalProperties") and isinstance(part, dict):
            typed[name] = with_types(cast(Schema, part))
        else:
            typed[name] = part
    if not typed.keys() & {"type", "$ref", "anyOf", "oneOf", "allOf"}:
        typed["type"] = _guess(typed)
    return typed


def _guess(schema: Schema) -> str:
    if "properties" in schema:
        return "object"
    if "items" in schema:
        return "array"
    samples = [schema["const"]] if "const" in schema else list(schema.get("enum", ()))
    for name in ("boolean", "integer", "number", "string"):
        if samples and all(_TYPES[name](sample) for sample in samples):
            return name
    return "string" if samples or not schema else "object"
