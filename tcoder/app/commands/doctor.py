"""`tcoder doctor`: what works on this machine, and how to mend what does not."""

import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from tcoder.app.options import Options
from tcoder.app.place import Place, find_place
from tcoder.app.printing import say, say_json
from tcoder.app.variants import choose
from tcoder.models.local.folders import local_folders
from tcoder.models.local.running import running, told
from tcoder.models.local.weights import list_weights
from tcoder.protocol.errors import TcoderError


class Check(Struct, frozen=True):
    name: str
    ok: bool
    detail: str
    fix: str = ""


async def run(options: Options) -> int:
    """Exit code 0 when everything that a run needs works, else 1."""
    place = find_place(options)
    checks = examine(place)
    ok = all(check.ok for check in checks)
    if options.json:
        say_json({"ok": ok, "checks": checks})
        return 0 if ok else 1
    for check in checks:
        say(f"{'✓' if check.ok else '✗'} {check.name:9} {check.detail}\n")
        if not check.ok and check.fix:
            say(f"  {'':9} {check.fix}\n")
    return 0 if ok else 1


def examine(place: Place) -> list[Check]:
    """Everything that a run needs, in the order in which it needs it."""
    parts: tuple[Callable[[Place], Check], ...] = (
        _git,
        _sandbox,
        _limits,
        _search,
        _terminal,
        _model,
        _weights,
        _engine,
        _folders,
    )
    return [check(place) for check in parts]


def _git(place: Place) -> Check:
    program = shutil.which("git")
    if not program:
        return Check("git", False, "not installed", "install git 2.30 or newer")
    done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10, check=False)
    where = "a repository" if (place.root / ".git").exists() else "no repository; the ledger keeps a store of its own"
    return Check("git", done.returncode == 0, f"{done.stdout.strip()}; {place.root} is {where}")


def _sandbox(place: Place) -> Check:
    from tcoder.workspace.sandbox import reduced, sandbox, seccomp  # late: other commands do without

    if place.settings.sandbox == "off":
        return Check("sandbox", True, "switched off in your settings: every command asks, or runs with your rights")
    report = sandbox.probe(cache=place.config.folders.cache / "sandbox.json")
    if report.holds:
        known = seccomp.filter_file(platform.machine()).is_file()
        calls = "system calls are filtered" if known else f"no filter of system calls for {platform.machine()}"
        return Check(
            "sandbox", True, f"{report.mode} holds (a trial run could not break out): {report.detail}; {calls}"
        )
    mode = reduced.available()
    less = f"reduced containment ({reduced.SAID[mode]})" if mode else "nothing that contains them"
    detail = (
        f"does not hold: {report.detail}. Without a person a run ends with code 4; with one, every command is asked"
    )
    return Check("sandbox", False, f"{detail} about and has {less}", report.fix)


def _limits(_place: Place) -> Check:
    """What bounds processes and memory of commands; never wrong, since the shell watches both by itself as well."""
    from tcoder.workspace.shell import group, limits  # late: other commands do without

    made = group.open_group(f"tcoder-shell-{os.getpid()}-0-doctor", 10, 1 << 30)
    bounds = made.bounds if made else frozenset[str]()
    if made is not None:
        made.remove()
    of = limits.Limits()
    by = {name: "control group" if name in bounds else "ulimit and a watch" for name in ("pids", "memory")}
    return Check(
        "limits",
        True,
        f"{of.processes} processes ({by['pids']}), {of.memory_bytes >> 20} MiB of memory ({by['memory']}), "
        f"{of.file_bytes >> 30} GiB a file (ulimit), {of.disk_bytes >> 30} GiB of the disk a command (a watch)",
    )


def _search(_place: Place) -> Check:
    from tcoder.index.searching import ripgrep  # late: other commands do without

    try:
        return Check("search", True, ripgrep())
    except TcoderError as error:
        return Check("search", False, error.message, error.hint)


def _terminal(_place: Place) -> Check:
    term = os.environ.get("TERM", "")
    colour = os.environ.get("COLORTERM", "")
    detail = f"TERM={term or 'not set'}{f', {colour}' if colour else ''}"
    if os.environ.get("TMUX"):
        detail += "; in tmux: set -s extended-keys on; set -s extended-keys-format csi-u; set -s set-clipboard on"
    return Check("terminal", True, detail + ("; line mode will be used" if term in ("", "dumb") else ""))


def _model(place: Place) -> Check:
    try:
        chosen = choose(place.settings, os.environ)
    except TcoderError as error:
        return Check("model", False, error.message, error.hint)
    names = ", ".join(f"{name}: {variant.id}" for name, variant in chosen.items())
    return Check("model", True, names)


def _weights(_place: Place) -> Check:
    here = [status.id for status in list_weights() if status.present]
    return Check(
        "weights", True, ", ".join(here) or "no local model is here; `tcoder models list` shows what can be had"
    )


def _engine(_place: Place) -> Check:
    engines = running(local_folders(os.environ).runtime)
    return Check("engine", True, "; ".join(map(told, engines)) or "no local engine runs")


def _folders(place: Place) -> Check:
    folders = place.config.folders
    blocked = [str(path) for path in (folders.state, folders.cache) if not _writable(path)]
    if blocked:
        return Check("folders", False, f"cannot write {', '.join(blocked)}", "set TCODER_HOME to a folder of your own")
    return Check("folders", True, f"state in {folders.state}")


def _writable(path: Path) -> bool:
    there = next(folder for folder in (path, *path.parents) if folder.exists())
    return os.access(there, os.W_OK)
