"""What each action does in line mode: ops, and reports as text."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tcoder.frontends import explain, export, firstrun, report_file
from tcoder.frontends.actions import ACTIONS, EFFORTS, MODES
from tcoder.frontends.attach import read_image
from tcoder.frontends.blocks import source
from tcoder.frontends.cards import ModelSaid, NoticeLine
from tcoder.frontends.docks import dock
from tcoder.frontends.lines import plain as plain_line
from tcoder.frontends.plain import changes
from tcoder.frontends.plain.asking import ask
from tcoder.frontends.plain.runner import Deed, LineMode
from tcoder.frontends.sanitise import clean
from tcoder.protocol.errors import TcoderError
from tcoder.protocol.host import Host, ReportName
from tcoder.protocol.ops import (
    Compact,
    Interrupt,
    MakeCheckpoint,
    Op,
    Redo,
    Rename,
    RunChecks,
    SetApproval,
    SetEffort,
    SetModel,
    SetVariant,
    Submit,
    TakeBack,
    Undo,
)  # fmt: skip
from tcoder.protocol.queries import (
    ContextReport,
    ExplainVariant,
    ListModels,
    ListRules,
    ListSessions,
    ListTools,
    ModelList,
    Query,
    ReadContext,
    ReadStatus,
    RuleList,
    SessionChoice,
    SessionList,
    StatusReport,
    ToolList,
    VariantReport,
)  # fmt: skip

T = TypeVar("T")


def _op(make: Callable[[str], Op]) -> Deed:
    async def deed(mode: LineMode, rest: str) -> None:
        await mode.submit(make(rest))

    return deed


def _turn(make: Callable[[str], Op]) -> Deed:
    async def deed(mode: LineMode, rest: str) -> None:
        if await mode.submit(make(rest)) and mode.view.running:
            await mode.until_quiet()

    return deed


def _report(query: Query, kind: type[T], text: Callable[[T], str]) -> Deed:
    async def deed(mode: LineMode, rest: str) -> None:  # noqa: ARG001  a report takes no argument
        found = await ask(mode, query, kind)
        if found is not None:
            mode.say(text(found))

    return deed


def _variant(name: str) -> Deed:
    async def deed(mode: LineMode, rest: str) -> None:
        op = SetVariant("fast" if name == "fast" else "standard", sticky=not rest)
        if await mode.submit(op) and rest:
            await mode.do(rest)

    return deed


async def test(mode: LineMode, rest: str) -> None:
    await mode.alone(RunChecks(rest))


async def shell(mode: LineMode, rest: str) -> None:
    await mode.shell(rest, share=True)


async def auto(mode: LineMode, rest: str) -> None:
    off = rest == "off" or (not rest and mode.view.auto)
    await mode.submit(SetVariant(mode.view.stop if off else None))


async def model(mode: LineMode, rest: str) -> None:
    if rest:
        await mode.submit(SetModel(rest))
    elif (found := await ask(mode, ListModels(), ModelList)) is not None:
        mode.say(explain.columns([(of.id, of.note) for of in found.models]))


async def setup(mode: LineMode, rest: str) -> None:
    """The card, or one of its ways by number or name."""
    host = mode.host
    if host is None:
        mode.say("a model cannot be chosen here; start tcoder with --model")
        return
    chosen = firstrun.way(rest.split(" ")[0]) if rest else None
    named = rest.partition(" ")[2].strip()
    try:
        match chosen:
            case None:
                mode.say(firstrun.card(await host.offers()))
            case "key" | "environment":
                await _key(mode, host, named, ask=chosen == "key")
            case "server":
                for offer in await host.servers():
                    mode.say(
                        "\n".join(f"tcoder --base-url {offer.base_url} --model {clean(of)}" for of in offer.models)
                    )
            case "local" if named:
                await host.fetch(named, lambda _: None)
                await _use(mode, host, named)
            case "local":
                mode.say(
                    "\n".join(f"/setup local {of.id}   {firstrun.describe(of)}" for of in (await host.offers()).local)
                )
            case "demo":
                await mode.switch(SessionChoice("demo"))
                mode.say("say: make the failing test pass")
            case "look":
                mode.say("/diff, /checkpoints, /resume and !command need no model")
    except TcoderError as error:
        mode.say(clean(str(error)))


async def _key(mode: LineMode, host: Host, model: str, *, ask: bool) -> None:
    """Take a key for a model that was named, or one that the environment has."""
    offers = [of for of in (await host.offers()).keys if ask or of.present]
    offer = next((of for of in offers if of.provider == model.partition("/")[0]), None)
    if offer is None:
        way = "key" if ask else "environment"
        mode.say("\n".join(f"/setup {way} {of.model or of.provider + '/MODEL'}" for of in offers) or "no key is set")
        return
    if ask:
        key = await mode.reader.line(f"key for {offer.base_url}> ", answer=True, secret=True)
        if not key:
            return
        await host.store_key(offer.provider, key.strip(), model)
    await _use(mode, host, model)


async def _use(mode: LineMode, host: Host, model: str) -> None:
    host.use(model)
    await mode.switch(SessionChoice("new"))
    mode.say(f"[model: {clean(model)}]")


def _host_report(name: ReportName) -> Deed:
    async def deed(mode: LineMode, rest: str) -> None:  # noqa: ARG001  a report takes no argument
        if mode.host is not None:
            mode.say(explain.status(await mode.host.report(name)))

    return deed


async def effort(mode: LineMode, rest: str) -> None:
    if rest in EFFORTS:
        await mode.submit(SetEffort(rest))  # pyright: ignore[reportArgumentType]  one of Effort
    else:
        mode.say("/effort takes one of " + ", ".join(EFFORTS))


async def approval(mode: LineMode, rest: str) -> None:
    if rest in MODES:
        await mode.submit(SetApproval(rest))  # pyright: ignore[reportArgumentType]  one of Approval
    else:
        mode.say(f"the mode is {mode.view.approval}; /mode takes one of " + ", ".join(MODES))


def _section(name: str) -> Deed:
    async def deed(mode: LineMode, rest: str) -> None:  # noqa: ARG001  takes no argument
        mode.say("\n".join(plain_line(line) for line in dock(mode.view, 40, only=name, rows=200)[1:]))

    return deed


async def resume(mode: LineMode, rest: str) -> None:
    if rest:
        await mode.switch(SessionChoice("resume", rest))
    elif (found := await ask(mode, ListSessions(), SessionList)) is not None:
        mode.say(explain.columns([(of.id, of.updated[:16], of.title) for of in found.sessions]) or "no stored session")


async def new(mode: LineMode, _: str) -> None:
    await mode.switch(SessionChoice("new"))


async def fork(mode: LineMode, rest: str) -> None:
    await mode.switch(SessionChoice("fork", mode.view.session_id, rest))


async def write(mode: LineMode, rest: str) -> None:
    path = Path(rest).expanduser() if rest else Path(mode.startup.workspace) / f"tcoder-{mode.view.session_id}.md"
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(export.markdown(mode.transcript.blocks))
    except OSError as error:
        mode.say(f"cannot write {clean(str(path))}: {error.strerror}")
        return
    mode.say(f"written to {clean(str(path))}")


async def leave(mode: LineMode, _: str) -> None:
    mode.leaving = True


async def copy(mode: LineMode, rest: str) -> None:
    """Line mode has no clipboard of its own: the answer is printed, to be taken with the terminal's selection."""
    said = [source(of) for of in mode.transcript.blocks if isinstance(of, ModelSaid) and of.text.strip()]
    nth = int(rest) if rest.isdecimal() and int(rest) > 0 else 1
    mode.say(said[-nth] if len(said) >= nth else "there is nothing to copy")


