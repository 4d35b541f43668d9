"""The plan of a task, as the model and the person see it."""

from typing import Literal

from msgspec import Struct

StepState = Literal["open", "active", "done", "failed", "dropped"]


class PlanStep(Struct, frozen=True):
    """One step; `check` is a command that proves it, or empty."""

    text: str
    state: StepState = "open"
    check: str = ""
