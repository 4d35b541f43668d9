"""Which paths of a home folder hold secrets, which hold caches, and what is protected in a workspace."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from tcoder.workspace.sandbox.nested import look

SECRETS = (
    ".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker", ".netrc", "_netrc", ".git-credentials", ".pypirc",
    ".config/gh", ".config/hub", ".config/glab-cli", ".config/git/credentials", ".config/gcloud", ".config/op",
    ".config/doctl", ".config/helm", ".config/rclone", ".config/containers/auth.json", ".config/sops", ".config/age",
    ".config/tcoder", ".local/share/tcoder", ".local/state/tcoder", ".cache/tcoder", ".local/share/keyrings",
    ".local/share/kwalletd", ".password-store", ".vault-token", ".terraform.d/credentials.tfrc.json", ".terraformrc",
    ".cargo/credentials", ".cargo/credentials.toml", ".m2/settings.xml", ".m2/settings-security.xml",
    ".gradle/gradle.properties", ".gem/credentials", ".bundle/config", ".composer/auth.json",
    ".config/composer/auth.json",
    ".nuget/NuGet/NuGet.Config", ".pgpass", ".my.cnf", ".mylogin.cnf", ".boto", ".s3cfg", ".dropbox", ".1password",
    ".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware",
    ".config/Signal", ".config/Slack", ".claude", ".claude.json", ".codex", ".gemini", ".config/github-copilot",
    ".config/goose", ".config/opencode", ".local/share/opencode", ".aider.conf.yml", ".env", ".envrc",
    ".bash_history", ".zsh_history", ".history", ".local/share/fish", ".python_history", ".node_repl_history",
    ".psql_history", ".mysql_history", ".sqlite_history", ".lesshst", ".viminfo", ".wget-hsts", ".Xauthority",
    ".ICEauthority", ".fetchmailrc", ".msmtprc", ".config/msmtp", ".irssi", ".mcp-auth",
)  # fmt: skip
FILTERED = (
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".config/pip/pip.conf",
    ".pip/pip.conf",
    ".condarc",
    ".config/uv/uv.toml",
)
CACHES = (
    ".cache", ".npm", ".node-gyp", ".yarn", ".pnpm-store", ".local/share/pnpm", ".bun", ".deno", ".cargo", "go", ".m2",
    ".gradle", ".ivy2", ".sbt", ".nuget", ".dotnet", ".composer", ".pub-cache", ".cabal", ".stack", ".hex", ".mix",
    ".local/share/virtualenv", ".conda", ".matplotlib", ".ipython", ".jupyter",
)  # fmt: skip
_MADE_WHEN_MISSING = (".cache", ".npm")
CACHE_VARIABLES = (
    "XDG_CACHE_HOME", "CARGO_HOME", "GOPATH", "GOMODCACHE", "GOCACHE", "GRADLE_USER_HOME", "PIP_CACHE_DIR",
    "UV_CACHE_DIR", "npm_config_cache", "NUGET_PACKAGES", "DENO_DIR", "BUN_INSTALL",
)  # fmt: skip

_LISTENS, _MOST_SOCKETS = 0x10000, 200

PROTECTED_FOLDERS = (".git", ".tcoder", ".vscode", ".idea")
PROTECTED_FILES = (".envrc", ".mcp.json", ".gitmodules")
PROTECTED_WHEN_PRESENT = (
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
    ".inputrc", ".gitconfig", ".ripgreprc", ".cursor", ".claude", ".codex", ".agents", ".husky", ".direnv",
)  # fmt: skip
_SECRET_LINE = re.compile(r"auth|token|password|passwd|secret|credential|_key|-key|username", re.I)
_USER_INFO = re.compile(r"(://)[^/\s@]+@")


def without_secrets(text: str) -> str:
    """A tool's settings without the lines that name credentials and without user names and passwords in addresses."""
    lines = (line for line in text.splitlines() if not _SECRET_LINE.search(line.split("://", 1)[0]))
    return _USER_INFO.sub(r"\1", "".join(f"{line}\n" for line in lines))


def cache_folders(home: Path, environment: Mapping[str, str]) -> list[Path]:
    """Folders that tools write to as a cache and that exist, outermost first."""
    named = [Path(environment[name]) for name in CACHE_VARIABLES if environment.get(name, "").startswith("/")]
    found = [path for path in (*(home / name for name in CACHES), *named) if path.is_dir() and not path.is_symlink()]
    outer: list[Path] = []
    for path in sorted(set(found), key=lambda path: len(path.parts)):
        if not any(path.is_relative_to(above) for above in outer) and path != home and not home.is_relative_to(path):
            outer.append(path)
    return outer


def missing_caches(home: Path) -> list[Path]:
    """Caches that tools expect to be able to make."""
    return [home / name for name in _MADE_WHEN_MISSING if not os.path.lexists(home / name)]


def listening_sockets(table: Path = Path("/proc/net/unix")) -> list[Path]:
    """Unix sockets with a name in the file system at which somebody listens now: a file system that is read-only stops
    nobody from talking to them."""
    try:
        lines = table.read_text(encoding="utf-8", errors="surrogateescape").splitlines()[1:]
    except OSError:
        return []
    found: dict[Path, None] = {}
    for line in lines:
        parts = line.split(None, 7)
        if len(parts) == 8 and int(parts[3], 16) & _LISTENS and parts[7].startswith("/"):
            found[Path(parts[7])] = None
    return list(found)[:_MOST_SOCKETS]


class Guarded(Struct, frozen=True):
    """What commands must not write below a root: paths that are there (real ones, links resolved, never the root
    itself), those that are `missing` and must not come into being, and files that are `linked` to somewhere outside.
    `note` says what was not looked at."""

    present: tuple[Path, ...]
    missing: tuple[Path, ...]
    linked: tuple[Path, ...] = ()
    note: str = ""


def guarded(root: Path) -> Guarded:
    """The protected names of a root, nested repositories, and files that are linked to outside of the root, as far as
    a bounded look finds them."""
    present: list[Path] = []
    missing: list[Path] = []
    for name in (*PROTECTED_FOLDERS, *PROTECTED_FILES, *PROTECTED_WHEN_PRESENT):
        path = root / name
        if os.path.lexists(path) and not _is_empty_folder(path):
            present += _real(path)
        elif name not in PROTECTED_WHEN_PRESENT:
            missing.append(path)
    found = look(root)
    # of a repository everything decides what git runs: `commondir` of a work tree names another one's settings
    for path in (*found.kept, *found.bare):
        present += _real(path)
    for entry in (root / ".git", *(path for path in found.kept if path.name == ".git")):
        present += [path for path in _linked_git_dir(entry) or () if path.exists()]
    return Guarded(tuple(present), tuple(missing), found.linked, found.note)


def _is_empty_folder(path: Path) -> bool:
    """Such as the stand-in that another session made for the same missing path."""
    return path.is_dir() and not path.is_symlink() and not os.listdir(path)


def _real(path: Path) -> list[Path]:
    target = path.resolve()
    return [target] if target.exists() else []


def _linked_git_dir(entry: Path) -> tuple[Path, ...] | None:
    """Where the `.git` file of a linked work tree or submodule points to, with the common folder."""
    if not entry.is_file():
        return None
    try:
        text = entry.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    if not text.startswith("gitdir:"):
        return None
    git_dir = (entry.parent / text.removeprefix("gitdir:").strip()).resolve()
    try:
        common = (git_dir / (git_dir / "commondir").read_text(encoding="utf-8").strip()).resolve()
    except OSError:
        return (git_dir,)
    return (git_dir, common)
