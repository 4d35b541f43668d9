"""One move of the guided strategy as candidates: asked of the model, or small edits that need none."""

from collections.abc import AsyncIterator, Sequence

from tcoder.agent import candidates, failures, repairs, units
from tcoder.agent.candidates import Candidate
from tcoder.agent.guided_moves import Move
from tcoder.agent.state import say
from tcoder.agent.turn import Turn
from tcoder.protocol.checks import TestResult
from tcoder.protocol.errors import ModelError
from tcoder.protocol.request import Fill, ModelRequest
from tcoder.resources import prompt

FILL_TOKENS = 64
FILL_TEMPERATURES = (0.0, 0.7, 0.9, 1.1, 0.5)
FEWER = 3


class Asking:
    """A move against the failing tests; candidates are asked for as they are needed."""

    def __init__(
        self,
        turn: Turn,
        failing: Sequence[TestResult],
        sources: dict[str, str],
        pieces: dict[str, tuple[units.Unit, ...]],
        move: Move,
    ) -> None:
        self.turn = turn
        self.move = move
        self.source = sources[move.suspect.unit.path]
        self.neighbours = candidates.neighbours_of(move.suspect, pieces, self.source)
        self.failing = failing
        self.sources = sources

    async def candidates(self) -> AsyncIterator[Candidate]:
        move, suspect = self.move, self.move.suspect
        match move.kind:
            case "edits":
                lines = list(suspect.lines) or list(range(suspect.unit.body, suspect.unit.end_line + 1))
                found = repairs.small_edits(suspect.unit, self.source, lines, move.last)
                for candidate in found[move.first :]:
                    yield candidate
            case "fill":
                for at, gap in enumerate(candidates.gaps(suspect, self.source, move.last)[move.first :]):
                    wanted = FILL_TEMPERATURES if at + move.first < FEWER else FILL_TEMPERATURES[:FEWER]
                    for temperature in wanted:  # once the prompt is read, another sample costs little
                        candidate = await self._fill(gap, temperature)
                        if candidate is not None:
                            yield candidate
            case "rewrite":
                candidate = await self._rewrite()
                if candidate is not None:
                    yield candidate

    def _facts(self) -> str:
        tests = failures.representative(self.failing)
        for test in tests:
            if test.path and test.path not in self.sources:
                file = self.turn.env.files.read_if_there(test.path)
                if file is not None:
                    self.sources[test.path] = file.text
        said = [failures.describe(test, self.sources) for test in tests]
        calls = failures.describe_calls(self.move.suspect.calls)
        return "\n".join(["Failing test:", *said, *(["Calls:", *calls] if calls else [])])

    async def _fill(self, gap: tuple[int, int], temperature: float) -> Candidate | None:
        fill = candidates.fill_request(self.move.suspect, self.source, gap, self._facts(), self.neighbours)
        message = await self._ask("", "", FILL_TOKENS, temperature, fill)
        return candidates.from_fill(message, self.move.suspect, self.source, gap)

    async def _rewrite(self) -> Candidate | None:
        suspect = self.move.suspect
        code = units.text_of(suspect.unit, self.source)
        text = candidates.rewrite_prompt(suspect, self.source, self._facts(), self.neighbours)
        limit = min(1200, len(code) // 3 + 120)
        message = await self._ask(prompt("system/guided"), text, limit, self.move.temperature)
        return candidates.from_rewrite(message, suspect, self.source)

    async def _ask(self, system: str, text: str, limit: int, temperature: float, fill: Fill | None = None) -> str:
        move = self.move
        request = ModelRequest(
            variant=self.turn.variant,
            system=system,
            messages=(say(text),),
            max_output=limit,
            temperature=temperature,
            seed=move.seed or None,
            stop=("\n",) if fill else (),
            fill=fill,
        )
        try:
            message = await self.turn.ask(request, aside=True, reason=f"{move.kind} {move.suspect.unit.name}")
        except ModelError as error:
            if error.failure not in ("bad_request", "context_full", "truncated"):
                raise
            return ""
        return message.text
