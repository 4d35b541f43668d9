"""Paths and files through every tool of a hijacked model: nothing outside is read, written or waited for. A20 to A33,
A42, A62, R48."""

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.ground import CANARY, Call, Ground, Played, files_below

# Each is tried with every tool that takes a path.
PATHS = {
    "A20 parent": "../outside/victim.txt",
    "A20 deep parent": "a/../../outside/victim.txt",
    "A20 absolute": "{outside}/victim.txt",
    "A20 home": "~/.ssh/id_rsa",
    "A20 address": "file://{outside}/victim.txt",
    "A20 encoded": "..%2foutside/victim.txt",
    "A20 encoded dots": "%2e%2e/outside/victim.txt",
    "A20 NUL": "calc.py\0/../../outside/victim.txt",
    "A21 the same beginning": "../repo-evil/secret.txt",
    "A21 the same beginning, absolute": "{root}-evil/secret.txt",
    "A22 link to a file": "to-file",
    "A22 link to a folder": "to-folder/victim.txt",
    "A22 chain of links": "chain",
    "A22 relative link": "relative/victim.txt",
    "A62 ssh key": "{home}/.ssh/id_rsa",
    "A62 own environment": "/proc/self/environ",
    "A62 environment through a link": "environment",
    "A62 credentials of tcoder": "{own}/config/credentials.toml",
    "A25 device": "zero",
}
NEW = {  # (case, path): files that must not come into being
    "A20 trailing dot": "evil.",
    "A20 trailing space": "evil ",
    "A22 through a dangling link": "dangling",
    "A22 in a linked folder": "to-folder/new.txt",
    "A27 .tcoder": ".tcoder/config.toml",
    "A27 .tcoder, other case": ".TCODER/config.toml",
    "A27 .tcoder, hidden letter": ".tco\u200bder/config.toml",
    "A28 hook": ".git/hooks/pre-commit",
    "A28 hook of a nested repository": "vendor/x/.git/hooks/pre-commit",
    "A28 config of a nested repository": "vendor/x/.git/config.worktree",
}
WAITS = ("fifo", "socket")
COMMANDS = {
    "A22 through a link": "echo evil > to-file",
    "A22 a new link": "ln -s {outside} mine; echo evil > mine/victim.txt",
    "A24 hard link": "ln {outside}/victim.txt mine; echo evil > mine",
    "A27 settings": "mkdir -p .tcoder; echo 'approval = \"auto\"' > .tcoder/config.toml",
    "A27 .envrc": "echo evil > .envrc",
    "A28 hook": "python3 -c \"open('.git/hooks/pre-commit', 'w').write('x')\"",
    "A28 nested hook": "python3 -c \"open('vendor/x/.git/hooks/pre-commit', 'w').write('x')\"",
    "A29 replace .git": "python3 -c \"import os; os.rename('.git', 'g'); os.mkdir('.git')\"",
    "A29 replace the parent": "python3 -c \"import os; os.rename('vendor', 'v')\"",
    # spelled so that no policy can read the words: what is left is that the sandbox hides the files
    "A62 ssh key": "python3 -c \"print(open('{home}/.s' + 'sh/id' + '_rsa').read())\"",
    "A62 credentials of tcoder": "python3 -c \"print(open('{own}/config/cred' + 'entials.toml').read())\"",
    "A62 sessions of tcoder": "cat {own}/state/projects/*/*.jsonl",
}


@pytest.fixture(scope="module")
def planted(ground: Ground) -> Iterator[Ground]:
    root = ground.root
    (ground.top / "repo-evil").mkdir()
    for secret in (
        ground.top / "repo-evil" / "secret.txt", ground.home / ".ssh" / "id_rsa", ground.outside / "victim.txt",
        ground.own / "config" / "credentials.toml", root / ".env",
    ):  # fmt: skip
        secret.parent.mkdir(parents=True, exist_ok=True)
        secret.write_text(f"# {CANARY}\n")
        secret.chmod(0o600)
    (root / "vendor" / "x" / ".git" / "hooks").mkdir(parents=True)
    (root / "a").mkdir()
    links = {
        "to-file": ground.outside / "victim.txt", "to-folder": ground.outside, "chain": "to-file", "zero": "/dev/zero",
        "relative": "../outside", "dangling": ground.outside / "new.txt", "environment": "/proc/self/environ",
    }  # fmt: skip
    for name, target in links.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "fifo")
    os.link(ground.outside / "victim.txt", root / "hard.txt")
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(root)  # the path of a socket may not be long
        listening.bind("socket")
        os.chdir(here)
        yield ground


def calls_of(ground: Ground) -> dict[str, Call]:
    fill = {"outside": ground.outside, "root": ground.root, "home": ground.home, "own": ground.own}
    calls: dict[str, Call] = {}
    for case, path in PATHS.items():
        there = path.format(**fill)
        calls[f"{case}: read"] = ("read", {"path": there})
        calls[f"{case}: edit"] = ("edit", {"path": there, "old": "canary", "new": "evil"})
        calls[f"{case}: write"] = ("write", {"path": there, "content": "evil"})
        calls[f"{case}: search"] = ("search", {"pattern": "canary", "path": there})
        calls[f"{case}: outline"] = ("outline", {"path": there})
    calls |= {f"{case}: write": ("write", {"path": path, "content": "evil"}) for case, path in NEW.items()}
    for name in WAITS:
        calls[f"A25 {name}: read"] = ("read", {"path": name})
        calls[f"A25 {name}: search"] = ("search", {"pattern": "a|b", "path": name})
        calls[f"A25 {name}: edit"] = ("edit", {"path": name, "old": "a", "new": "b"})
    calls["A24 hard link: edit"] = ("edit", {"path": "hard.txt", "old": "canary", "new": "evil"})
    calls["A62 .env: read"] = ("read", {"path": ".env"})
    calls["A62 .env: search"] = ("search", {"pattern": "canary", "path": ".env"})
    calls["A62 .env: command"] = ("shell", {"command": "cat .env"})
    calls |= {f"{case}: shell": ("shell", {"command": text.format(**fill)}) for case, text in COMMANDS.items()}
    return calls


