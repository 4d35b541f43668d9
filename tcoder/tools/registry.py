"""The tools of a session: what is offered, and how a call becomes arguments."""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from tcoder.protocol.errors import ToolError, UsageError
from tcoder.protocol.messages import ToolCall, ToolSpec
from tcoder.tools.base import Tool
from tcoder.tools.checks import Test
from tcoder.tools.edit import Edit
from tcoder.tools.jobs import Job
from tcoder.tools.outline import Outline
from tcoder.tools.plan import Plan
from tcoder.tools.read import Read
from tcoder.tools.search import Search
from tcoder.tools.shell import Shell
from tcoder.tools.write import Write


class Registry:
    """Tools by name, in a fixed order so that prompts stay cached."""

    def __init__(self, tools: Iterable[Tool[Any]]) -> None:
        self._tools: dict[str, Tool[Any]] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise UsageError(f"two tools are called {tool.name!r}")
            self._tools[tool.name] = tool
        self.specs: tuple[ToolSpec, ...] = tuple(tool.spec() for tool in self._tools.values())

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    def only(self, names: Iterable[str]) -> "Registry":
        """A registry with these tools alone. Raises `UsageError` for an unknown name."""
        wanted = set(names)
        unknown = wanted - set(self._tools)
        if unknown:
            raise UsageError(f"unknown tool {sorted(unknown)[0]!r}", f"tools are: {', '.join(self._tools)}")
        return Registry(tool for name, tool in self._tools.items() if name in wanted)

    def resolve(self, call: ToolCall) -> tuple[Tool[Any], Struct]:
        """The tool and its checked arguments. Raises `ToolError` in words a model can act on."""
        tool = self._tools.get(call.name)
        if tool is None:
            raise ToolError(f"there is no tool {call.name!r}; tools are: {', '.join(self._tools)}")
        return tool, decode_arguments(call, tool.Args)


def decode_arguments(call: ToolCall, args: type[Struct]) -> Struct:
    """Check a call's JSON against its argument struct. No argument text at all means no arguments."""
    text = call.arguments.strip() or "{}"
    try:
        return msgspec.json.decode(text, type=args)
    except msgspec.ValidationError as error:
        raise ToolError(f"wrong arguments for {call.name}: {error}") from error
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as error:
        raise ToolError(f"the arguments of {call.name} are not valid JSON: {error}") from error


def shipped(from_plugins: Iterable[Tool[Any]] = ()) -> Registry:
    """The tools that tcoder offers, then those of plugins. Raises `UsageError` when a name is taken."""
    return Registry((Read(), Edit(), Write(), Search(), Outline(), Shell(), Job(), Test(), Plan(), *from_plugins))
