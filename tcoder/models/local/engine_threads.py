"""How many threads an engine should use: measured, remembered, and doubted when responses get slow."""

import time
from pathlib import Path

import msgspec
from msgspec import Struct

FRESH_S = 14 * 24 * 3600
_WORTH = 1.15  # more threads must be this much faster, because they are worth nothing once the cores are busy
_SLOW, _FAST = 0.5, 1.6  # of the speed that was measured
_ANSWERS = 3
_MIN_PROMPT, _MIN_GENERATED = 64, 8  # fewer tokens say more about the overhead of a request
_FIRST_PAUSE_S = 120.0


class Speed(Struct, frozen=True):
    """Tokens per second."""

    prompt: float
    generation: float


class Threads(Struct, frozen=True):
    """Threads for generating tokens and for reading prompts; the best counts differ."""

    generation: int
    prompt: int


class Choice(Struct, frozen=True):
    """What was chosen and how fast it was then; `at` in seconds since 1970, `cores` that were usable."""

    threads: Threads
    speed: Speed
    at: float
    cores: int


class Counters(Struct, frozen=True):
    """An engine's totals since it was loaded; `busy` while a request is being answered."""

    prompt_tokens: float = 0
    prompt_s: float = 0
    generated_tokens: float = 0
    generation_s: float = 0
    busy: bool = False


def counts_to_try(cores: int) -> tuple[int, ...]:
    """Thread counts worth measuring, ascending: one, half, all, and all but one where that leaves several."""
    return tuple(sorted({1, max(cores // 2, 1), cores, max(cores - 1, 1) if cores > 3 else 1}))


def pairs_to_try(cores: int) -> tuple[Threads, ...]:
    """Every count once for generation and once for prompts; last the pair that is most often the best, because the
    engine that measured last can go on without loading again."""
    counts = counts_to_try(cores)
    return tuple(Threads(g, p) for g, p in zip(reversed(counts), counts, strict=True))


def choose(measured: dict[Threads, Speed], cores: int, now: float) -> Choice:
    """The best counts; a greater count must be clearly faster than a smaller one. `measured` is not empty."""
    generation = _best({pair.generation: speed.generation for pair, speed in measured.items()})
    prompt = _best({pair.prompt: speed.prompt for pair, speed in measured.items()})
    speed = Speed(
        next(s.prompt for pair, s in measured.items() if pair.prompt == prompt),
        next(s.generation for pair, s in measured.items() if pair.generation == generation),
    )
    return Choice(Threads(generation, prompt), speed, now, cores)


def _best(speeds: dict[int, float]) -> int:
    chosen, *greater = sorted(speeds)
    for count in greater:
        if speeds[count] > speeds[chosen] * _WORTH:
            chosen = count
    return chosen


class Watch:
    """Compares what responses report with what was measured. Several slow answers ask for a new measurement; each one
    that changes nothing doubles the pause before the next, since the machine is simply busy. Several fast answers say
    that the choice was made on a busy machine: worth a measurement too, but not the prompt cache that it costs now."""

    def __init__(self, choice: Choice) -> None:
        self.choice = choice
        self._last = Counters()
        self._slow = 0
        self._fast = 0
        self._pause_s = _FIRST_PAUSE_S
        self._not_before = 0.0

    def feed(self, counters: Counters) -> bool:
        """Take in the engine's totals; true when they have grown."""
        last, self._last = self._last, counters
        prompt, generated = (
            counters.prompt_tokens - last.prompt_tokens,
            counters.generated_tokens - last.generated_tokens,
        )
        ratios: list[float] = []
        if prompt >= _MIN_PROMPT and counters.prompt_s > last.prompt_s:
            ratios.append(prompt / (counters.prompt_s - last.prompt_s) / self.choice.speed.prompt)
        if generated >= _MIN_GENERATED and counters.generation_s > last.generation_s:
            ratios.append(generated / (counters.generation_s - last.generation_s) / self.choice.speed.generation)
        if ratios:
            self._slow = self._slow + 1 if min(ratios) < _SLOW else 0
            self._fast = self._fast + 1 if max(ratios) > _FAST else 0
        return counters != last

    def wants_measuring(self, now: float) -> bool:
        """`now` is monotonic time."""
        return self._slow >= _ANSWERS and now >= self._not_before

    @property
    def outgrown(self) -> bool:
        """Whether the next start should measure again."""
        return self._fast >= _ANSWERS

    def measured(self, choice: Choice, now: float) -> None:
        """A new measurement was made: `choice` is what holds from now on."""
        changed = choice.threads != self.choice.threads
        self._pause_s = _FIRST_PAUSE_S if changed else self._pause_s * 2
        self._not_before = now + self._pause_s
        self.choice = choice
        self._slow = self._fast = 0
        self._last = Counters()


def recall(file: Path, model: str, cores: int, now: float | None = None) -> Choice | None:
    """The choice that is remembered for `model` on a machine with as many cores, unless it is old."""
    choice = _load(file).get(model)
    moment = time.time() if now is None else now
    if choice is None or choice.cores != cores or not 0 <= moment - choice.at < FRESH_S:
        return None
    return choice


def remember(file: Path, model: str, choice: Choice) -> None:
    """Keep `choice` for the next start. Raises `OSError`."""
    known = {**_load(file), model: choice}
    fresh = file.with_name(f"{file.name}.new")
    fresh.write_bytes(msgspec.json.encode(known))
    fresh.replace(file)


def _load(file: Path) -> dict[str, Choice]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, Choice])
    except (OSError, msgspec.MsgspecError):
        return {}  # never measured, or by another version
