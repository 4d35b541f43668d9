"""The two front ends for a person: Textual and line mode. They get sessions from `Sessions` and know nothing else."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tcoder import __version__
from tcoder.app import going_on, user_commands, wide
from tcoder.app.options import Options
from tcoder.app.place import Place, find_place
from tcoder.app.sessions import Sessions
from tcoder.app.variants import choose
from tcoder.frontends.startup import LINES, Startup
from tcoder.protocol.errors import NoModelError, UsageError
from tcoder.workspace.git.repository import git_dir_of, wide_folder

if TYPE_CHECKING:
    from tcoder.frontends.tui.prepaint import Prepaint


async def textual(options: Options, first_frame: "Prepaint | None") -> int:
    """The Textual interface, behind a first frame that is on the screen already."""
    try:
        place = _project(options)
        options = replace(options, trust=False)  # said once, for the folder as it is now
        sessions = Sessions(options, place)
        startup = _startup(options, place)
        from tcoder.app.host import Program  # late: behind the first frame
        from tcoder.frontends.tui import launch  # late: Textual costs half a second
    except BaseException:
        if first_frame is not None:
            first_frame.end()
        raise
    try:
        code = await launch.run(sessions, startup, first_frame, Program(sessions))
    finally:
        await sessions.close()
    if code != LINES:
        return code
    last = sessions.opened[-1].session.session_id
    return await line_mode(replace(sessions.options, resume=last, resume_last=False, session_id="", fork=False))


async def line_mode(options: Options) -> int:
    """Line mode, for dumb terminals, screen readers and pipes."""
    from tcoder.app.host import Program  # late: the Textual interface has it later still
    from tcoder.frontends import plain  # late: prompt_toolkit costs a third of a second

    place = _project(options)
    options = replace(options, trust=False)  # said once, for the folder as it is now
    sessions = Sessions(options, place)
    try:
        return await plain.run(sessions, _startup(options, place), host=Program(sessions))
    finally:
        await sessions.close()


def _project(options: Options) -> Place:
    """The place, unless that is a home folder which nobody named or said yes to, since a folder below it was opened.
    Raises `UsageError`."""
    place = find_place(options)
    if Path(options.path).resolve() != place.root and (why := wide_folder(place.root)):
        raise UsageError(f"the repository around this folder is {place.root}: {why}", wide.HINT)
    return place


def _startup(options: Options, place: Place) -> Startup:
    ui = place.settings.ui
    state = place.config.folders.state
    colour = options.color == "always" or (options.color == "auto" and not os.environ.get("NO_COLOR"))
    encoding = (sys.stdout.encoding or "").lower()
    return Startup(
        workspace=str(place.root),
        version=__version__,
        branch=_branch(place.root),
        sandbox=place.settings.sandbox,
        theme=ui.theme,
        mouse=ui.mouse,
        reduced_motion=ui.reduced_motion
        or os.environ.get("TEXTUAL_ANIMATIONS") == "none"
        or bool(os.environ.get("SSH_CONNECTION")),
        ascii_glyphs=ui.ascii or "utf" not in encoding,
        colour=colour,
        keys=ui.keys,
        log_file=str(state / "interface.log"),
        history_file=str(place.sessions / "history"),
        clip_file=str(state / "clip.txt"),
        no_model=_why_no_model(going_on.as_before(options, place)),
        ask_trust=place.asks_trust,
        user_commands=user_commands.find(place),
        browser=bool(os.environ.get("TCODER_WEB")),
    )


def _branch(root: Path) -> str:
    """The branch that is checked out, the beginning of a commit id when none is, empty outside git."""
    git_dir = git_dir_of(root)
    if git_dir is None:
        return ""
    head = (git_dir / "HEAD").read_text(encoding="utf-8", errors="replace").strip()
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else head[:8]


def _why_no_model(place: Place) -> str:
    """Raises `UsageError` for a model with which a limit of the person's cannot be kept."""
    try:
        chosen = choose(place.settings, os.environ)
    except NoModelError as error:
        return str(error)
    if place.settings.budget.max_cost:
        from tcoder.app.parts import refuse_unkept  # late: what a session needs comes behind the first frame

        refuse_unkept(place.settings, chosen)
    return ""
