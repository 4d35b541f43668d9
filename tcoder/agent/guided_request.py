"""A change that no failing test asks for: tcoder finds the definition that is meant, a small model writes it anew, and
the tests must pass as before. Nothing proves that the change is what was wanted, and the ending says so."""

import re
import textwrap
from collections.abc import Iterator

from msgspec import Struct

from tcoder.agent import guided_place, units
from tcoder.agent.attempts import Tried
from tcoder.agent.candidates import FENCE
from tcoder.agent.guided_place import Places
from tcoder.agent.repairs import place_for_import
from tcoder.agent.state import say
from tcoder.agent.turn import Turn
from tcoder.agent.verdict import Ending, done
from tcoder.protocol.edits import Cause, WriteFile
from tcoder.protocol.errors import ModelError, TcoderError
from tcoder.protocol.location import SymbolHit
from tcoder.protocol.outcome import ExitCode
from tcoder.protocol.request import ModelRequest
from tcoder.resources import prompt

TRIES = ((0.0, 0), (0.6, 1), (0.8, 2))
UNUSABLE = "the model's answers held no code that could be used"
MAX_LINES = 100
MAX_OUTLINE = 40
EXTRA_TOKENS = 400
ADDITION = re.compile(
    r"^\W*(?:please\s+)?(?:add|create|write|document|rename|implement|refactor|extract|introduce|support|let|make\s+\w+"
    r"\s+(?:accept|return|take|use|support))\b",
    re.I,
)
REPAIR = re.compile(r"\b(?:tests?|suite|fail\w*|fix\w*|repair\w*|bugs?|broken|green|crash\w*|regression)\b", re.I)
DEFINITIONS = ("function", "method", "class", "constructor", "struct", "interface", "enum")
_IMPORT = re.compile(r"^(?:import|from)\s+\w")


def is_request(task: str) -> bool:
    """Whether a task asks for something new, and not for what fails to be repaired."""
    return bool(ADDITION.match(task)) and not REPAIR.search(task)


class Target(Struct, frozen=True):
    """What is to be written: lines `line` to `end_line` (1-based, inclusive) of `path` anew, or with `line` 0 something
    new at the end of the file. `shown` is what the model is shown of it."""

    path: str
    name: str
    source: str
    shown: str
    line: int = 0
    end_line: int = 0


async def carry_out(turn: Turn) -> Ending:
    """Raises `Halt`, `ModelError`."""
    places = await guided_place.find(turn)
    target = _target(turn, places)
    if target is None:
        reason = "the task names no function or file that could be found; name the one that is to be changed"
        return Ending("no_progress", ExitCode.NO_PROGRESS, "Nothing was changed.", None, reason)
    tried = Tried()
    tried.is_new(target.path, target.source)
    why = ""
    for temperature, seed in TRIES:
        new = written(await _ask(turn, target, temperature, seed), target)
        if new is None or not units.parses(target.path, new):
            continue
        if not tried.is_new(target.path, new):
            why = why or "the model wrote the code as it was"
            continue
        await turn.apply((WriteFile(target.path, new),), Cause("edit", f"{target.name}: as asked"))
        try:
            proof = await turn.prove()
        except BaseException:
            await _put_back(turn, target)
            raise
        if proof.verified is not False:
            return done(_told(turn, target), proof, wanted_change=False)
        why = f"every change that the model made broke tests: {proof.why}"
        await _put_back(turn, target)
    return Ending("no_progress", ExitCode.NO_PROGRESS, "Nothing was changed.", None, why or UNUSABLE)


async def _put_back(turn: Turn, target: Target) -> None:
    await turn.apply((WriteFile(target.path, target.source),), Cause("rollback", f"{target.path} as it was"))


def _told(turn: Turn, target: Target) -> str:
    tests = "The tests pass as before. " if turn.env.checks else ""
    return (
        f"Changed {target.path} ({target.name}). {tests}No test shows that it does what was asked: "
        "read the change with `tcoder diff`."
    )


