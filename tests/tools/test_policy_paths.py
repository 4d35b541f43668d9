"""What a path's name says."""

import pytest

from tcoder.tools.policy.paths import is_guarded, is_protected, is_secret, is_system, locate, relative


@pytest.mark.parametrize(
    ("path", "root", "cwd", "expected"),
    [
        ("a.py", "/w", "", "/w/a.py"),
        ("a.py", "/w", "/w/src", "/w/src/a.py"),
        ("../a.py", "/w", "", "/a.py"),
        ("/x/../y", "/w", "", "/y"),
        ("//x", "/w", "", "/x"),
        ("./a/./b/../c", "/w", "", "/w/a/c"),
        ("a.py", "", "", "a.py"),
        ("../a.py", "", "", ""),
        ("a/../../b", "", "", ""),
    ],
)
def test_where_a_path_lies(path: str, root: str, cwd: str, expected: str) -> None:
    assert locate(path, root, cwd) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/w/a", "a"), ("/w", "."), ("/w-evil/a", "/w-evil/a"), ("/w/../x", "../x"), ("/other", "/other")],
)
def test_seen_from_the_root(path: str, expected: str) -> None:
    assert relative(path, "/w") == expected


@pytest.mark.parametrize(
    ("path", "secret"),
    [
        (".env", True),
        ("a/.env.local", True),
        (".ENV", True),
        (".env.", True),
        (".env.example", False),
        ("env", False),
        ("environment.py", False),
        ("/root/.ssh/config", True),
        ("/root/.ssh/id_rsa.pub", True),
        ("docs/id_rsa.pub", False),
        ("server.pem", True),
        ("keyboard.py", False),
        ("credentials", True),
        ("credentials.py", False),
        ("/home/x/.config/gh/hosts.yml", True),
        ("/home/x/.config/tcoder/credentials.toml", True),
        ("/etc/shadow", True),
        ("shadow.css", False),
        (".docker/Dockerfile", False),
        ("/root/.docker/config.json", True),
        (".bash_history", True),
        ("\uff0eenv", True),
        (".e\u200bnv", True),
    ],
)
def test_what_holds_keys(path: str, secret: bool) -> None:
    assert is_secret(path) is secret


def test_what_belongs_to_the_system() -> None:
    assert all(map(is_system, ("/proc", "/proc/1/mem", "/sys/x", "/dev/sda")))
    assert not any(map(is_system, ("/dev/null", "/process", "/w/dev")))


def test_what_only_a_person_changes() -> None:
    for path in (".git", "a/b/.git/hooks/x", ".GIT/config", ".git /config", ".g\u200cit/x", ".tcoder/config.toml"):
        assert is_protected(path), path
    for path in (".gitignore", "git/x", "a.git/config", ".github/workflows/x.yml", "tcoder/x.py"):
        assert not is_protected(path), path
    assert is_guarded(".vscode/settings.json")
    assert not is_guarded("vscode/settings.json")
