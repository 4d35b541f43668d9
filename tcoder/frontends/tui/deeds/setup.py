"""Ways to a model, trust, and what the program around the session knows."""

import asyncio
from collections.abc import Awaitable, Callable

from tcoder.frontends import explain, firstrun
from tcoder.frontends.figures import size
from tcoder.frontends.firstrun import Way
from tcoder.frontends.tui.screens.entry import enter
from tcoder.frontends.tui.screens.main import Deed, Deeds, MainScreen
from tcoder.frontends.tui.screens.pick import pick
from tcoder.protocol.errors import TcoderError
from tcoder.protocol.host import Host, KeyOffer, ReportName
from tcoder.protocol.ops import SetApproval
from tcoder.protocol.queries import SessionChoice


async def setup(screen: MainScreen, rest: str) -> None:
    """The card, or one of its ways by number or name."""
    desk = screen.desk
    if desk.host is None:
        desk.note("a model cannot be chosen here; start tcoder with --model", "warning")
        return
    chosen = firstrun.way(rest) if rest else None
    if chosen is None:
        desk.note(firstrun.card(await desk.host.offers()), topic="a model")
        return
    await _WAYS[chosen](screen, desk.host)


async def _key(screen: MainScreen, host: Host) -> None:
    offers = (await host.offers()).keys

    async def chosen(provider: str) -> None:
        offer = next(of for of in offers if of.provider == provider)
        enter(
            screen,
            f"Model of {provider}",
            lambda model: _ask_key(screen, host, offer, model),
            note="provider/model, as in the provider's own list",
            value=offer.model or f"{provider}/",
        )

    pick(screen, "Whose key", [(of.provider, of.provider, of.base_url) for of in offers], chosen)


async def _ask_key(screen: MainScreen, host: Host, offer: KeyOffer, model: str) -> None:
    async def entered(key: str) -> None:
        screen.desk.note(f"trying the key with one token at {offer.base_url}")
        try:
            await host.store_key(offer.provider, key, model)
        except TcoderError as error:
            screen.desk.note(f"the key was not kept: {error}", "warning")
            return
        screen.desk.note("the key works and is kept")
        await _use(screen, host, model)

    enter(screen, f"Key for {offer.provider}", entered, note=f"goes to {offer.base_url} and nowhere else", secret=True)


async def _environment(screen: MainScreen, host: Host) -> None:
    found = [of for of in (await host.offers()).keys if of.present]
    if not found:
        screen.desk.note("none of the usual variables is set; 1 takes a key")
        return

    async def chosen(provider: str) -> None:
        offer = next(of for of in found if of.provider == provider)
        enter(
            screen, f"Model of {provider}", lambda model: _use(screen, host, model), value=offer.model or f"{provider}/"
        )

    pick(screen, "Which key", [(of.provider, of.variable, of.base_url) for of in found], chosen)


async def _server(screen: MainScreen, host: Host) -> None:
    screen.desk.note("looking for a server on this machine")
    found = await host.servers()
    options = [(f"{of.base_url} {model}", model, of.base_url) for of in found for model in of.models]
    if not options:
        screen.desk.note("no server answers there; another: tcoder --base-url URL --model NAME")
        return

    async def chosen(value: str) -> None:
        base_url, _, model = value.partition(" ")
        await _use(screen, host, model, base_url)

    pick(screen, "Models of this machine's servers", options, chosen)


async def _local(screen: MainScreen, host: Host) -> None:
    offers = (await host.offers()).local

    async def chosen(model: str) -> None:
        offer = next(of for of in offers if of.id == model)
        if offer.present:
            await _use(screen, host, model)
            return
        screen.desk.note(f"fetching {model}, {size(offer.bytes)}; go on with what needs no model meanwhile")
        fetching = asyncio.create_task(_fetch(screen, host, model), name=f"fetch {model}")
        screen.chores.add(fetching)
        fetching.add_done_callback(screen.chores.discard)

    pick(screen, "Models for this machine", [(of.id, of.id, firstrun.describe(of)) for of in offers], chosen)


async def _fetch(screen: MainScreen, host: Host, model: str) -> None:
    try:
        await host.fetch(model, screen.say_progress)
    except TcoderError as error:
        screen.desk.note(str(error), "warning")
        return
    finally:
        screen.say_progress("")
    await _use(screen, host, model)


async def _use(screen: MainScreen, host: Host, model: str, base_url: str = "") -> None:
    try:
        host.use(model, base_url)
    except TcoderError as error:
        screen.desk.note(str(error), "warning")
        return
    screen.desk.has_model()
    await screen.reconnect(SessionChoice("new"))


async def _demo(screen: MainScreen, _: Host) -> None:
    screen.prompt.set_text("make the failing test pass")
    await screen.reconnect(SessionChoice("demo"))


async def _look(screen: MainScreen, _: Host) -> None:
    screen.desk.note("look around: /diff, /checkpoints, /resume, !command and @file need no model; /setup chooses one")


_WAYS: dict[Way, Callable[[MainScreen, Host], Awaitable[None]]] = {
    "key": _key,
    "environment": _environment,
    "server": _server,
    "local": _local,
    "demo": _demo,
    "look": _look,
}


async def ask_trust(screen: MainScreen) -> None:
    """One key, once: whether the folder's own settings count."""

    async def chosen(answer: str) -> None:
        host = screen.desk.host
        if answer == "yes" and host is not None:
            host.trust()
            await screen.reconnect(SessionChoice("new"))
        else:
            await screen.desk.submit(SetApproval("plan"))
            screen.desk.note("its settings are left aside and nothing is changed; /mode ask allows changes")

    pick(
        screen,
        "This folder has settings of its own (.tcoder/config.toml). Trust it?",
        [
            ("yes", "yes, remember it", "what is listed above as not trusted counts"),
            ("no", "no", "read only; its settings are left aside"),
        ],
        chosen,
    )


def _report(name: ReportName, topic: str) -> Deed:
    async def deed(screen: MainScreen, _: str) -> None:
        if screen.desk.host is None:
            screen.desk.note(f"`tcoder {name}` shows it")
            return
        screen.desk.note(explain.status(await screen.desk.host.report(name)), topic=topic)

    return deed


def _absent(action: str) -> Deed:
    async def deed(screen: MainScreen, _: str) -> None:
        screen.desk.note(explain.ABSENT[action])

    return deed


async def skills(screen: MainScreen, _: str) -> None:
    screen.desk.note(explain.user_commands(screen.desk.user_commands), topic="commands")


DEEDS: Deeds = {
    **{action: _absent(action) for action in explain.ABSENT},
    "skills.show": skills,
    "memory.show": _report("memory", "memory"),
    "model.setup": setup,
    "config.show": _report("config", "settings"),
    "doctor.show": _report("doctor", "doctor"),
}
