"""Tests, linters and type checkers as values."""

from typing import Literal

from msgspec import Struct

TestOutcome = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed"]
CheckPhase = Literal["baseline", "attempt", "final"]


class Frame(Struct, frozen=True):
    """A stack frame inside the repository; `line` is 1-based, `path` relative to the root."""

    path: str
    line: int
    function: str = ""
    source: str = ""


class TestResult(Struct, frozen=True):
    """One test. `message` is the assertion or error in one or a few lines; frames go from the test inwards."""

    id: str
    outcome: TestOutcome
    duration_s: float = 0.0
    message: str = ""
    expected: str = ""
    actual: str = ""
    frames: tuple[Frame, ...] = ()
    path: str = ""


class SeenCall(Struct, frozen=True):
    """One call of a function while a test ran, with its arguments and result as text, cut short. `line` is where the
    function begins, decorators included; a result of `raises X` says that X left the function."""

    path: str
    line: int
    function: str
    arguments: str
    result: str


class TestTrace(Struct, frozen=True):
    """What one test ran: lines by path, 1-based; the first calls of each function, in the order in which they began.
    An empty id stands for what ran while the tests were imported."""

    id: str
    lines: dict[str, tuple[int, ...]]
    calls: tuple[SeenCall, ...] = ()


class CheckCommand(Struct, frozen=True):
    """How something is checked. `runner` names the parser (`pytest`, `unittest`, `jest`, …), `why` the evidence;
    `given` = a person said so."""

    command: str
    runner: str
    kind: Literal["test", "lint", "types"] = "test"
    cwd: str = ""
    why: str = ""
    given: bool = False


class CheckReport(Struct, frozen=True):
    """What one run said. `problem` is why it says nothing (not collected, crashed, timed out, unreadable), else empty.
    `output` is the tail of what was printed, within a budget. `flaky` are tests that failed and then passed, or the
    other way round, with nothing changed in between. `warnings` are the first that the runner gave, each once;
    `coverage` is in percent, None when it was not measured."""

    command: str
    runner: str
    exit_code: int | None
    duration_s: float
    tests: tuple[TestResult, ...] = ()
    problem: str = ""
    output: str = ""
    partial: bool = False
    flaky: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    coverage: float | None = None

    def count(self, *outcomes: TestOutcome) -> int:
        return sum(test.outcome in outcomes for test in self.tests)

    @property
    def passed(self) -> int:
        return self.count("passed", "xfailed")

    @property
    def failing(self) -> tuple[TestResult, ...]:
        return tuple(test for test in self.tests if test.outcome in ("failed", "error"))

    @property
    def ok(self) -> bool:
        """True when something ran and nothing failed."""
        return not self.problem and self.exit_code == 0 and not self.failing
