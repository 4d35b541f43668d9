"""`tcoder policy check -- COMMAND`: what the permission policy says of a command, and why."""

import shlex

from tcoder.app.options import Options
from tcoder.app.parts import rules_of
from tcoder.app.place import find_place
from tcoder.app.printing import say, say_json
from tcoder.protocol.errors import UsageError
from tcoder.protocol.outcome import ExitCode
from tcoder.tools.policy import judge as policy


async def run(options: Options) -> int:
    """Exit code 0 = allowed, 4 = asked or denied."""
    what, *words = options.arguments or ("",)
    if what != "check" or not words:
        raise UsageError("tcoder policy check needs a command", "tcoder policy check -- pytest -q")
    place = find_place(options)
    settings = place.settings
    facts = policy.PolicyFacts(
        sandboxed=settings.sandbox == "on",
        network=settings.network == "on",
        trusted=place.trusted,
        root=str(place.root),
        cwd=str(place.root),
    )
    call = policy.PolicyCall("shell", "shell", command=words[0] if len(words) == 1 else shlex.join(words))
    verdict = policy.judge(call, settings.approval or "ask", rules_of(settings), facts)
    if options.json:
        body = {
            "verdict": verdict.decision,
            "reason": verdict.reason,
            "rule": verdict.rule,
            "parts": verdict.parts,
        }
        say_json(body)
    else:
        say(f"{verdict.decision}: {verdict.reason}\n")
        if verdict.rule:
            say(f"  rule: {verdict.rule}\n")
        for part in verdict.parts:
            say(f"  {part.decision:6} {policy.visible(part.text)}  ({part.reason})\n")
    return 0 if verdict.decision == "allow" else int(ExitCode.DENIED)
