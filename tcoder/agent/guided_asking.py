"""One move of the guided strategy as candidates: asked of the model, or small edits that need none."""

from collections.abc import AsyncIterator, Sequence

from tcoder.agent import candidates, failures, repairs, units
from tcoder.agent.attempts import normal_form
from tcoder.agent.candidates import Candidate
from tcoder.agent.guided_moves import Move
from tcoder.agent.state import say
from tcoder.agent.turn import Turn
from tcoder.protocol.checks import TestResult
from tcoder.protocol.errors import ModelError
from tcoder.protocol.request import Fill, ModelRequest
from tcoder.resources import prompt

FILL_TOKENS, INSERT_TOKENS = 64, 80
FILL_TEMPERATURES = (0.6, 0.8, 1.0)


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
                for gap in candidates.gaps(suspect, self.source, move.last)[move.first :]:
                    async for candidate in self._fillings(gap):
                        yield candidate
            case "insert":
                for gap in candidates.gaps(suspect, self.source, move.last)[move.first :]:
                    candidate = await self._insertion(gap)
                    if candidate is not None:
                        yield candidate
            case "rewrite":
                candidate = await self._rewrite()
                if candidate is not None:
                    yield candidate

    async def _fillings(self, gap: tuple[int, int]) -> AsyncIterator[Candidate]:
        """Answers to one gap. A model that is sure of the line as it is, is not asked again."""
        if self.move.temperature == 0.0:
            first = await self._fill(gap, 0.0, indented=True)
            if first is None or self._changes_nothing(first):
                return
            second = await self._fill(gap, 0.0, indented=False)
            for candidate in (first, second):
                if candidate is not None:
                    yield candidate
                    for shorter in candidates.shortened(candidate):
                        yield shorter
            return
        for at, temperature in enumerate(FILL_TEMPERATURES):
            candidate = await self._fill(gap, temperature, indented=at % 2 == 0)
            if candidate is not None:
                yield candidate

    async def _insertion(self, gap: tuple[int, int]) -> Candidate | None:
        """What the model would say between a statement and the next."""
        suspect = self.move.suspect
        fill = candidates.insert_request(suspect, self.source, gap, self._facts(2), self.neighbours)
        answer = await self._ask("", "", INSERT_TOKENS, self.move.temperature, fill, stop=("\n\n",))
        return candidates.from_insert(answer, suspect, self.source, gap)

    def _changes_nothing(self, candidate: Candidate) -> bool:
        return normal_form(candidate.apply(self.source)) == normal_form(self.source)

    def _facts(self, limit: int) -> str:
        tests = failures.representative(self.failing, limit)
        for test in tests:
            if test.path and test.path not in self.sources:
                file = self.turn.env.files.read_if_there(test.path)
                if file is not None:
                    self.sources[test.path] = file.text
        said = [failures.describe(test, self.sources) for test in tests]
        calls = failures.describe_calls(self.move.suspect.calls, limit + 1)
        return "\n".join(["Failing test:", *said, *(["Calls:", *calls] if calls else [])])

    async def _fill(self, gap: tuple[int, int], temperature: float, *, indented: bool) -> Candidate | None:
        suspect, facts = self.move.suspect, self._facts(2)
        fill = candidates.fill_request(suspect, self.source, gap, facts, self.neighbours, indented=indented)
        message = await self._ask("", "", FILL_TOKENS, temperature, fill)
        return candidates.from_fill(message, self.move.suspect, self.source, gap)

    async def _rewrite(self) -> Candidate | None:
        suspect = self.move.suspect
        code = units.text_of(suspect.unit, self.source)
        text = candidates.rewrite_prompt(suspect, self.source, self._facts(2), self.neighbours)
        limit = min(1200, len(code) // 3 + 120)
        message = await self._ask(prompt("system/guided"), text, limit, self.move.temperature)
        return candidates.from_rewrite(message, suspect, self.source)

    async def _ask(
        self,
        system: str,
        text: str,
        limit: int,
        temperature: float,
        fill: Fill | None = None,
        stop: tuple[str, ...] = ("\n",),
    ) -> str:
        move = self.move
        request = ModelRequest(
            variant=self.turn.variant,
            system=system,
            messages=(say(text),),
            max_output=limit,
            temperature=temperature,
            seed=move.seed or None,
            stop=stop if fill else (),
            fill=fill,
        )
        try:
            message = await self.turn.ask(request, aside=True, reason=f"{move.kind} {move.suspect.unit.name}")
        except ModelError as error:
            if error.failure not in ("bad_request", "context_full", "truncated"):
                raise
            return ""
        return message.text
