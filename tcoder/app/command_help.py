"""The help of each command: how it is called, what it takes, two examples. Pure text; `--help` alone tells the rest."""

from collections.abc import Sequence
from difflib import get_close_matches

from msgspec import Struct

LIKE = 0.7
"""From which likeness (0 to 1) a word counts as a mistyped one."""
SESSION = ("-r, --resume ID", "of that session instead of the last one")
JSON = ("--json", "one JSON object on stdout")


class CommandHelp(Struct, frozen=True):
    usage: str
    does: str
    takes: tuple[tuple[str, str], ...]
    examples: tuple[tuple[str, str], ...]


PAGES = {
    "run": CommandHelp(
        "run TEXT…",
        "Does one task without an interface: the same as --task TEXT.",
        (
            ("TEXT", "the task; - reads it from stdin, which is not read otherwise"),
            ("-m, --model ID", "which model, as provider/model"),
            ("--approval auto|edits|ask|plan", "who decides; plan only reads"),
            ("--test-cmd CMD", "how the result is proven"),
            ("--max-cost USD", "and --max-turns, --max-tokens, --max-time: limits"),
            ("--json", "the result as one JSON object; --output-format stream-json tells events"),
        ),
        (("run 'make the failing tests pass'", ""), ("run - --json <task.txt", "a long task, for a script")),
    ),
    "locate": CommandHelp(
        "locate TEXT",
        "Ranks the files and symbols that a task, an issue, a trace or a log concerns. No model is asked.",
        (("--limit N", "how many, 10 at first"), ("--why", "with reasons"), JSON),
        (("locate 'where are file sizes formatted'", ""), ('locate "$(cat trace.txt)" --why', "from a stack trace")),
    ),
    "index": CommandHelp(
        "index",
        "Builds or refreshes the index of this repository and says what is in it.",
        (("--rebuild", "from nothing"), JSON),
        (("index", ""), ("index --rebuild --json", "")),
    ),
    "apply": CommandHelp(
        "apply [FILE|-]",
        "Applies a patch in any supported edit format, as a whole or not at all. `tcoder undo` takes it back.",
        (("FILE", "the patch; - or nothing reads stdin"), ("--check", "only see whether it applies"), JSON),
        (("apply fix.diff", ""), ("apply --check - <answer.txt", "an answer copied from a chat")),
    ),
    "diff": CommandHelp(
        "diff",
        "Prints what has changed since the last session began, as a patch.",
        (SESSION, JSON),
        (("diff", ""), ("diff >session.patch", "")),
    ),
    "review": CommandHelp(
        "review [--accept ID…] [--reject ID…]",
        "Shows what has changed hunk by hunk, each with its ID; accepts, or takes out of the files again.",
        (
            ("--accept ID…", "these are right"),
            ("--reject ID…", "take these back; -m REASON tells the model why"),
            ("--all", "with --accept or --reject: every hunk that is still open"),
            ("open ID…, split ID", "decide again; cut a hunk in two"),
            SESSION,
            JSON,
        ),
        (("review", ""), ("review --reject 3f2a --accept --all", "all but one")),
    ),
    "commit": CommandHelp(
        "commit [--all] [-m TEXT]",
        "Commits the accepted hunks and nothing else; what you staged stays staged.",
        (
            ("--all", "accept all that the agent changed first"),
            ("-m TEXT", "the message; without it one is drafted from the task"),
            ("--no-hooks", "run no hooks or filters of the repository"),
            SESSION,
            JSON,
        ),
        (("commit --all -m 'Add, do not subtract'", ""), ("commit", "what `tcoder review --accept` took")),
    ),
    "timeline": CommandHelp(
        "timeline",
        "Lists the patches and checkpoints of the last session, oldest first.",
        (SESSION, JSON),
        (("timeline", ""), ("timeline -r 20260131-1200 --json", "")),
    ),
    "undo": CommandHelp(
        "undo [ID]",
        "Takes one patch back, the last one or any other, whatever came after it.",
        (("ID", "as `tcoder timeline` names it"), SESSION, JSON),
        (("undo", ""), ("undo p2", "")),
    ),
    "redo": CommandHelp(
        "redo [ID]",
        "Applies a patch again that was undone.",
        (("ID", "as `tcoder timeline` names it"), SESSION, JSON),
        (("redo", ""), ("redo p2", "")),
    ),
    "sessions": CommandHelp(
        "sessions [list | show ID | export ID | rm ID…]",
        "Lists, shows, exports or removes the stored sessions of this repository.",
        (("ID", "or its beginning; show and export take the last session without one, rm never"), JSON),
        (("sessions", ""), ("sessions export 20260131-1200 >session.md", "")),
    ),
    "policy": CommandHelp(
        "policy check -- COMMAND",
        "Says whether the permission policy allows, asks about or denies a command, and why. It is not run.",
        (("--approval MODE", "as with this flag in a run"), JSON),
        (("policy check -- pytest -q", ""), ("policy check --json -- 'rm -rf build'", "")),
    ),
    "models": CommandHelp(
        "models [list | pull ID | test [ID] | stop]",
        "Lists models, fetches one that runs here without a key, tries one out, ends local engines that idle.",
        (("--needle", "test: how well it finds things in a long prompt"), JSON),
        (("models pull local/qwen2.5-coder-1.5b", ""), ("models test openai/gpt-5-mini", "")),
    ),
    "config": CommandHelp(
        "config [show | path]",
        "Shows the effective settings, each with where it comes from, or where the files are.",
        (("--profile NAME", "with that profile"), JSON),
        (("config", ""), ("config path", "")),
    ),
    "doctor": CommandHelp(
        "doctor",
        "Says what works on this machine: git, sandbox, terminal, model, index; and how to mend what does not.",
        (JSON,),
        (("doctor", ""), ("doctor --json", "exit code 1 when something that a run needs is missing")),
    ),
    "web": CommandHelp(
        "web [PORT]",
        "Serves the interface to a browser on this machine.",
        (("PORT", "a free one without it"),),
        (("web", ""), ("web 9000", "")),
    ),
    "reset": CommandHelp(
        "reset",
        "Gives a terminal back that a killed tcoder has left behind.",
        (("-q, --quiet", "say nothing"),),
        (("reset", ""), ("reset -q", "")),
    ),
}


def page(command: str) -> str:
    """The help of a command, as it is printed."""
    of = PAGES[command]
    width = max(len(name) for name, _ in of.takes) + 2
    lines = [f"usage: tcoder {of.usage}", "", of.does, ""]
    lines += [f"  {name:{width}}{meaning}" for name, meaning in of.takes]
    lines += ["", "examples:"]
    lines += [f"  tcoder {line}" + (f"   # {note}" if note else "") for line, note in of.examples]
    return "\n".join([*lines, "", "Flags of every command (-C DIR, --config FILE, …): tcoder --help", ""])


def likely(word: str, known: Sequence[str]) -> str:
    """The known word that was probably meant, empty when none is like it."""
    return next(iter(get_close_matches(word.lower(), known, n=1, cutoff=LIKE)), "")
