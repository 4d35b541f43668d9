"""Actions on the running turn."""

from tcoder.frontends.tui.screens.main import Deeds, MainScreen
from tcoder.protocol.ops import Compact, Interrupt, RunChecks, RunShell, Submit, TakeBack


async def interrupt(screen: MainScreen, _: str) -> None:
    await screen.desk.submit(Interrupt())


async def take_back(screen: MainScreen, _: str) -> None:
    """The last queued message goes back into an empty prompt, so that it can be changed."""
    waiting = screen.desk.view.queue
    if not waiting:
        screen.desk.note("no message is queued")
        return
    if await screen.desk.submit(TakeBack(waiting[-1].id)) and screen.prompt.is_empty:
        screen.prompt.set_text(waiting[-1].text)


async def steer(screen: MainScreen, rest: str) -> None:
    if text := rest or screen.prompt.take():
        await screen.desk.submit(Submit(text, steer=screen.desk.view.running))


async def queue(screen: MainScreen, rest: str) -> None:
    if rest:
        await screen.desk.submit(Submit(rest))
    else:
        screen.prompt.send(later=True)


async def test(screen: MainScreen, rest: str) -> None:
    screen.conversation.follow()
    await screen.desk.submit(RunChecks(rest))


async def shell(screen: MainScreen, rest: str) -> None:
    if not rest:
        screen.desk.note("/shell needs a command")
        return
    screen.conversation.follow()
    await screen.desk.submit(RunShell(rest))


async def compact(screen: MainScreen, rest: str) -> None:
    await screen.desk.submit(Compact(rest))


DEEDS: Deeds = {
    "turn.interrupt": interrupt,
    "turn.take_back": take_back,
    "turn.steer": steer,
    "turn.queue": queue,
    "turn.test": test,
    "turn.shell": shell,
    "turn.compact": compact,
}
