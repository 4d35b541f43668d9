"""The parts of a session, each opened from the settings: model, shell, tests, prompt, budget, rules."""

import os
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from tcoder.agent import context
from tcoder.agent.budget import TIERS, unpriced
from tcoder.app import credentials, variants
from tcoder.app.instructions import RULE_FILES, read_instructions
from tcoder.app.options import Options
from tcoder.app.place import Place
from tcoder.config import Settings
from tcoder.models.switchboard import Switchboard
from tcoder.protocol.budget import Budget, Usage
from tcoder.protocol.checks import CheckCommand
from tcoder.protocol.errors import SandboxError, UsageError
from tcoder.protocol.handles import Model
from tcoder.protocol.messages import ToolSpec
from tcoder.protocol.permissions import Rule
from tcoder.protocol.variant import ModelVariant, VariantName
from tcoder.resources import prompt
from tcoder.tools.outputs import ends_of
from tcoder.tools.policy import rules
from tcoder.tools.policy.command_verdicts import READING_TOOLS
from tcoder.workspace import checks
from tcoder.workspace.shell.shell import Shell

N = TypeVar("N", int, float, Decimal)

HEADING = 400


def open_model(place: Place, on_note: Callable[[str], None] | None = None) -> Model:
    """A model object over all providers; each is opened at its first request. `on_note` hears what is being waited
    for while an embedded engine starts."""
    keys = place.config.folders.config / credentials.FILE
    settings = place.settings

    def open_one(variant: ModelVariant) -> Model:
        if variant == variants.NOBODY:
            raise variants.NO_MODEL
        if variant.provider == "local":
            from tcoder.models.local.local import LocalModel  # late: only the embedded engine needs it

            local = settings.local
            return LocalModel(threads=local.threads, idle_s=local.idle_s, context=local.context, on_note=on_note)
        if variant.provider == "scripted":
            from tcoder.models.scripted import open_script  # late: only demos and tests need it

            return open_script(variant.model)
        from tcoder.models.client import open_model as open_client  # late: httpx is not needed before

        own = variants.own_url(settings, os.environ, variant)
        return open_client(variant, credentials.key_for(variant, os.environ, keys, own_url=own))

    return Switchboard(open_one)


class Opened(Struct, frozen=True):
    """A shell and what contains it: `mode` is "bubblewrap", "reduced" (Landlock or macOS's profile, which do not hold
    enough), or empty = nothing. `wary` = the sandbox was wanted and does not hold; `notice` says so."""

    shell: Shell
    mode: str = ""
    wary: bool = False
    notice: str = ""
    writable: tuple[Path, ...] = ()


def open_shell(place: Place, spill: Path, *, interactive: bool) -> Opened:
    """The session's shell. Where the sandbox does not hold and no person switched it off, an interactive session gets
    the reduced one and has to ask about every command; without a person this raises `SandboxError`."""
    settings = place.settings
    writable = tuple(Path(folder).expanduser().resolve() for folder in settings.add_dirs)
    shown = ends_of(budget_of(settings).tool_output) - HEADING  # the tool tells how a command ended, too
    shell = partial(Shell, place.root, spill_dir=spill, output_budget=shown)
    if settings.sandbox == "off":
        return Opened(shell(sandbox=None), writable=writable)
    from tcoder.workspace.sandbox import reduced, sandbox  # late: not needed when it is switched off

    folders = place.config.folders
    report = sandbox.probe(cache=folders.cache / "sandbox.json")
    if report.holds:
        box = sandbox.Sandbox(
            place.root,
            writable=writable,
            network=settings.network == "on",
            allowed_hosts=settings.allow_hosts if settings.network == "allowlist" else (),
            hidden=(folders.config, folders.state, folders.data, *_denied(place)),
            overlay=report.overlay,
        )
        return Opened(shell(sandbox=box), report.mode, writable=writable)
    why = f"the sandbox does not hold here: {report.detail}"
    if not interactive:
        raise SandboxError(why, report.fix or "use --sandbox off")
    mode = reduced.available()
    notice = f"{why}. Every command is asked about"
    if mode is None:
        return Opened(
            shell(sandbox=None),
            "",
            True,
            f"{notice}. {report.fix}",
            writable,
        )
    less = reduced.Reduced(place.root, mode, writable=writable, network=settings.network == "on")
    notice = f"{notice}, and runs with reduced containment: {reduced.SAID[mode]}. {report.fix}"
    return Opened(shell(sandbox=less), "reduced", True, notice, writable)


