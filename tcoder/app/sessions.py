"""The sessions of one run of an interface: opened as a person chooses, closed at the end."""

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tcoder.app.options import Options
from tcoder.app.place import Place, find_place
from tcoder.protocol.handles import SessionHandle
from tcoder.protocol.queries import SessionChoice

if TYPE_CHECKING:
    from tcoder.app.build import Opened


@dataclass
class Sessions:
    """Opens sessions for a front end, the one before closed by the front end's own `Close`."""

    options: Options
    place: Place
    opened: "list[Opened]" = field(default_factory=list["Opened"])
    toys: list[Path] = field(default_factory=list[Path])

    async def __call__(self, choice: SessionChoice = SessionChoice()) -> SessionHandle:  # noqa: B008 - a frozen value
        from tcoder.app.build import open_session  # late: whoever types into the prompt need not wait for it

        options, place = self._options_for(choice), self.place
        if choice.kind == "demo":
            options, place = _demo(options)
            self.toys.append(place.root.parent)
        opened = await open_session(options, place, interactive=True)
        self.opened.append(opened)
        return opened.session

    def _options_for(self, choice: SessionChoice) -> Options:
        match choice.kind:
            case "startup":
                return self.options
            case "new" | "demo":
                return replace(self.options, resume=None, resume_last=False, session_id="", fork=False)
            case "resume" | "fork":
                forks = choice.kind == "fork"
                point = choice.checkpoint if forks else ""
                return replace(self.options, resume=choice.id, session_id="", fork=forks, checkpoint=point)

    async def close(self) -> None:
        for opened in self.opened:
            await opened.close()
        for folder in self.toys:
            shutil.rmtree(folder, ignore_errors=True)


def _demo(options: Options) -> tuple[Options, Place]:
    from tcoder.app import demo  # late: few ask for it

    model = f"scripted/{demo.SCRIPT}"
    options = replace(options, path=str(demo.make()), model=model, base_url="", no_session=True, strategy="agent")
    return options, find_place(options)
