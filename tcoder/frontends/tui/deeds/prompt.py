"""Actions on the prompt, and copying."""

import re

from tcoder.frontends import blocks
from tcoder.frontends.attach import read_image
from tcoder.frontends.cards import ModelSaid
from tcoder.frontends.sanitise import clean
from tcoder.frontends.tui.screens.main import Deeds, MainScreen
from tcoder.frontends.tui.screens.pick import pick

_FENCED = re.compile(r"^ {0,3}(```+|~~~+)[^\n]*\n(.*?)^ {0,3}\1", re.M | re.S)


async def editor(screen: MainScreen, _: str) -> None:
    """The draft in $VISUAL or $EDITOR."""
    text = screen.edit_outside(screen.prompt.pastes.expand(screen.prompt.text), ".md")
    if text is not None:
        screen.prompt.set_text(clean(text).rstrip("\n"))


async def stash(screen: MainScreen, _: str) -> None:
    """Put the draft aside; on an empty prompt bring it back."""
    if screen.prompt.is_empty:
        screen.prompt.set_text(screen.desk.stash)
        screen.desk.stash = ""
    else:
        screen.desk.stash = screen.prompt.take()
        screen.desk.note(f"draft put aside; {screen.desk.keymap.shown('prompt.stash')} brings it back")


async def history(screen: MainScreen, rest: str) -> None:
    async def chosen(text: str) -> None:
        screen.prompt.set_text(text)

    found = screen.history.search(rest)
    pick(screen, "History", [(text, text, "") for text in found], chosen)


async def image(screen: MainScreen, rest: str) -> None:
    """Attach an image to the next message."""
    part, problem = read_image(rest)
    if part is not None:
        screen.images.append(part)
    screen.desk.note(problem or "the image goes along with the next message", "warning" if problem else "info")


async def copy(screen: MainScreen, rest: str) -> None:
    """The selection, else the last answer; `N` = the Nth last one, `code` = its last code block."""
    text = screen.prompt.selected_text or screen.conversation.selected_text()
    if not text or rest:
        said = [
            blocks.source(of) for of in screen.desk.transcript.blocks if isinstance(of, ModelSaid) and of.text.strip()
        ]
        nth = int(rest) if rest.isdecimal() and int(rest) > 0 else 1
        text = said[-nth] if len(said) >= nth else ""
        if rest == "code":
            fenced = [match[2] for of in said for match in _FENCED.finditer(of)]
            text = fenced[-1] if fenced else ""
    if not text:
        screen.desk.note("there is nothing to copy")
        return
    await screen.copy(text)


DEEDS: Deeds = {
    "prompt.editor": editor,
    "prompt.stash": stash,
    "prompt.history": history,
    "prompt.image": image,
    "copy.selection": copy,
}
