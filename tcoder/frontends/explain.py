"""Reports as text for people: why a variant, what fills the context, which rules, what it cost. Pure."""

from collections.abc import Sequence

from msgspec.structs import replace

from tcoder.frontends.actions import ACTIONS, Action
from tcoder.frontends.figures import cost, duration, plural, tokens
from tcoder.frontends.keymap import Keymap, show
from tcoder.frontends.sanitise import clean, clean_line
from tcoder.frontends.view import View
from tcoder.protocol.queries import (
    ContextReport,
    RuleList,
    StatusReport,
    ToolList,
    UserCommand,
    VariantReport,
    VariantStats,
)

FEWEST = 3
"""A figure from fewer samples is a dash."""


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows as aligned text, cells made harmless."""
    cells = [[clean_line(cell, 200) for cell in row] for row in rows]
    widths = [
        max((len(row[at]) for row in cells if at < len(row)), default=0)
        for at in range(max(map(len, cells), default=0))
    ]
    return "\n".join("  ".join(f"{cell:{widths[at]}}" for at, cell in enumerate(row)).rstrip() for row in cells)


def variant(report: VariantReport) -> str:
    """The stop with its reason, the rules with the one that spoke marked, the figures of both stops."""
    how = "automatic" if report.auto else "chosen by you"
    lines = [f"{report.name}, {how}" + (f": {clean_line(report.reason)}" if report.reason else "")]
    lines += [f"{'▸' if at == report.rule else ' '} {clean_line(rule)}" for at, rule in enumerate(report.rules)]
    if report.stats:
        head = ("", "model", "calls", "first token", "speed", "$ per turn", "attempts")
        lines += ["", columns([head, *(_stats(of) for of in report.stats)])]
        if ratio := _ratio(report.stats):
            lines.append(ratio)
    if report.switch_tokens is not None:
        price = f", about {cost(report.switch_cost)}" if report.switch_cost is not None else ""
        keeps = report.switch_tokens == 0
        lines += [
            "",
            "switching keeps the cache"
            if keeps
            else f"switching re-reads {tokens(report.switch_tokens)} tokens{price}",
        ]
    return "\n".join(lines)


def _ratio(stats: Sequence[VariantStats]) -> str:
    """How much faster the fast stop writes, once both have been measured."""
    speeds = {of.name: of.tokens_per_s for of in stats}
    fast, standard = speeds.get("fast"), speeds.get("standard")
    return f"fast writes {fast / standard:.1f}× as fast as standard" if fast and standard else ""


def _stats(of: VariantStats) -> tuple[str, ...]:
    return (
        of.name,
        of.model,
        str(of.calls),
        "–" if of.first_token_s is None else duration(of.first_token_s),
        "–" if of.tokens_per_s is None else f"{of.tokens_per_s:.0f} tok/s",
        cost(of.cost_per_turn),
        f"{of.solved} of {of.attempts} solved" if of.attempts >= FEWEST else "–",
    )


def context(report: ContextReport) -> str:
    """The layers with their tokens and what was cached of them, the breakpoint between stable and moving ones."""
    about = "~" if report.estimated else ""
    rows: list[tuple[str, ...]] = [("layer", "tokens", "cached", "note")]
    broken = False
    for layer in report.layers:
        if not layer.stable and not broken and len(rows) > 1:
            rows.append(("─── cache breakpoint ───",))
            broken = True
        cached = "–" if layer.cached is None else f"{layer.cached * 100:.0f}%"
        note = "; ".join(part for part in (layer.note, f"biggest: {layer.largest}" if layer.largest else "") if part)
        rows.append((layer.name, about + tokens(layer.tokens), cached, note))
    free = max(0, report.window - report.used)
    limit = f"compaction at {tokens(report.compact_at)}" if report.compact_at else ""
    rows.append(("free", about + tokens(free), "", limit))
    text = columns(rows)
    return text + (f"\nlast cache break: {clean_line(report.last_break)}" if report.last_break else "")


def rules(found: RuleList) -> str:
    return columns([(of.decision, of.tool, of.match, f"({of.source})") for of in found.rules]) or "no rules"


def tools(found: ToolList) -> str:
    return columns([(of.name, of.description.split("\n")[0][:100]) for of in found.tools]) or "no tools"


def status(report: StatusReport) -> str:
    return columns(report.rows)


ABSENT = {
    "agents.show": "there are no helping agents: one agent works at a time, and another tcoder is another process",
    "mcp.show": "tool servers (MCP) are not available; plugins add tools, /tools shows those that are there",
    "web.show": "`tcoder web` shows the interface in a browser, on this machine only",
    "context.drop": "single results cannot be dropped; /compact makes the conversation shorter, /rewind goes back",
}
"""What is asked for where other agents have it, and what there is instead."""


def user_commands(found: Sequence[UserCommand]) -> str:
    """Commands from files, with where each comes from."""
    rows = [(f"/{of.name}", of.description, of.source) for of in found]
    return (
        columns(rows)
        + "\nA file NAME.md in .tcoder/commands or in your own settings' commands is /NAME; $ARGUMENTS is what follows."
    )


def bug(view: View, version: str, doctor: StatusReport | None, notices: Sequence[str]) -> str:
    """What a bug report needs; nothing of the conversation, no file of the project."""
    lines = ["# tcoder bug report", "", "What happened, and what did you expect?", "", "", "## Session", ""]
    facts = replace(view, workspace="(left out)", title="")
    lines += ["```", f"tcoder {clean_line(version)}", session(facts), "```"]
    if doctor is not None:
        lines += ["", "## Machine", "", "```", status(doctor), "```"]
    lines += ["", "## Warnings and errors", "", "```", *(clean(text) for text in notices), "```", ""]
    return "\n".join(lines)


def spending(view: View) -> str:
    """Tokens and money of the session so far."""
    usage = view.usage
    return columns(
        [
            ("input", tokens(usage.prompt)),
            ("  from the cache", tokens(usage.cache_read)),
            ("  written to the cache", tokens(usage.cache_write)),
            ("output", tokens(usage.output)),
            ("  reasoning", tokens(usage.reasoning)),
            ("model calls", str(usage.calls)),
            ("cost", cost(view.cost) if usage.calls else "$0.000"),
        ]
    )


def session(view: View) -> str:
    """What a session is and where it stands, for when the session itself has no report."""
    return columns(
        [
            ("session", view.session_id),
            ("folder", view.workspace),
            ("model", f"{view.model}" + (f", effort {view.effort}" if view.effort else "")),
            ("variant", f"{view.stop}{' (auto)' if view.auto else ''}"),
            ("approval", view.approval),
            ("sandbox", view.sandbox),
            ("turns", str(view.turn)),
            (
                "changes",
                f"{plural(len(view.patches), 'patch', 'patches')}, {plural(len(view.checkpoints), 'checkpoint')}",
            ),
            ("context", f"{tokens(view.context)} of {tokens(view.window)}"),
        ]
    )


def help_text(actions: Sequence[Action], keys: Keymap | None) -> str:
    """The slash commands with their keys."""
    rows = [
        (f"/{action.slash} {action.usage}".strip(), keys.shown(action.id) if keys else "", action.title)
        for action in actions
        if action.slash
    ]
    intro = "Type a task and press Enter. @ names files, ! runs a shell command, // sends a literal slash.\n\n"
    return intro + columns(rows)


def key_table(keys: Keymap) -> list[tuple[str, str, str]]:
    """`(keys, title, action id)` of every action that has a key, in the order of the table."""
    bound = [(", ".join(map(show, keys.keys(action.id))), action.title, action.id) for action in ACTIONS]
    return [row for row in bound if row[0]]
