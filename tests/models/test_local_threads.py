"""Choosing, remembering and doubting thread counts: pure functions of measurements."""

from pathlib import Path

import pytest

from tcoder.models.local.engine_threads import (
    FRESH_S,
    Choice,
    Counters,
    Speed,
    Threads,
    Watch,
    choose,
    counts_to_try,
    pairs_to_try,
    recall,
    remember,
)


@pytest.mark.parametrize(
    ("cores", "counts"),
    [(1, (1,)), (2, (1, 2)), (3, (1, 3)), (4, (1, 2, 3, 4)), (8, (1, 4, 7, 8)), (64, (1, 32, 63, 64))],
)
def test_counts_span_one_to_all(cores: int, counts: tuple[int, ...]) -> None:
    assert counts_to_try(cores) == counts


@pytest.mark.parametrize("cores", [1, 2, 3, 4, 16])
def test_pairs_try_each_count_once_for_each_use(cores: int) -> None:
    pairs = pairs_to_try(cores)
    assert (
        sorted(pair.generation for pair in pairs) == sorted(pair.prompt for pair in pairs) == list(counts_to_try(cores))
    )
    assert pairs[-1].prompt == cores, "the last one is the likeliest to stay loaded"


@pytest.mark.parametrize(
    ("one", "two", "threads"),
    [
        # (prompt, generation) with one thread, with two: quiet, busy, hardly better
        ((15, 6), (31, 9.7), Threads(2, 2)),
        ((50, 11), (40, 2), Threads(1, 1)),
        ((80, 28), (146, 27), Threads(1, 2)),
        ((80, 28), (85, 30), Threads(1, 1)),
    ],
)
def test_more_threads_must_be_worth_it(one: tuple[float, float], two: tuple[float, float], threads: Threads) -> None:
    measured = {Threads(2, 1): Speed(one[0], two[1]), Threads(1, 2): Speed(two[0], one[1])}
    choice = choose(measured, 2, 100.0)
    assert choice.threads == threads
    assert choice.speed.prompt == (two[0] if threads.prompt == 2 else one[0])
    assert choice.speed.generation == (two[1] if threads.generation == 2 else one[1])
    assert (choice.cores, choice.at) == (2, 100.0)


CHOICE = Choice(Threads(2, 2), Speed(prompt=100, generation=20), at=1000, cores=2)


def answer(
    before: Counters, *, prompt: tuple[float, float] = (0, 1), generated: tuple[float, float] = (0, 1)
) -> Counters:
    """The totals after one more answer of (tokens, tokens per second)."""
    return Counters(
        before.prompt_tokens + prompt[0],
        before.prompt_s + prompt[0] / prompt[1],
        before.generated_tokens + generated[0],
        before.generation_s + generated[0] / generated[1],
    )


def after(watch: Watch, answers: list[dict[str, tuple[float, float]]]) -> Watch:
    counters = Counters()
    for values in answers:
        counters = answer(counters, **values)
        watch.feed(counters)
        watch.feed(counters)  # a tick without news
    return watch


SLOW = {"generated": (50.0, 9.0)}
GOOD = {"generated": (50.0, 19.0)}


@pytest.mark.parametrize(
    ("answers", "wants"),
    [
        ([SLOW] * 2, False),
        ([SLOW] * 3, True),
        ([SLOW, SLOW, GOOD, SLOW], False),
        ([{"prompt": (500.0, 40.0)}] * 3, True),
        ([{"prompt": (20.0, 10.0)}] * 5, False),  # too short to say anything
        ([{"generated": (3.0, 1.0)}] * 5, False),
        ([{"prompt": (500.0, 90.0), **SLOW}] * 3, True),
        ([GOOD] * 9, False),
    ],
)
def test_slow_answers_ask_for_a_measurement(answers: list[dict[str, tuple[float, float]]], wants: bool) -> None:
    assert after(Watch(CHOICE), answers).wants_measuring(10.0) is wants


def test_each_measurement_that_changes_nothing_doubles_the_pause() -> None:
    watch = after(Watch(CHOICE), [SLOW] * 3)
    watch.measured(CHOICE, now=1000)
    after(watch, [SLOW] * 3)
    assert not watch.wants_measuring(1239)
    assert watch.wants_measuring(1240)
    watch.measured(Choice(Threads(1, 1), CHOICE.speed, 0, 2), now=2000)
    after(watch, [SLOW] * 3)
    assert not watch.wants_measuring(2119)
    assert watch.wants_measuring(2120)


def test_fast_answers_make_the_next_start_measure() -> None:
    assert not after(Watch(CHOICE), [{"generated": (50.0, 33.0)}] * 2).outgrown
    assert after(Watch(CHOICE), [{"generated": (50.0, 33.0)}] * 3).outgrown
    assert not after(Watch(CHOICE), [{"generated": (50.0, 30.0)}] * 3).outgrown


def test_feed_says_whether_there_was_an_answer() -> None:
    watch = Watch(CHOICE)
    assert watch.feed(Counters(5, 1, 5, 1))
    assert not watch.feed(Counters(5, 1, 5, 1))


def test_remembered_choices_are_for_this_model_these_cores_and_a_while(tmp_path: Path) -> None:
    file = tmp_path / "threads.json"
    remember(file, "a", CHOICE)
    remember(file, "b", Choice(Threads(1, 1), CHOICE.speed, 2000, 2))
    assert recall(file, "a", 2, now=1001) == CHOICE
    assert recall(file, "c", 2, now=1001) is None
    assert recall(file, "a", 4, now=1001) is None
    assert recall(file, "a", 2, now=1000 + FRESH_S) is None
    assert recall(file, "a", 2, now=999) is None, "a clock that went back"
    file.write_text("{")
    assert recall(file, "a", 2, now=1001) is None
