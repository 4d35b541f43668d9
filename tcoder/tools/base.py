"""What a tool is, and what it is given to work with."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, cast

import msgspec
from msgspec import Struct

from tcoder.index import Index
from tcoder.protocol.checks import CheckReport
from tcoder.protocol.display import Display
from tcoder.protocol.messages import ImagePart, ResultStatus, ToolSpec
from tcoder.protocol.plan import PlanStep
from tcoder.resources import prompt
from tcoder.tools.outputs import Outputs
from tcoder.workspace.files.files import WorkspaceFiles
from tcoder.workspace.shell.shell import Shell

Kind = Literal["read", "edit", "shell", "other"]


@dataclass
class ToolContext:
    """Everything a tool may touch. `seen` holds the digest of each file as the model last saw it, by relative path.

    `emit` shows output while the tool runs. `run_checks` runs the project's tests and records the report;
    `set_plan` records a plan. `timeout_s` bounds one command. `outputs` keeps what is too long to be shown whole.
    `clean` = the call was let pass for what its words say, see `Verdict`.
    `network` = a person let this one command have the network. `is_denied` says whether a rule denies to read a path.
    """

    root: Path
    files: WorkspaceFiles
    index: Index
    runner: Shell
    emit: Callable[[str], None]
    run_checks: Callable[[tuple[str, ...]], Awaitable[CheckReport]]
    set_plan: Callable[[tuple[PlanStep, ...]], None]
    timeout_s: float = 120.0
    outputs: Outputs = field(default_factory=Outputs)
    seen: dict[str, str] = field(default_factory=dict[str, str])
    clean: bool = False
    network: bool = False
    is_denied: Callable[[str], bool] = field(default=lambda _path: False)


class Reply(Struct, frozen=True):
    """What a tool gives back: `content` for the model, `display` for people."""

    content: str
    display: tuple[Display, ...] = ()
    status: ResultStatus = "ok"
    images: tuple[ImagePart, ...] = ()


class Touches(Struct, frozen=True):
    """What a call is about, for the policy: paths relative to the root as written by the model, a command line, or what
    is `typed` at a program that waits. `looks` = it only looks at, waits for or ends what is running already,
    `keeps` = it would go on when the session ends."""

    paths: tuple[str, ...] = ()
    command: str = ""
    typed: str = ""
    looks: bool = False
    keeps: bool = False


A = TypeVar("A", bound=Struct)


class Tool(Generic[A]):
    """A tool: subclass, set the class attributes, implement `title`, `touches` and `run`.

    `Args` is a struct with `forbid_unknown_fields`; its JSON Schema is what the model sees, and arguments are decoded
    by it strictly. The description comes from `prompts/tools/NAME.md`. `run` raises `TcoderError`s that the model sees.
    """

    name: str
    kind: Kind
    Args: type[A]

    def description(self) -> str:
        return prompt(f"tools/{self.name}")

    def title(self, args: A) -> str:
        """One line for people: what the call is about."""
        raise NotImplementedError

    def touches(self, args: A) -> Touches:
        raise NotImplementedError

    async def run(self, args: A, context: ToolContext) -> Reply:
        raise NotImplementedError

    def spec(self) -> ToolSpec:
        return ToolSpec(name=self.name, description=self.description(), parameters=parameters_of(self.Args))


def parameters_of(args: type[Struct]) -> dict[str, Any]:
    """The JSON Schema of an argument struct: one flat object, without titles and references."""
    (schemas,), components = msgspec.json.schema_components((args,))
    named = {f"#/$defs/{name}": body for name, body in components.items()}
    return _inline(schemas, named)


def _inline(schema: Any, named: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_inline(item, named) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    fields = cast("dict[str, Any]", schema)
    if "$ref" in fields:
        return _inline(named[fields["$ref"]], named)
    return {
        key: _inline(value, named)
        for key, value in fields.items()
        if not (key in ("title", "default") and not isinstance(value, dict))
    }
