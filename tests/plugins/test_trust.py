"""Trust in a folder ends when something changes that would run."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tcoder.plugins.trust import MAX_FILES, Fingerprint, TrustStore, fingerprint
from tcoder.protocol.errors import UsageError

SETTINGS = """
variant = "fast"
[checks]
test = "pytest -q"
[ui]
theme = "light"
[hooks]
before_edit = ["./tools/hook.sh", "--fast"]
[mcp_servers.docs]
command = "python tools/server.py"
env = { TOKEN_FILE = "x" }
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    write(root, ".tcoder/config.toml", SETTINGS)
    write(root, ".tcoder/plugins/own/plugin.toml", 'name = "own"')
    write(root, ".tcoder/plugins/own/own.py", "def register(api): ...")
    write(root, "tools/hook.sh", "echo hook")
    write(root, "tools/server.py", "print()")
    write(root, "src/app.py", "x = 1")
    write(root, ".mcp.json", '{"mcpServers": {"files": {"command": "npx", "args": ["-y", "files"]}}}')
    return root


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "state" / "trust.json")


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def values(found: Fingerprint) -> dict[str, str]:
    return {part.name: part.value for part in found.parts}


def test_a_folder_in_the_place_of_a_file_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / ".mcp.json").mkdir()
    found = fingerprint(tmp_path)
    assert (found.parts, found.problem) == ((), "")


def test_a_fingerprint_names_the_exact_commands_and_files(root: Path) -> None:
    found = fingerprint(root)
    assert found.problem == ""
    named = values(found)
    assert named["checks.test"] == "pytest -q"
    assert named["hooks.before_edit"] == '["./tools/hook.sh","--fast"]'
    assert named["mcp_servers.docs.command"] == "python tools/server.py"
    assert named["mcp_servers.docs.env.TOKEN_FILE"] == "x"
    assert named[".mcp.json.mcpServers.files.command"] == "npx"
    assert len(named["tools/hook.sh"]) == len(named["tools/server.py"]) == 64
    assert {".tcoder/plugins/own/plugin.toml", ".tcoder/plugins/own/own.py"} <= set(named)
    assert "src/app.py" not in named
    assert not any(name.startswith(("ui", "variant")) for name in named)


def test_nothing_is_trusted_until_somebody_says_so(root: Path, store: TrustStore) -> None:
    assert not store.is_trusted(root)
    assert "checks.test: new: pytest -q" in store.changes(root)
    store.trust(root)
    assert store.is_trusted(root)
    assert store.changes(root) == ()
    assert store.revoke(root)
    assert not store.revoke(root)
    assert not store.is_trusted(root)


def config(old: str, new: str) -> Callable[[Path], None]:
    return lambda root: write(root, ".tcoder/config.toml", SETTINGS.replace(old, new))


def file(name: str, text: str) -> Callable[[Path], None]:
    return lambda root: write(root, name, text)


def remove(name: str) -> Callable[[Path], None]:
    return lambda root: (root / name).unlink()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (config("pytest -q", "touch PWNED; pytest -q"), "checks.test: pytest -q → touch PWNED; pytest -q"),
        (config("--fast", "--slow"), 'hooks.before_edit: ["./tools/hook.sh","--fast"] → ["./tools/hook.sh","--slow"]'),
        (config("[hooks]", '[hooks]\nat_start = "touch PWNED"'), "hooks.at_start: new: touch PWNED"),
        (config('TOKEN_FILE = "x"', 'LD_PRELOAD = "x"'), "mcp_servers.docs.env.LD_PRELOAD: new: x"),
        (config('variant = "fast"', 'base_url = "http://127.0.0.1:9"'), "base_url: new: http://127.0.0.1:9"),
        (file(".tcoder/plugins/own/own.py", "import os"), ".tcoder/plugins/own/own.py: "),
        (file(".tcoder/plugins/other/other.py", "import os"), ".tcoder/plugins/other/other.py: new: "),
        (file("tools/hook.sh", "touch PWNED"), "tools/hook.sh: "),
        (file("tools/server.py", "touch PWNED"), "tools/server.py: "),
        (file(".mcp.json", '{"mcpServers": {"files": {"command": "touch"}}}'), "npx → touch"),
        (file(".mcp.json", "{"), ".mcp.json: "),
        (file(".tcoder/config.toml", "nonsense ["), ".tcoder/config.toml: new: "),
        (remove(".tcoder/plugins/own/own.py"), ".tcoder/plugins/own/own.py: gone"),
        (remove(".tcoder/config.toml"), "checks.test: gone"),
    ],
)
def test_what_would_run_changed(root: Path, store: TrustStore, change: Callable[[Path], None], said: str) -> None:
    store.trust(root)
    change(root)
    assert not store.is_trusted(root)
    assert any(said in line for line in store.changes(root)), store.changes(root)


