"""The operating-system sandbox of commands, and whether it holds on this machine.

A command sees the machine read-only, writes the workspace, a private /tmp and throw-away layers over the tool caches,
has no network unless a person allowed it, and none of the user's secrets. There is no silent fallback: `probe` says
what holds, and why not.
"""

import contextlib
import copy
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from tcoder.protocol.errors import SandboxError
from tcoder.workspace.sandbox import landlock as sandbox_landlock
from tcoder.workspace.sandbox import seccomp
from tcoder.workspace.sandbox.binary import Bubblewrap, find_bubblewrap
from tcoder.workspace.sandbox.bubblewrap import Overlay, View, arguments
from tcoder.workspace.sandbox.environment import command_environment, programs_in_emptied_folders
from tcoder.workspace.sandbox.private import PrivateFolder

Mode = Literal["bubblewrap", "landlock", "seatbelt", "none"]
VERDICT_VALID_S = 3600.0
_PROBE_TIMEOUT_S = 20


class SandboxReport(Struct, frozen=True):
    """Whether commands can be contained here. `mode` names what would contain them, `holds` whether a run proved it;
    `detail` says what was seen, `fix` what a person can do. `overlay` is how tool caches become writable."""

    mode: Mode
    holds: bool
    detail: str
    fix: str = ""
    overlay: Overlay = "none"


class Launch(Struct, frozen=True):
    """A contained command line, ready to start: inherit `descriptors` and call `close` once it runs. `protected` are
    paths that it cannot write, `notes` what a person should know about them."""

    argv: list[str]
    environment: dict[str, str]
    descriptors: tuple[int, ...] = ()
    protected: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()

    def close(self) -> None:
        """Close this side of the descriptors."""
        for descriptor in self.descriptors:
            with contextlib.suppress(OSError):
                os.close(descriptor)


class Sandbox:
    """How commands of one workspace are contained.

    `writable` are further folders that a person named, `readable` and `hidden` exceptions to what is seen of home.
    Without `network`, `allowed_hosts` (exact names, maybe with a port) are reached through a proxy of the shell's.
    Raises `SandboxError` where no bubblewrap is to be found; whether it holds is for `probe` to say.
    """

    def __init__(
        self,
        root: Path,
        *,
        writable: tuple[Path, ...] = (),
        network: bool = False,
        allowed_hosts: tuple[str, ...] = (),
        readable: tuple[Path, ...] = (),
        hidden: tuple[Path, ...] = (),
        home: Path | None = None,
        overlay: Overlay | None = None,
        binary: Bubblewrap | None = None,
    ) -> None:
        found = binary or find_bubblewrap()
        if found is None:
            raise SandboxError("bubblewrap is not to be found", _FIX)
        self._binary = found
        self.root = Path(os.path.realpath(root))
        self.network = network
        self.allowed_hosts = () if network else allowed_hosts
        self._view = View(
            root=self.root,
            writable=writable,
            readable=(*readable, *programs_in_emptied_folders(os.environ.get("PATH", ""))),
            hidden=hidden,
            home=Path(os.path.realpath(home or Path.home())),
            network=network,
            overlay=probe().overlay if overlay is None else overlay,
        )

    def with_network(self) -> "Sandbox":
        """The same with the network: for what a person said may have it."""
        other = copy.copy(self)
        other.network, other.allowed_hosts = True, ()
        other._view = msgspec.structs.replace(self._view, network=True)
        return other

    def launch(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str],
        private: PrivateFolder,
        own_terminal: bool,
        readable: tuple[Path, ...] = (),
        outlives: bool = False,
    ) -> Launch:
        """The command line that runs `argv` in the workspace. `environment` must be scrubbed already.

        With `own_terminal` the process gets a pty of its own as its controlling terminal, in a session that the pty's
        maker began, so bubblewrap makes no second one: it would lose the terminal. Without it a new session is made.
        What `outlives` us has to be ended by somebody else.
        """
        view = msgspec.structs.replace(self._view, readable=(*self._view.readable, *readable))
        options = arguments(view, private, environment, new_session=not own_terminal, outlives=outlives)
        filter_descriptor = seccomp.open_filter()
        descriptors = () if filter_descriptor is None else (filter_descriptor,)
        filtered = [] if filter_descriptor is None else ["--add-seccomp-fd", str(filter_descriptor)]
        line = [str(self._binary.path), *options.words, *filtered, "--chdir", str(self.root), "--", *argv]
        return Launch(line, dict(environment), descriptors, options.protected, options.notes)


