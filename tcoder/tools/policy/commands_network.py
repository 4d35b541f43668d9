"""Commands that install or fetch, so that they need a network. Pure."""

from tcoder.tools.policy.commands_read import SimpleCommand

# Program → subcommands that reach out; an empty set = every call does.
_REACHING: dict[str, frozenset[str]] = {
    "pip": frozenset({"install", "download", "wheel"}),
    "pip3": frozenset({"install", "download", "wheel"}),
    "pipx": frozenset({"install", "upgrade", "run"}),
    "uv": frozenset({"add", "sync", "lock", "pip", "tool"}),
    "poetry": frozenset({"install", "add", "update", "lock"}),
    "pdm": frozenset({"install", "add", "update", "sync", "lock"}),
    "conda": frozenset({"install", "create", "update"}),
    "npm": frozenset({"install", "i", "ci", "add", "update", "audit"}),
    "pnpm": frozenset({"install", "i", "add", "update"}),
    "yarn": frozenset({"install", "add", "upgrade"}),
    "bun": frozenset({"install", "add", "update"}),
    "cargo": frozenset({"add", "install", "fetch", "update"}),
    "go": frozenset({"get", "install"}),
    "gem": frozenset({"install", "update"}),
    "bundle": frozenset({"install", "update"}),
    "composer": frozenset({"install", "require", "update"}),
    "git": frozenset({"clone", "fetch", "pull", "ls-remote"}),
    "curl": frozenset(),
    "wget": frozenset(),
}
_OFFLINE = frozenset({"--offline", "--no-index", "--dry-run", "--prefer-offline"})


def reaches_out(command: SimpleCommand) -> bool:
    """Whether a command installs or fetches something, by its plain words."""
    words = command.words
    if command.program.startswith("python") and words[1:3] == ("-m", "pip"):
        words = words[2:]
    program = words[0].rpartition("/")[2] if words else ""
    if program not in _REACHING or _OFFLINE & set(words):
        return False
    first = next((word for word in words[1:] if not word.startswith("-")), "")
    return not _REACHING[program] or first in _REACHING[program]