def _target(turn: Turn, places: Places) -> Target | None:
    """A new name in a file that is named goes to its end; else the first definition that is short enough."""
    if places.file and places.new and (source := _read(turn, places.file)) is not None:
        return Target(places.file, places.new, source, _outline(source))
    for hit in places.symbols:
        source = _read(turn, hit.path)
        if source is not None and hit.kind in DEFINITIONS and hit.end_line - hit.line < MAX_LINES:
            first = _first_line(hit, source)
            shown = "\n".join(source.split("\n")[first - 1 : hit.end_line])
            return Target(hit.path, hit.name, source, shown, first, hit.end_line)
    if places.file and (source := _read(turn, places.file)) is not None:
        return Target(places.file, places.file, source, _outline(source))
    return None


def _read(turn: Turn, path: str) -> str | None:
    try:
        file = turn.env.files.read_if_there(path)
    except TcoderError:
        return None
    return file.text if file else None


def _first_line(hit: SymbolHit, source: str) -> int:
    """Decorators belong to what they decorate."""
    return next((unit.line for unit in units.cut(hit.path, source) if unit.head == hit.line), hit.line)


def _outline(source: str) -> str:
    """What a file defines, for something new that goes beside it."""
    heads = [
        line for line in source.split("\n") if re.match(r"(?:import|from|def|class|async|export|func|fn|pub)\b", line)
    ]
    return "\n".join(heads[-MAX_OUTLINE:])


async def _ask(turn: Turn, target: Target, temperature: float, seed: int) -> str:
    wanted = f"the whole new text of `{target.name}`" if target.line else "only the new code, not what is there"
    language = target.path.rpartition(".")[2]
    shown = textwrap.dedent(target.shown)
    text = f"{target.path}:\n```{language}\n{shown}\n```\n\n{turn.task}\n\nAnswer with {wanted}."
    request = ModelRequest(
        variant=turn.variant,
        system=prompt("system/guided_request"),
        messages=(say(text),),
        max_output=len(shown) // 3 + EXTRA_TOKENS,
        temperature=temperature,
        seed=seed or None,
    )
    try:
        return (await turn.ask(request, aside=True, reason=f"change {target.name}")).text
    except ModelError as error:
        if error.failure not in ("bad_request", "context_full", "truncated"):
            raise
        return ""


def written(answer: str, target: Target) -> str | None:
    """The file with the answer's code in it; None when the answer has none, or leaves out the name it was asked for."""
    name = target.name.rpartition(".")[2]
    for block in FENCE.findall(answer):
        lines = textwrap.dedent(block).strip("\n").split("\n")
        imports = list(_leading_imports(lines)) if target.path.endswith(".py") else []
        body = "\n".join(lines[len(imports) :]).strip("\n")
        if not body or (target.line and not re.search(rf"\b{re.escape(name)}\b", body)):
            continue
        return _with_imports(_placed(body, target), [line for line in imports if line.strip()], target.source)
    return None


def _leading_imports(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if line.strip() and not _IMPORT.match(line):
            return
        yield line


def _placed(body: str, target: Target) -> str:
    if not target.line:
        space = "\n\n\n" if target.path.endswith(".py") else "\n\n"
        return target.source.rstrip("\n") + space + body + "\n"
    lines = target.source.split("\n")
    head = lines[target.line - 1]
    indent = head[: len(head) - len(head.lstrip())]
    new = [indent + line if line.strip() else line for line in body.split("\n")]
    lines[target.line - 1 : target.end_line] = new
    return "\n".join(lines)


def _with_imports(text: str, imports: list[str], source: str) -> str:
    fresh = [line for line in imports if line not in source.split("\n")]
    if not fresh:
        return text
    lines = text.split("\n")
    at = place_for_import(text)
    lines[at - 1 : at - 1] = fresh
    return "\n".join(lines)
