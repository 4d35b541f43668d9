"""Calls for attention when a turn that took long has ended, so that nobody has to watch it."""

from tcoder.plugins.api import PluginApi
from tcoder.protocol.events import Recorded, TurnFinished

LONG_S = 20.0

VERDICTS = {True: "verified", False: "tests fail", None: "not verified"}


def register(api: PluginApi) -> None:
    """Listen for the end of turns."""

    def turn_finished(_recorded: Recorded, event: TurnFinished) -> None:
        outcome = event.outcome
        if outcome.duration_s.total >= LONG_S and outcome.status != "interrupted":
            took = f"{outcome.duration_s.total:.0f} s"
            api.notify(f"{outcome.status.replace('_', ' ')} after {took}, {VERDICTS[outcome.verified]}")

    api.on(TurnFinished, turn_finished)
