"""The needle test: facts planted at set depths in code, logs and tool-call histories, and asked for afterwards."""

import random
from typing import Literal

from msgspec import Struct

from tcoder.protocol.budget import Usage
from tcoder.protocol.errors import ModelError
from tcoder.protocol.handles import Model
from tcoder.protocol.messages import AssistantMessage, Message, TextPart, ToolCall, ToolResult, ToolResults, UserMessage
from tcoder.protocol.request import ModelReply, ModelRequest
from tcoder.protocol.variant import ModelVariant

Haystack = Literal["code", "log", "tool calls"]

DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
HAYSTACKS: tuple[Haystack, ...] = ("code", "log", "tool calls")
_LARGEST = 32_000
_LARGEST_LOCAL = 800  # fifteen prompts, of which two slow cores read some twenty to a hundred tokens a second
_CHARACTERS_PER_TOKEN = 3
_SYSTEM = "You answer questions about the text that you were shown, with the value alone."


class Found(Struct, frozen=True):
    """`depth` 0 = at the beginning, 1 = at the end. `said` is what was answered, or why nothing was."""

    haystack: Haystack
    depth: float
    found: bool
    said: str = ""


class NeedleReport(Struct, frozen=True):
    """Recall of planted facts in prompts of about `tokens` tokens."""

    tokens: int
    results: tuple[Found, ...]
    usage: Usage = Usage()

    def recall(self, depth: float) -> float:
        """The share of facts found at a depth."""
        at = [result.found for result in self.results if result.depth == depth]
        return sum(at) / len(at) if at else 0.0

    def lines(self) -> list[str]:
        """A row for each haystack, a column for each depth."""
        depths = sorted({result.depth for result in self.results})
        head = f"  needle, about {self.tokens} tokens, depth " + "".join(f"{depth:>7.0%}" for depth in depths)
        rows = [head]
        for haystack in HAYSTACKS:
            marks = {result.depth: result.found for result in self.results if result.haystack == haystack}
            row = "".join(f"{'yes' if marks[depth] else 'no':>7}" for depth in depths if depth in marks)
            rows.append(f"{'    ' + haystack:<{len(head) - 7 * len(depths)}}{row}")
        return rows


async def ask_needles(model: Model, variant: ModelVariant, *, tokens: int = 0, seed: int = 1) -> NeedleReport:
    """One request for each haystack and depth; `tokens` 0 = half the context window, at most 32,000, and of the
    embedded engine's 800. The facts and
    their values come from `seed`, so no model can know them."""
    tokens = tokens or min(variant.context_window // 2, _LARGEST_LOCAL if variant.provider == "local" else _LARGEST)
    results: list[Found] = []
    usage = Usage()
    for haystack in HAYSTACKS:
        for depth in DEPTHS:
            value = str(random.Random(f"{seed} {haystack} {depth}").randrange(10_000, 99_999))
            messages = plant(haystack, depth, value, tokens * _CHARACTERS_PER_TOKEN)
            said, spent = await _answer(model, ModelRequest(variant, _SYSTEM, messages, max_output=512))
            results.append(Found(haystack, depth, value in said, said[:80]))
            usage += spent
    return NeedleReport(tokens, tuple(results), usage)


def plant(haystack: Haystack, depth: float, value: str, characters: int) -> tuple[Message, ...]:
    """A conversation of about `characters` characters with one fact at `depth`, and the question for its value last."""
    match haystack:
        case "code":
            lines = _lines(characters, "def handler_{n}(request):\n    return respond(request, code={n})\n")
            lines.insert(round(depth * len(lines)), f"MAX_QUEUE_DEPTH = {value}\n")
            return _shown("".join(lines), "What is the value of MAX_QUEUE_DEPTH?")
        case "log":
            lines = _lines(characters, "12:00:{n} INFO worker finished job {n} in {n} ms\n")
            lines.insert(round(depth * len(lines)), f"12:00:00 ERROR worker lost lease of shard {value}\n")
            return _shown("".join(lines), "Which shard's lease was lost?")
        case "tool calls":
            bodies = _lines(characters, "row {n}: " + "value {n}, " * 40)
            bodies.insert(round(depth * len(bodies)), f"row x: the build number is {value}")
            messages: list[Message] = [UserMessage((TextPart("Look through the rows."),))]
            for number, body in enumerate(bodies):
                call = ToolCall(f"call{number:05}", "read_row", f'{{"row": {number}}}')
                messages += [AssistantMessage((call,)), ToolResults((ToolResult(call.id, body),))]
            return (*messages, UserMessage((TextPart("What is the build number?"),)))


def _lines(characters: int, template: str) -> list[str]:
    size = len(template.format(n=1000))
    return [template.format(n=1000 + n) for n in range(max(1, characters // size))]


def _shown(text: str, question: str) -> tuple[Message, ...]:
    return (UserMessage((TextPart(f"{text}\n{question}"),)),)


async def _answer(model: Model, request: ModelRequest) -> tuple[str, Usage]:
    said, usage = "", Usage()
    try:
        async for part in model.stream(request):
            if isinstance(part, ModelReply):
                said, usage = part.message.text.strip(), part.message.usage or usage
    except ModelError as error:
        return f"failed: {error.message}", usage
    return said, usage