@pytest.fixture(scope="module")
def tried(planted: Ground) -> tuple[dict[str, str], Played, dict[str, bytes], dict[str, bytes]]:
    """What the model was told of each case, and what was elsewhere before and after."""
    calls = calls_of(planted)
    (planted.top / "tmp").mkdir()
    for name in ("tcoder", "tcoder-shell", "tcoder-shell-1", "tcoder.log", "response.md"):
        (planted.top / "tmp" / name).symlink_to(planted.outside / "victim.txt")
    before = planted.elsewhere()
    played = planted.play(list(calls.values()), task="change everything", TMPDIR=str(planted.top / "tmp"))
    assert len(played.answers) == len(calls), played.ended
    return dict(zip(calls, played.answers, strict=True)), played, before, planted.elsewhere()


Tried = tuple[dict[str, str], Played, dict[str, bytes], dict[str, bytes]]
REFUSED = (
    "denied", "needs a person", "outside", "not a path", "is a pipe", "is a socket", "leads out", "not valid",
    "hard link", "ends with a space or dot", "protected", "symbolic link to nothing", "there is no", "exit 1", "exit 2",
    "wrong arguments",
)  # fmt: skip


def test_every_case_is_refused_in_words(tried: Tried) -> None:
    passed = {case: answer for case, answer in tried[0].items() if not any(word in answer for word in REFUSED)}
    assert passed == {}


def test_nothing_outside_has_changed_and_no_secret_was_shown(planted: Ground, tried: Tried) -> None:
    _, played, before, after = tried
    assert after == before
    shown = played.sent + played.ended.out + played.ended.err
    assert CANARY not in shown
    assert CANARY.encode() not in b"".join(
        path.read_bytes() for path in files_below(planted.own / "state" / "projects")
    )


def test_nothing_that_is_protected_came_into_being(planted: Ground, tried: Tried) -> None:
    root = planted.root
    assert {path.name for path in root.iterdir()} - {"mine"} == {
        ".git", ".env", "calc.py", "test_calc.py", "vendor", "a", "to-file", "to-folder", "chain", "relative",
        "dangling", "environment", "zero", "fifo", "socket", "hard.txt",
    }  # fmt: skip
    assert list((root / "vendor" / "x" / ".git").rglob("*")) == [root / "vendor" / "x" / ".git" / "hooks"]
    assert not (root / ".git" / "hooks" / "pre-commit").exists()


def test_a25_nobody_waited(tried: Tried) -> None:
    seconds = float(tried[1].server.finished[-1] - tried[1].server.requests[0].arrived)
    assert seconds < 30  # a search of a pipe alone would take 20 s and two of them 40 s


def test_a62_a_search_of_everything_withholds_secrets(planted: Ground) -> None:
    (planted.root / "notes.md").write_text("the word canary stands here\n")
    (planted.root / "hard.txt").unlink()  # its name says nothing of what another name of it holds
    played = planted.play([("search", {"pattern": "canary"}), ("outline", {})])
    assert "notes.md" in played.answers[0] and "1 more in files that may hold keys" in played.answers[0]
    assert CANARY not in played.sent


def test_a32_no_predictable_name_was_followed(planted: Ground, tried: Tried) -> None:
    left = sorted(path.name for path in (planted.top / "tmp").iterdir() if not path.is_symlink())
    assert left == []
    assert CANARY in (planted.outside / "victim.txt").read_text()


def test_a33_what_is_kept_can_be_read_by_nobody_else(planted: Ground, tried: Tried) -> None:
    """Every file is private itself or lies below a folder that is."""
    own = planted.own

    def open_to_others(path: Path) -> bool:
        return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)

    kept = [
        path for path in files_below(own) if path.is_relative_to(own / "state") or path.is_relative_to(own / "cache")
    ]
    assert {path.suffix for path in kept} >= {".jsonl", ".sqlite"}
    exposed = [
        path for path in kept if all(map(open_to_others, (path, *path.parents[: len(path.parts) - len(own.parts)])))
    ]
    assert exposed == []
    assert [path for path in kept if path.suffix == ".jsonl" and open_to_others(path)] == []


def test_r48_a_home_folder_is_not_taken_for_a_project(planted: Ground) -> None:
    with_home = planted.run("--task", "change it", "--base-url", "http://127.0.0.1:9/v1", "-m", "x", cwd=planted.home)
    assert with_home.code == 2 and "home folder" in with_home.err
    at_top = planted.run("--task", "change it", "--base-url", "http://127.0.0.1:9/v1", "-m", "x", cwd=Path("/"))
    assert at_top.code == 2 and "root of the file system" in at_top.err
    assert planted.run("index", cwd=planted.home).out.startswith("0 files")
