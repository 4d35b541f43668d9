"""Keep a plan that the person sees too."""

from typing import Annotated

from msgspec import Meta, Struct

from tcoder.protocol.display import PlanBlock
from tcoder.protocol.plan import PlanStep, StepState
from tcoder.tools.base import Reply, Tool, ToolContext, Touches


class Step(Struct, frozen=True, forbid_unknown_fields=True):
    text: str
    state: StepState = "open"


class PlanArgs(Struct, frozen=True, forbid_unknown_fields=True):
    steps: Annotated[tuple[Step, ...], Meta(description="the whole plan, in order")]


class Plan(Tool[PlanArgs]):
    name = "plan"
    kind = "other"
    Args = PlanArgs

    def title(self, args: PlanArgs) -> str:
        done = sum(step.state == "done" for step in args.steps)
        return f"{done}/{len(args.steps)}"

    def touches(self, args: PlanArgs) -> Touches:
        return Touches()

    async def run(self, args: PlanArgs, context: ToolContext) -> Reply:
        steps = tuple(PlanStep(step.text, step.state) for step in args.steps)
        context.set_plan(steps)
        return Reply("noted", (PlanBlock(steps),))