async def image(mode: LineMode, rest: str) -> None:
    part, problem = read_image(rest)
    if part is not None:
        mode.images.append(part)
    mode.say(problem or "the image goes along with the next message")


async def spending(mode: LineMode, _: str) -> None:
    mode.say(explain.spending(mode.view))


async def status(mode: LineMode, _: str) -> None:
    reply = await mode.session.query(ReadStatus()) if mode.session is not None else None
    mode.say(explain.status(reply) if isinstance(reply, StatusReport) else explain.session(mode.view))


async def help_(mode: LineMode, _: str) -> None:
    mode.say(explain.help_text([action for action in ACTIONS if action.id in DEEDS], None))


def _absent(action: str) -> Deed:
    async def deed(mode: LineMode, rest: str) -> None:  # noqa: ARG001  takes no argument
        mode.say(explain.ABSENT[action])

    return deed


async def skills(mode: LineMode, _: str) -> None:
    mode.say(explain.user_commands(mode.completer.user))


async def rename(mode: LineMode, rest: str) -> None:
    if rest:
        await mode.submit(Rename(rest))
    else:
        mode.say("/rename needs a name")


async def bug(mode: LineMode, _: str) -> None:
    """What a bug report needs, in a file; nothing is sent anywhere."""
    doctor = await mode.host.report("doctor") if mode.host is not None else None
    notices = [of.text for of in mode.transcript.blocks if isinstance(of, NoticeLine) and of.level != "info"]
    text = explain.bug(mode.view, mode.startup.version, doctor, notices[-20:])
    try:
        path = report_file.write_new(report_file.bug_file(mode.startup, mode.view.session_id), text)
    except OSError as error:
        mode.say(f"the report cannot be written: {error.strerror}")
        return
    mode.say(f"written to {path}; read it before you send it")


DEEDS: dict[str, Deed] = {
    **{action: _absent(action) for action in explain.ABSENT},
    "skills.show": skills,
    "memory.show": _host_report("memory"),
    "session.rename": rename,
    "session.bug": bug,
    "turn.interrupt": _op(lambda _: Interrupt()),
    "turn.take_back": _op(lambda _: TakeBack()),
    "turn.steer": _turn(lambda rest: Submit(rest, steer=True)),
    "turn.queue": _turn(lambda rest: Submit(rest)),
    "turn.test": test,
    "turn.shell": shell,
    "turn.compact": _op(lambda rest: Compact(rest)),
    "variant.fast": _variant("fast"),
    "variant.standard": _variant("standard"),
    "variant.auto": auto,
    "variant.explain": _report(ExplainVariant(), VariantReport, explain.variant),
    "model.choose": model,
    "model.setup": setup,
    "model.effort": effort,
    "config.show": _host_report("config"),
    "doctor.show": _host_report("doctor"),
    "mode.set": approval,
    "permissions.show": _report(ListRules(), RuleList, explain.rules),
    "tools.show": _report(ListTools(), ToolList, explain.tools),
    **changes.DEEDS,
    "checkpoint.make": _op(lambda rest: MakeCheckpoint(rest)),
    "patch.undo": _op(lambda rest: Undo(rest)),
    "patch.redo": _op(lambda rest: Redo(rest)),
    "attempts.open": _section("attempts"),
    "plan.open": _section("plan"),
    "context.show": _report(ReadContext(), ContextReport, explain.context),
    "cost.show": spending,
    "status.show": status,
    "session.new": new,
    "session.resume": resume,
    "session.fork": fork,
    "session.export": write,
    "session.quit": leave,
    "copy.selection": copy,
    "prompt.image": image,
    "help.show": help_,
}
