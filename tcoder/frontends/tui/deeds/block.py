"""What a key does on the block under the cursor."""

from tcoder.frontends import blocks, present
from tcoder.frontends.bars import variant_stop
from tcoder.frontends.cards import (
    AttemptCard,
    Block,
    ChecksCard,
    LocatedCard,
    PatchCard,
    ToolCard,
    UserSaid,
    failed,
)
from tcoder.frontends.lines import Line, line
from tcoder.frontends.tui import outside
from tcoder.frontends.tui.screens.main import MainScreen
from tcoder.frontends.tui.screens.text import TextScreen
from tcoder.protocol.display import DiffBlock
from tcoder.protocol.ops import Compact, Interrupt, MakeCheckpoint, SetVariant, Submit


async def chosen(screen: MainScreen, key: str, index: int) -> None:
    """`d` reads the block in full, `o` opens its file in the editor, `r` brings a message back, `c` checkpoints. On a
    failed model call and on a retry that waits: `r` again, `l` with the other variant, `k` enter a key."""
    block = screen.desk.transcript.blocks[index]
    if key in "rlk" and failed(block):
        await _go_on(screen, key)
        return
    match key:
        case "d":
            screen.show_screen(TextScreen("Block", in_full(block), screen.desk.palette))
        case "o":
            _open(screen, block)
        case "r":
            if isinstance(block, UserSaid):
                screen.prompt.set_text(block.text)
                screen.prompt.focus()
            else:
                screen.desk.note("only a message of yours can be sent again")
        case "c":
            await screen.desk.submit(MakeCheckpoint())
        case "enter":
            await screen.desk.submit(Compact())
        case _:
            return


async def _go_on(screen: MainScreen, key: str) -> None:
    """What waits for its retry is stopped first; the conversation stays as it is and goes on from there."""
    desk = screen.desk
    if key == "k":
        await screen.act("model.setup", "key")
        return
    if desk.view.running:
        await desk.submit(Interrupt())
        await desk.idle()  # what is sent before would wait in the queue, which an interrupt holds back
    if key == "l":
        await desk.submit(SetVariant("standard" if variant_stop(desk.view) == "fast" else "fast", sticky=False))
    screen.conversation.follow()
    screen.prompt.focus()  # which takes the cursor off the block
    await desk.submit(Submit("Go on."))


def in_full(block: Block) -> tuple[Line, ...]:
    """The diff of a block that has one, else everything that can be unfolded of it."""
    if diff := diff_of(block):
        return present.diff_lines(diff)
    return tuple(row.line for row in blocks.rows(block, "open")) or (line(("nothing to show", "dim")),)


def diff_of(block: Block) -> str:
    match block:
        case ToolCard():
            shown = [part.diff for part in block.display if isinstance(part, DiffBlock)]
            return block.diff or "\n".join(shown)
        case PatchCard():
            return block.diff
        case AttemptCard():
            return block.attempt.diff
        case _:
            return ""


def place_of(block: Block) -> tuple[str, int]:
    """The file and line that a block is about; an empty path when it is about none."""
    match block:
        case ToolCard() if block.patch is not None and block.patch.files:
            return block.patch.files[0].path, 1
        case ToolCard(name="read" | "edit" | "write"):
            path, _, number = block.title.partition(":")
            return path, int(number) if number.isdecimal() else 1
        case ToolCard(report=report) | ChecksCard(report=report) if report is not None and report.failing:
            frames = report.failing[0].frames
            return (frames[-1].path, frames[-1].line) if frames else (report.failing[0].path, 1)
        case PatchCard() if block.patch.files:
            return block.patch.files[0].path, 1
        case LocatedCard() if block.location.files:
            return block.location.files[0].path, 1
        case _:
            return "", 0


def _open(screen: MainScreen, block: Block) -> None:
    path, number = place_of(block)
    if not path:
        screen.desk.note("this block is about no file")
    elif problem := outside.open_file(screen.desk.startup.workspace, path, number, screen.host.suspend):
        screen.desk.note(problem, "warning")
