"""Actions on the slider, the model and the approval mode."""

from tcoder.frontends import explain
from tcoder.frontends.actions import EFFORTS, MODES
from tcoder.frontends.bars import variant_stop
from tcoder.frontends.tui.screens.main import Deeds, MainScreen
from tcoder.frontends.tui.screens.pick import pick
from tcoder.protocol.errors import TcoderError
from tcoder.protocol.ops import SetApproval, SetEffort, SetModel, SetVariant
from tcoder.protocol.queries import (
    ExplainVariant,
    ListModels,
    ListRules,
    ListTools,
    ModelList,
    RuleList,
    ToolList,
    VariantReport,
)
from tcoder.protocol.variant import VariantName


async def flip(screen: MainScreen, _: str) -> None:
    """The other stop for the next turn; again takes it back."""
    view = screen.desk.view
    now = variant_stop(view)
    await screen.desk.submit(SetVariant("standard" if now == "fast" else "fast", sticky=False))


async def _move(screen: MainScreen, name: VariantName, prompt: str) -> None:
    """Sticky; with a prompt only for that one."""
    if await screen.desk.submit(SetVariant(name, sticky=not prompt)) and prompt:
        await screen.send(prompt)


async def fast(screen: MainScreen, rest: str) -> None:
    await _move(screen, "fast", rest)


async def standard(screen: MainScreen, rest: str) -> None:
    await _move(screen, "standard", rest)


async def auto(screen: MainScreen, rest: str) -> None:
    off = rest == "off" or (not rest and screen.desk.view.auto)
    await screen.desk.submit(SetVariant(screen.desk.view.stop if off else None))


async def why(screen: MainScreen, rest: str) -> None:
    """Why this stop; with `save` it becomes the one to begin with."""
    if rest == "save":
        view, host = screen.desk.view, screen.desk.host
        if host is None:
            screen.desk.note("nothing can be kept here", "warning")
            return
        try:
            host.keep_variant(None if view.auto else view.stop)
        except TcoderError as error:
            screen.desk.note(str(error), "warning")
            return
        screen.desk.note(f"sessions begin with {'auto' if view.auto else view.stop} from now on")
        return
    report = await screen.desk.ask(ExplainVariant(), VariantReport)
    if report is not None:
        screen.desk.note(explain.variant(report), topic="variant")


async def model(screen: MainScreen, rest: str) -> None:
    if rest:
        await screen.desk.submit(SetModel(rest))
        return
    models = await screen.desk.ask(ListModels(), ModelList)
    if models is None:
        return

    async def chosen(choice: str) -> None:
        await screen.desk.submit(SetModel(choice))

    pick(screen, "Model", [(of.id, of.id, of.note) for of in models.models if of.usable], chosen)


async def effort(screen: MainScreen, rest: str) -> None:
    level = next((level for level in EFFORTS if level == rest), None)
    if level is not None:
        await screen.desk.submit(SetEffort(level))  # pyright: ignore[reportArgumentType]  one of Effort
        return

    async def chosen(choice: str) -> None:
        await effort(screen, choice)

    pick(screen, "Effort", [(of, of, "") for of in EFFORTS], chosen)


async def next_mode(screen: MainScreen, _: str) -> None:
    at = MODES.index(screen.desk.view.approval)
    await mode(screen, MODES[(at + 1) % len(MODES)])


async def mode(screen: MainScreen, rest: str) -> None:
    wanted = next((of for of in MODES if of == rest), None)
    if wanted is not None:
        await screen.desk.submit(SetApproval(wanted))  # pyright: ignore[reportArgumentType]  one of Approval
        return
    notes = {
        "ask": "asks before every change and command",
        "edits": "edits files without asking, asks before commands",
        "auto": "asks nothing; the sandbox is the limit",
        "plan": "reads only",
    }
    pick(screen, "Approval", [(of, of, notes[of]) for of in MODES], lambda choice: mode(screen, choice))


async def permissions(screen: MainScreen, _: str) -> None:
    rules = await screen.desk.ask(ListRules(), RuleList)
    if rules is not None:
        screen.desk.note(explain.rules(rules), topic="permissions")


async def tools(screen: MainScreen, _: str) -> None:
    found = await screen.desk.ask(ListTools(), ToolList)
    if found is not None:
        screen.desk.note(explain.tools(found), topic="tools")


DEEDS: Deeds = {
    "variant.flip": flip,
    "variant.fast": fast,
    "variant.standard": standard,
    "variant.auto": auto,
    "variant.explain": why,
    "model.choose": model,
    "model.effort": effort,
    "mode.next": next_mode,
    "mode.set": mode,
    "permissions.show": permissions,
    "tools.show": tools,
}