@pytest.mark.parametrize(
    "change",
    [
        config('theme = "light"', 'theme = "dark"'),
        config('variant = "fast"', 'variant = "standard"'),
        file("src/app.py", "x = 2"),
        file("README.md", "hello"),
    ],
)
def test_what_does_not_run_may_change(root: Path, store: TrustStore, change: Callable[[Path], None]) -> None:
    store.trust(root)
    change(root)
    assert store.is_trusted(root)


def test_a_moved_folder_is_another_folder(root: Path, store: TrustStore, tmp_path: Path) -> None:
    store.trust(root)
    link = tmp_path / "link"
    link.symlink_to(root)
    assert store.is_trusted(link)
    moved = root.rename(tmp_path / "moved")
    assert not store.is_trusted(moved)


def test_what_was_shown_is_what_is_trusted(root: Path, store: TrustStore) -> None:
    shown = fingerprint(root)
    write(root, ".tcoder/config.toml", '[checks]\ntest = "touch PWNED"')
    store.trust(root, shown)
    assert not store.is_trusted(root)


def many(root: Path) -> None:
    for number in range(MAX_FILES + 1):
        write(root, f".tcoder/plugins/{number}.py", "")


def fifo(root: Path) -> None:
    os.mkfifo(root / ".tcoder" / "pipe")


def loop(root: Path) -> None:
    (root / ".tcoder" / "loop").symlink_to(root)


def whole_link(root: Path) -> None:
    (root / ".tcoder").rename(root / "elsewhere")
    (root / ".tcoder").symlink_to("elsewhere")


def device(root: Path) -> None:
    (root / ".tcoder" / "zero").symlink_to("/dev/zero")


def deep(root: Path) -> None:
    write(root, ".tcoder/config.toml", ".".join(["a"] * 3000) + " = 1")


def twins(root: Path) -> None:
    write(root, ".tcoder/\\xff", "a")
    (root / ".tcoder").joinpath(os.fsdecode(b"\xff")).write_text("b")


@pytest.mark.parametrize("make", [many, fifo, loop, whole_link, device, deep, twins])
def test_what_cannot_be_told_cannot_be_trusted(root: Path, store: TrustStore, make: Callable[[Path], None]) -> None:
    store.trust(root)
    make(root)
    assert fingerprint(root).problem
    assert not store.is_trusted(root)
    with pytest.raises(UsageError, match="cannot be trusted"):
        store.trust(root)


def test_two_places_never_share_a_name(root: Path) -> None:
    write(root, ".tcoder/config.toml", '[hooks]\n"x.y" = "one"\n[hooks.x]\ny = "two"')
    found = values(fingerprint(root))
    assert found["hooks.x.y"] == "two"
    assert found['hooks."x.y"'] == "one"


def test_a_symlinked_plugin_counts_with_what_it_leads_to(root: Path, store: TrustStore, tmp_path: Path) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text("x = 1")
    (root / ".tcoder" / "plugins" / "linked.py").symlink_to(outside)
    store.trust(root)
    assert store.is_trusted(root)
    outside.write_text("x = 2")
    assert not store.is_trusted(root)


def test_the_file_is_private_whatever_the_umask(root: Path, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = TrustStore(tmp_path / "state" / "deep" / "trust.json")
        store.trust(root)
    finally:
        os.umask(before)
    for path in (tmp_path / "state" / "deep").iterdir():
        assert path.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "state" / "deep").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("damage", ["{", "[]", '{"version": 1}', "\x00"])
def test_a_damaged_file_trusts_nothing(root: Path, tmp_path: Path, damage: str) -> None:
    store = TrustStore(tmp_path / "trust.json")
    (tmp_path / "trust.json").write_text(damage)
    (tmp_path / "trust.json").chmod(0o600)
    with pytest.raises(UsageError, match="damaged"):
        store.is_trusted(root)


def test_a_file_that_others_may_write_trusts_nothing(root: Path, tmp_path: Path) -> None:
    store = TrustStore(tmp_path / "trust.json")
    store.trust(root)
    (tmp_path / "trust.json").chmod(0o622)
    with pytest.raises(UsageError, match="by others"):
        store.is_trusted(root)


def test_a_planted_symlink_is_not_followed(root: Path, store: TrustStore, tmp_path: Path) -> None:
    store.trust(root)
    (tmp_path / "state" / "trust.json").rename(tmp_path / "victim")
    (tmp_path / "state" / "trust.json").symlink_to(tmp_path / "victim")
    with pytest.raises(UsageError, match="cannot read"):
        store.is_trusted(root)


def test_many_writers_lose_nothing(tmp_path: Path) -> None:
    folders = [tmp_path / f"repo{number}" for number in range(8)]
    for folder in folders:
        folder.mkdir()
    stores = [TrustStore(tmp_path / "state" / "trust.json") for _ in folders]
    threads = [
        threading.Thread(target=lambda at=at: [stores[at].trust(folders[at]) for _ in range(5)])
        for at in range(len(folders))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(TrustStore(tmp_path / "state" / "trust.json").is_trusted(folder) for folder in folders)