def _denied(place: Place) -> tuple[Path, ...]:
    """What rules deny to read, where they name a file or a folder: commands do not even see it."""
    found: list[Path] = []
    for rule in rules_of(place.settings):
        name = rule.match.removesuffix("/*")
        if rule.decision == "deny" and rule.tool in READING_TOOLS and name and not set(name) & set("*?["):
            found.append(place.root / name)
    return tuple(path for path in found if path.exists())


def find_checks(place: Place, options: Options) -> CheckCommand | None:
    """How the project is tested: said by a person, or found from its own files."""
    if options.no_tests:
        return None
    found = checks.find(place.root, override=place.settings.checks.test)
    return next((command for command in found if command.kind == "test"), None)


def frame(
    place: Place,
    options: Options,
    tests: CheckCommand | None,
    tools: tuple[ToolSpec, ...],
    session_id: str,
    outline: str = "",
) -> context.Frame:
    """The frozen head of every prompt, its rules as they are on the disk now."""
    facts = f"Tests: `{tests.command}`" if tests else ""
    project_rules, _ = read_instructions(place.root, RULE_FILES)
    texts = [project_rules] if project_rules else []
    if options.append_system_prompt:
        texts.append(_read_prompt(Path(options.append_system_prompt)))
    instructions = prompt("system/agent").replace("$root", str(place.root))
    return context.frame(instructions, facts, "\n\n".join(texts), tools, session_id, outline)


def _read_prompt(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error


def budget_of(settings: Settings) -> Budget:
    """The tier's limits, replaced one by one by what the person set; 0 = no limit."""
    limits = settings.budget
    tier = TIERS[limits.tier]
    return Budget(
        max_turns=_limit(limits.max_turns, tier.max_turns),
        max_cost=_limit(limits.max_cost, tier.max_cost),
        max_tokens=_limit(limits.max_tokens, tier.max_tokens),
        max_time_s=_limit(limits.max_time_s, tier.max_time_s),
        max_context=_limit(limits.max_context, tier.max_context),
        compact_at=limits.compact_at or tier.compact_at,
        tool_output=limits.tool_output or tier.tool_output,
        outline=tier.outline if limits.outline is None else limits.outline,
        cost_asked=bool(limits.max_cost),
    )


def refuse_unkept(settings: Settings, chosen: Mapping[VariantName, ModelVariant]) -> None:
    """Raise `UsageError` for a limit in money that a person set and that a model's unknown price leaves without
    meaning: what is paid would end nowhere near it."""
    budget = budget_of(settings)
    used = [one for name, one in chosen.items() if name == "standard" or settings.variant != "standard"]
    for variant in used if budget.cost_asked else ():
        if why := unpriced(budget, variant, Usage()):
            hint = "limit it by --max-tokens, --max-turns or --max-time; --max-cost 0 begins without a limit in money"
            raise UsageError(why, hint)


def _limit(own: N | None, tier: N | None) -> N | None:
    return tier if own is None else own or None


def rules_of(settings: Settings) -> tuple[Rule, ...]:
    """The permission rules of the settings, each held to its own examples. Raises `UsageError`."""
    made: list[Rule] = []
    for source, written in (("settings", settings.rules), ("project", settings.project_rules)):
        for number, rule in enumerate(written, 1):
            one = Rule(rule.decision, rule.tool, rule.match, rule.matches, rule.misses, source)
            rules.check(one, f"{source}, rule {number}")
            made.append(one)
    return tuple(made)
