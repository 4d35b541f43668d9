"""The profile of macOS's sandbox. Written from its documentation and never run: treat it as untested."""

from collections.abc import Sequence
from pathlib import Path

from tcoder.workspace.sandbox.paths import (
    CACHES,
    PROTECTED_FILES,
    PROTECTED_FOLDERS,
    PROTECTED_WHEN_PRESENT,
    SECRETS,
)

TESTED = False
PROGRAM = "/usr/bin/sandbox-exec"


def profile(root: Path, *, home: Path, temporary: Path, writable: Sequence[Path] = (), network: bool = False) -> str:
    """A profile that allows reading all but the secrets of `home`, writing below `root`, `writable`, `temporary` and
    the tool caches, and without `network` only unix sockets of `temporary`. In Apple's language the last rule that
    matches wins, so what is protected comes last. Caches cannot be laid over here: commands write the real ones."""
    folders = [root, *writable, temporary]
    rules = [
        "(version 1)",
        "(deny default)",
        "(allow process-exec process-fork)",
        "(allow signal (target same-sandbox))",
        "(allow process-info* (target same-sandbox))",
        "(allow sysctl-read)",
        '(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))',
        "(allow ipc-posix-sem ipc-posix-shm)",
        "(allow pseudo-tty)",
        "(allow file-read*)",
        '(allow file-ioctl (regex #"^/dev/tty") (literal "/dev/ptmx"))',
        '(allow file-write* (literal "/dev/null") (literal "/dev/zero") (regex #"^/dev/tty"))',
        *(f"(allow file-write* (subpath {_text(folder)}))" for folder in folders),
        *(f"(allow file-write* (subpath {_text(home / name)}))" for name in CACHES),
        *(f"(deny file-read* file-write* (subpath {_text(home / name)}))" for name in SECRETS),
    ]
    if network:
        rules.append("(allow network*)")
    else:
        rules.append(f"(allow network* (subpath {_text(temporary)}))")
    for folder in (root, *writable):
        names = (*PROTECTED_FOLDERS, *PROTECTED_FILES, *PROTECTED_WHEN_PRESENT)
        rules += [f"(deny file-write* (subpath {_text(folder / name)}))" for name in names]
        rules.append(f"(deny file-write* (regex #{_regex(folder)}))")
        rules.append(f"(deny file-write-unlink (literal {_text(folder)}))")
    return "\n".join(rules) + "\n"


def command(argv: Sequence[str], text: str) -> list[str]:
    """The command line that runs `argv` under a profile."""
    return [PROGRAM, "-p", text, *argv]


def _text(path: Path) -> str:
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _regex(folder: Path) -> str:
    """Matches `.git` and `.tcoder` at any depth below the folder."""
    special = "".join(f"\\{character}" if character in "\\.^$*+?()[]{}|" else character for character in str(folder))
    return '"^{}/(.*/)?\\.(git|tcoder)(/|$)"'.format(special.replace('"', '\\"'))
