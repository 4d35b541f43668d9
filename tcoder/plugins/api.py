"""What a plugin's author imports: everything a plugin may do."""

from collections.abc import Callable
from typing import Any, TypeVar

from tcoder.protocol.events import Event, Recorded
from tcoder.tools.base import Tool

E = TypeVar("E", bound=Event)
Handler = Callable[[Recorded, Any], None]

VERSION = 1


class PluginApi:
    """Given to a plugin's `register(api)`. Handlers run in the session's loop: they must be quick and may not block."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.handlers: list[tuple[type[Any], Handler]] = []
        self.tools: list[Tool[Any]] = []
        self._notify: Callable[[str], None] | None = None

    def on(self, kind: type[E], handler: Callable[[Recorded, E], None]) -> None:
        """Call `handler(recorded, event)` for each event of `kind`, right after it was written."""
        self.handlers.append((kind, handler))

    def add_tool(self, tool: Tool[Any]) -> None:
        """Offer the model a tool. It is judged by the same policy as every other; a name that is taken is refused."""
        self.tools.append(tool)

    def notify(self, text: str) -> None:
        """Call for the person's attention with one line. Only while a session runs."""
        if self._notify is None:
            raise RuntimeError("notify was called before the session began")
        self._notify(text)

    def attach(self, notify: Callable[[str], None]) -> None:
        """Join the plugin to a session; done by tcoder."""
        self._notify = notify