_FIX = "install bubblewrap 0.8 or newer, or switch the sandbox off with --sandbox off"
_NAMESPACES_FIX = (
    "allow unprivileged user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu, "
    "--security-opt seccomp=unconfined in a container), or switch the sandbox off with --sandbox off"
)
_CHECK = r"""
grep -Eq '^CapEff:[[:space:]]*0+$' /proc/self/status || { echo 'capabilities were kept'; exit 1; }
if ( : >"$1/outside" ) 2>/dev/null; then echo 'a write outside the workspace went through'; exit 1; fi
if ( : >/proc/sys/kernel/core_pattern ) 2>/dev/null; then echo '/proc is writable'; exit 1; fi
if [ "$(grep -c : /proc/net/dev)" -gt 1 ]; then echo 'the network is there'; exit 1; fi
: >"$2/inside" || exit 1
"""


def probe(*, cache: Path | None = None, fresh: bool = False) -> SandboxReport:
    """Whether the sandbox holds: runs it once and tries to break out. The verdict is kept for an hour in `cache` (a
    file; default in the user's cache folder), for this boot, user and binary, so that a start costs a file read."""
    if sys.platform != "linux":
        return SandboxReport("none", False, f"no tested sandbox for {sys.platform}", "use --sandbox off")
    binary = find_bubblewrap()
    if binary is None:
        return _less("bubblewrap is not to be found", _FIX)
    file = cache or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tcoder" / "sandbox.json"
    key = f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {os.geteuid()} {binary.identity}"
    if not fresh and (kept := _kept(file, key) or _seen.get(key)) is not None:
        return kept
    report = _try_out(binary)
    if report.holds:
        _seen[key] = report
    with contextlib.suppress(OSError):  # without a cache folder the next start asks again
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        words = {"key": key, "at": time.time(), "mode": report.mode, "holds": report.holds, "detail": report.detail}
        partial = file.with_name(f"{file.name}.{os.getpid()}")
        partial.write_text(json.dumps(words | {"fix": report.fix, "overlay": report.overlay}), encoding="utf-8")
        partial.replace(file)
    return report


_seen: dict[str, SandboxReport] = {}  # what held in this process already, for callers with another cache


def _kept(file: Path, key: str) -> SandboxReport | None:
    try:
        words = json.loads(file.read_text(encoding="utf-8"))
        if words["key"] != key or not 0 <= time.time() - words["at"] < VERDICT_VALID_S or not words["holds"]:
            return None
        return SandboxReport(words["mode"], True, words["detail"], words["fix"], words["overlay"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _try_out(binary: Bubblewrap) -> SandboxReport:
    complaint = ""
    for overlay in ("disk", "memory", "none") if binary.overlays else ("none",):
        complaint = _run_check(binary, overlay)
        if not complaint:
            caches = {"disk": "layers on disk", "memory": "layers in memory", "none": "read-only"}[overlay]
            return SandboxReport(
                "bubblewrap", True, f"{binary.path}; no capabilities, no network; tool caches: {caches}", "", overlay
            )
    fix = _NAMESPACES_FIX if "namespace" in complaint or "uid map" in complaint or "RTM_NEWADDR" in complaint else _FIX
    return _less(complaint, fix)


def _less(complaint: str, fix: str) -> SandboxReport:
    """What is left where bubblewrap does not hold; nothing of it is used unless a person says so."""
    version = sandbox_landlock.abi()
    if version == 0:
        return SandboxReport("none", False, complaint, fix)
    detail = f"{complaint}; reduced containment by Landlock (version {version}) would be there: writes only"
    return SandboxReport("landlock", False, detail, fix)


def _run_check(binary: Bubblewrap, overlay: Overlay) -> str:
    """What is wrong, empty when the sandbox holds with this kind of overlay."""
    private = PrivateFolder()
    try:
        home, root, outside = private.folder("home"), private.folder("work"), private.folder("elsewhere")
        (home / ".cache").mkdir()
        box = Sandbox(root, home=home, overlay=overlay, binary=binary)
        check = ["/bin/bash", "-c", _CHECK, "bash", str(outside), str(root)]
        launch = box.launch(check, environment=command_environment({}), private=private, own_terminal=False)
        try:
            done = subprocess.run(
                launch.argv, env=launch.environment, pass_fds=launch.descriptors, stdin=subprocess.DEVNULL,
                capture_output=True, timeout=_PROBE_TIMEOUT_S, check=False, text=True, errors="replace",
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError) as error:
            return str(error)
        finally:
            launch.close()
        said = (done.stdout + done.stderr).strip().splitlines()
        if done.returncode != 0 or not (root / "inside").exists():
            return said[0] if said else f"the trial run ended with {done.returncode}"
        return "a write outside the workspace went through" if (outside / "outside").exists() else ""
    finally:
        private.close()
