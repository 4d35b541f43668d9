"""Turns the command line into `Options`.

One flat set of flags that may stand before or after a command; argparse checks and explains them.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NoReturn

from tcoder import __version__
from tcoder.app.options import COMMANDS, Options
from tcoder.app.printing import complain, say_json
from tcoder.protocol.errors import UsageError

USAGE = """tcoder [PATH]                     the interface in the repository around PATH
       tcoder --task TEXT                do one task without an interface (-p TEXT, `tcoder run TEXT`, - = stdin)
       tcoder COMMAND ..."""

HELP = """commands (tcoder COMMAND --help tells more of one):
  locate TEXT              files and symbols that a task concerns, ranked
  index                    build or refresh the index, with figures
  apply [FILE|-]           apply a patch in any supported edit format, atomically
  diff                     what the agent changed
  review                   the same by hunk; --accept ID…, --reject ID…, --accept --all
  commit                   commit what was accepted, or --all (-m TEXT)
  timeline, undo, redo     the ledger of patches and checkpoints (undo ID, redo ID)
  sessions                 list | show ID | export ID | rm ID…
  policy check -- COMMAND  what the permission policy says of a command, and why
  models                   list | pull ID | test ID | stop (local engines that idle)
  config                   show | path
  doctor                   what works on this machine
  web [PORT]               the interface in a browser of this machine
  reset                    give a terminal back that a killed tcoder has left behind

