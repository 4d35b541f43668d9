"""Actions on what is seen, and help."""

from tcoder.frontends import explain
from tcoder.frontends.actions import ACTIONS, THEMES
from tcoder.frontends.lines import line
from tcoder.frontends.tui.driver import TerminalDriver
from tcoder.frontends.tui.palette import PALETTES
from tcoder.frontends.tui.screens.main import Deeds, MainScreen
from tcoder.frontends.tui.screens.pick import pick
from tcoder.frontends.tui.screens.text import TextScreen


async def fold_tools(screen: MainScreen, _: str) -> None:
    screen.tools_open = not screen.tools_open
    screen.conversation.fold_all("open" if screen.tools_open else "auto")


async def thoughts(screen: MainScreen, _: str) -> None:
    screen.conversation.toggle_thoughts()


async def search(screen: MainScreen, rest: str) -> None:
    """Find a text in the conversation; without one, the last again."""
    screen.searched = rest or screen.searched
    if not screen.searched:
        screen.prompt.set_text("/find ")
        return
    if screen.conversation.find(screen.searched):
        screen.conversation.focus()
    else:
        screen.desk.note(f"nothing more above with {screen.searched!r}")


async def page_up(screen: MainScreen, _: str) -> None:
    screen.conversation.scroll_page(-1)


async def page_down(screen: MainScreen, _: str) -> None:
    screen.conversation.scroll_page(1)


async def line_up(screen: MainScreen, _: str) -> None:
    screen.conversation.scroll_lines(-1)


async def line_down(screen: MainScreen, _: str) -> None:
    screen.conversation.scroll_lines(1)


async def end(screen: MainScreen, _: str) -> None:
    screen.conversation.follow()


async def block_up(screen: MainScreen, _: str) -> None:
    if screen.conversation.has_focus:
        screen.conversation.move_cursor(-1)
    else:
        screen.conversation.focus()


async def block_down(screen: MainScreen, _: str) -> None:
    screen.conversation.move_cursor(1)


async def theme(screen: MainScreen, rest: str) -> None:
    found = next((palette for name, palette in PALETTES.items() if name == rest), None)
    if found is not None:
        screen.set_palette(found)
        return
    pick(screen, "Theme", [(name, name, "") for name in THEMES], lambda name: theme(screen, name))


async def mouse(screen: MainScreen, rest: str) -> None:
    """Free the mouse for the terminal's own selection, or take it again."""
    driver = screen.app._driver  # pyright: ignore  Textual has no public way to its driver
    if not isinstance(driver, TerminalDriver):
        screen.desk.note("the mouse cannot be changed here")
        return
    mode = rest if rest in ("on", "off", "scroll-only") else "off" if screen.mouse_mode != "off" else "on"
    screen.mouse_mode = mode
    driver.set_mouse(mode)
    screen.desk.note(
        f"mouse {mode}" + ("; Shift+drag selects with the terminal's own selection" if mode == "on" else "")
    )


async def suspend(screen: MainScreen, _: str) -> None:
    screen.app.action_suspend_process()  # pyright: ignore[reportUnknownMemberType]  Textual leaves App's type open


async def dock(screen: MainScreen, _: str) -> None:
    screen.toggle_dock()


async def dock_plan(screen: MainScreen, _: str) -> None:
    """The plan; while several questions wait, the same key answers those of a kind."""
    if not screen.approval.answer_alike():
        screen.open_dock("plan")


async def dock_attempts(screen: MainScreen, _: str) -> None:
    screen.open_dock("attempts")


async def dock_checkpoints(screen: MainScreen, _: str) -> None:
    screen.open_dock("checkpoints")


async def palette(screen: MainScreen, _: str) -> None:
    """Every action by name, with its key."""
    options = [
        (
            action.id,
            action.title,
            " ".join(
                part
                for part in (screen.desk.keymap.shown(action.id), f"/{action.slash}" if action.slash else "")
                if part
            ),
        )
        for action in ACTIONS
        if action.id != "help.palette"
    ]
    pick(screen, "Commands", options, lambda action: screen.act(action))


async def keys(screen: MainScreen, _: str) -> None:
    """The live key map; Enter does the action."""
    options = [(action, shown, title) for shown, title, action in explain.key_table(screen.desk.keymap)]
    for problem in screen.desk.keymap.problems:
        screen.desk.note(problem, "warning", "keys")
    pick(screen, "Keys", options, lambda action: screen.act(action))


async def help_(screen: MainScreen, _: str) -> None:
    text = explain.help_text(ACTIONS, screen.desk.keymap)
    screen.show_screen(TextScreen("Help", [line(of) for of in text.split("\n")], screen.desk.palette))


DEEDS: Deeds = {
    "view.fold_tools": fold_tools,
    "view.thoughts": thoughts,
    "view.search": search,
    "view.page_up": page_up,
    "view.page_down": page_down,
    "view.line_up": line_up,
    "view.line_down": line_down,
    "view.end": end,
    "view.block_up": block_up,
    "view.block_down": block_down,
    "view.theme": theme,
    "view.mouse": mouse,
    "view.suspend": suspend,
    "view.dock": dock,
    "dock.plan": dock_plan,
    "dock.attempts": dock_attempts,
    "dock.checkpoints": dock_checkpoints,
    "help.palette": palette,
    "help.keys": keys,
    "help.show": help_,
}