exit codes: 0 done, 1 bug, 2 usage, 3 checks still fail, 4 denied, 5 budget spent, 6 model unusable,
  7 no progress, 75 try again later, 78 no model configured, 130 and 143 interrupted"""

HELP_FLAGS = ("-h", "--help")
TASK_FLAGS = ("--task", "-p", "--print", "--prompt")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, "see tcoder --help")


def parse(argv: Sequence[str]) -> Options | int:
    """The options, or an exit code when there is nothing left to do (--help, --version, wrong usage)."""
    try:
        return _parse(argv)
    except UsageError as error:
        return report_usage(error, as_json=any(word in ("--json", "--output-format=json") for word in argv))
    except SystemExit as done:  # argparse printed the help
        return int(done.code or 0)


def report_usage(error: UsageError, *, as_json: bool) -> int:
    """Tell a usage error the way the caller reads: JSON on stdout, or a sentence on stderr."""
    if as_json:
        say_json({"error": {"kind": error.kind, "message": error.message, "hint": error.hint}})
    else:
        complain(error)
    return 2


def _parse(argv: Sequence[str]) -> Options:
    words, task = _take_task(list(argv))
    words, verbatim = _split_verbatim(words)
    parser = _build_parser()
    if task is None and (told := _help_of_command(parser, words)):
        sys.stdout.write(told)
        raise SystemExit(0)
    known, positional = parser.parse_known_intermixed_args(words)
    unknown = [word for word in positional if word.startswith("-") and word != "-"]
    if unknown:
        raise UsageError(f"unknown flag {unknown[0]}", _meant_flag(parser, unknown[0]) or "see tcoder --help")
    given: dict[str, Any] = vars(known)
    del given["_task"]
    rest: list[str] = [*given.pop("words"), *verbatim]
    return _options(given, rest, task)


def _help_of_command(parser: argparse.ArgumentParser, words: list[str]) -> str:
    """The help of one command, where that is asked for: `COMMAND --help`, flags in any place, or `help COMMAND`."""
    asked = [word for word in words if word not in HELP_FLAGS]
    if words[:1] == ["help"] and len(asked) <= 2:
        if not asked[1:]:
            return parser.format_help()
        return _page(asked[1]) if asked[1] in COMMANDS else ""
    if len(asked) == len(words):
        return ""
    try:
        first = parser.parse_known_intermixed_args(asked)[0].words[:1]
    except UsageError:
        return ""
    return _page(first[0]) if first and first[0] in COMMANDS else ""


def _page(command: str) -> str:
    from tcoder.app.command_help import page  # late: only who asks needs it

    return page(command)


def _meant_flag(parser: argparse.ArgumentParser, word: str) -> str:
    from tcoder.app.command_help import likely  # late: only a mistake needs it

    meant = likely(word.partition("=")[0], re.findall(r"--[a-z][a-z-]+", parser.format_help()))
    return f"did you mean {meant}?" if meant else ""


def _take_task(words: list[str]) -> tuple[list[str], str | None]:
    """Take `--task TEXT` out, so that TEXT may begin with a dash."""
    task: str | None = None
    left: list[str] = []
    position = 0
    while position < len(words):
        word = words[position]
        flag, equals, value = word.partition("=")
        if word == "--":
            left += words[position:]
            break
        if flag in TASK_FLAGS and equals:
            task = value
        elif word in TASK_FLAGS:
            if position + 1 == len(words):
                raise UsageError(f"{word} needs a text", "or - to read it from stdin")
            position += 1
            task = words[position]
        else:
            left.append(word)
        position += 1
    return left, task


def _split_verbatim(words: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in words:
        return words, []
    cut = words.index("--")
    return words[:cut], words[cut + 1 :]


def _options(given: dict[str, Any], rest: list[str], task: str | None) -> Options:
    command = rest[0] if rest and rest[0] in COMMANDS and task is None else ""
    arguments = rest[1:] if command else rest
    if command in ("commit", "review") and given["model"]:
        given["message"], given["model"] = given["model"], ""  # -m is the message there, as in git
    path = given.pop("directory") or "."
    as_json = given.pop("json")
    if as_json and given["output_format"] == "text":
        given["output_format"] = "json"
    if command == "run":
        if not arguments:
            raise UsageError("tcoder run needs a text", "or - to read it from stdin")
        command, task, arguments = "", " ".join(arguments), []
    elif not command and arguments:
        _refuse_mistyped(arguments)
        path, arguments = arguments[0], []
    for verdict in ("accept", "reject"):
        given[verdict] = None if given[verdict] is None else tuple(given[verdict])
    given["add_dirs"] = tuple(given["add_dirs"] or ())
    given["allowed_tools"] = tuple(
        name for names in given["allowed_tools"] or () for name in names.replace(",", " ").split()
    )
    return Options(command=command, task=task, path=path, arguments=tuple(arguments), **given)


def _refuse_mistyped(words: list[str]) -> None:
    """Raise `UsageError` for what is neither a command nor the path of a folder."""
    if len(words) == 1 and Path(words[0]).expanduser().exists():
        return
    from tcoder.app.command_help import likely  # late: only a mistake needs it

    meant = likely(words[0], COMMANDS)
    hint = f"did you mean `tcoder {meant}`?" if meant else "quote a task: tcoder --task '…'"
    if meant or len(words) > 1 or " " in words[0]:
        raise UsageError(f"unknown command {words[0]!r}", hint)


def _money(text: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount of US dollars") from error
    if not amount.is_finite() or amount < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return amount


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds") from error
    if not 0 < seconds < 10**9:
        raise argparse.ArgumentTypeError("must be positive")
    return seconds


def _build_parser() -> _Parser:
    parser = _Parser(
        prog="tcoder",
        usage=USAGE,
        epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("-V", "--version", action="version", version=f"tcoder {__version__}")

    run = parser.add_argument_group("the task")
    run.add_argument(
        "--task",
        "-p",
        metavar="TEXT",
        dest="_task",
        help="do TEXT without an interface; - = read it from stdin, which nothing else does",
    )
    run.add_argument("--plain", action="store_true", help="line mode")
    run.add_argument("-C", "--cd", "--workdir", dest="directory", metavar="DIR", help="work in DIR")
    run.add_argument("--test-cmd", default="", metavar="CMD", help="how the result is proven")
    run.add_argument("--no-tests", action="store_true", help="do not run tests")
    run.add_argument("--log", default="", metavar="FILE", help="the log of a failed CI run; - = stdin")
    run.add_argument("--patch-out", default="", metavar="FILE", help="write the patch there")
    run.add_argument("--summary-out", default="", metavar="FILE", help="write a Markdown summary there")

    model = parser.add_argument_group("the model")
    model.add_argument("-m", "--model", default="", metavar="ID", help="provider/model, or an alias")
    model.add_argument("--base-url", default="", metavar="URL", help="an endpoint of your own")
    model.add_argument("--api", choices=("openai-chat", "openai-responses", "anthropic"), help="its dialect")
    model.add_argument("--variant", choices=("fast", "standard", "auto"))
    model.add_argument("--effort", choices=("none", "low", "medium", "high", "xhigh", "max"))
    model.add_argument("--strategy", choices=("auto", "agent", "guided"), help="tool calls, or tcoder drives")

    rights = parser.add_argument_group("who decides, and boundaries")
    rights.add_argument("--approval", choices=("ask", "edits", "auto", "plan"), help="plan = read only")
    rights.add_argument("--yolo", "--dangerously-skip-permissions", action="store_true", help="auto, without asking")
    rights.add_argument("--sandbox", choices=("on", "off"))
    rights.add_argument("--network", choices=("on", "off", "allowlist"))
    rights.add_argument("--add-dir", dest="add_dirs", action="append", metavar="DIR", help="writable as well")
    rights.add_argument("--trust", action="store_true", help="trust this folder's settings and plugins")
    rights.add_argument("--allowed-tools", "--allowedTools", action="append", metavar="NAMES")
    rights.add_argument("--append-system-prompt", default="", metavar="FILE")

    limits = parser.add_argument_group("budgets")
    limits.add_argument("--budget", choices=("small", "medium", "long"), help="the size of the task: sets all of these")
    limits.add_argument("--max-turns", type=_positive, metavar="N", help="model responses")
    limits.add_argument("--max-cost", "--max-budget-usd", "--max-price", type=_money, metavar="USD")
    limits.add_argument("--max-tokens", type=_positive, metavar="N")
    limits.add_argument("--max-time", type=_seconds, metavar="S")

    sessions = parser.add_argument_group("sessions")
    sessions.add_argument("-c", "--continue", dest="resume_last", action="store_true", help="the last session")
    sessions.add_argument("-r", "--resume", nargs="?", const="", metavar="ID", help="a stored session")
    sessions.add_argument("--fork", action="store_true", help="go on in a copy")
    sessions.add_argument("--session-id", default="", metavar="ID")
    sessions.add_argument("--no-session", action="store_true", help="keep nothing")

    output = parser.add_argument_group("output")
    output.add_argument("--output-format", choices=("text", "json", "stream-json"), default="text")
    output.add_argument("--json", action="store_true", help="same as --output-format json")
    output.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    output.add_argument("-q", "--quiet", action="store_true")
    output.add_argument("-v", "--verbose", action="store_true")
    output.add_argument("--debug", default="", metavar="FILE", help="write a debug log, keys redacted")
    output.add_argument("--config", dest="config_file", default="", metavar="FILE", help="your settings file")
    output.add_argument("--profile", default="", metavar="NAME")

    single = parser.add_argument_group("of single commands")
    single.add_argument("--limit", type=_positive, default=10, metavar="N", help="locate: how many")
    single.add_argument("--why", action="store_true", help="locate: with reasons")
    single.add_argument("--check", action="store_true", help="apply: only see whether it applies")
    single.add_argument("--rebuild", action="store_true", help="index: from nothing")
    single.add_argument("--accept", nargs="*", metavar="ID", help="review: these hunks are right")
    single.add_argument("--reject", nargs="*", metavar="ID", help="review: take these hunks out of the files")
    single.add_argument("--all", action="store_true", help="review: every open hunk; commit: all the agent changed")
    single.add_argument("--message", default="", metavar="TEXT", help="commit, review reject: -m, too")
    single.add_argument("--no-hooks", action="store_true", help="commit: run no hooks or filters of the repository")
    single.add_argument("--needle", action="store_true", help="models test: recall by depth")
    return parser
