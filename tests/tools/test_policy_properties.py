"""What holds of every command: the reading is bash's own, and a safe command only reads."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from tcoder.protocol.permissions import Approval
from tcoder.tools.commands import parse
from tcoder.tools.commands_safe import safe_programs
from tcoder.tools.policy import PolicyCall, PolicyFacts, judge
from tcoder.tools.policy_question import visible
from tests.tools.test_policy_table import ROWS

FACTS = PolicyFacts(sandboxed=True, root="/w", cwd="/w")
# In this bash every program is missing, and whoever is missing says how it was called. Exit 0 keeps `&&` going.
RECORDER = 'command_not_found_handle() { printf "%s\\0" "$#" "$@" >&3; }; PATH=/nowhere; shopt -u expand_aliases\n'

PIECES = st.sampled_from(
    [
        *"zq1 zq2 a b -x --y=1 1 /t ./u . .. = + % @ ^ , : - _ é 中".split(" "),
        " ",
        "  ",
        "\t",
        "\n",
        ";",
        "&&",
        "||",
        "|",
    ]
    + [
        "'",
        '"',
        "\\",
        "\\ ",
        "\\\n",
        "'a b'",
        '"a b"',
        "''",
        '""',
        "2>&1",
        "#",
        " #",
        "&",
        ">",
        "<",
        "$",
        "`",
        "(",
        ")",
    ]
    + ["~", "!", "{", "}", "*", "?", "[", "]", "$X", "\r", "\u00a0", "\u3000", "\x0b", "$'a'", "if", "time", "A=1"]
)


@st.composite
def command_lines(draw: st.DrawFn) -> str:
    pieces = draw(st.lists(PIECES, min_size=1, max_size=12))
    return "zq" + "".join(pieces)


def run_bash(command: str, folder: Path) -> list[tuple[str, ...]]:
    """The commands that bash really starts, in no certain order."""
    with open(folder / "called", "w+b") as called:
        subprocess.run(
            ["/bin/bash", "--noprofile", "--norc", "-c", f"exec 3<&{called.fileno()}; {RECORDER}{command}"],
            cwd=folder,
            env={"LC_ALL": "C.UTF-8"},
            pass_fds=(called.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=10,
        )
        called.seek(0)
        fields = iter(called.read().split(b"\0"))
    found: list[tuple[str, ...]] = []
    for count in fields:
        if count:
            found.append(tuple(next(fields).decode("utf-8", "surrogateescape") for _ in range(int(count))))
    return found


@seed(4)
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(command_lines())
def test_plain_words_are_the_words_that_bash_runs(tmp_path_factory: pytest.TempPathFactory, command: str) -> None:
    parsed = parse(command)
    if parsed.problem:
        return
    folder = tmp_path_factory.getbasetemp()
    builtins = {".", ":", "-", "..", "."}
    wanted = sorted(one.words for one in parsed.commands if one.words[0] not in builtins)
    called = sorted(words for words in run_bash(command, folder) if words[0] not in builtins)
    if "||" in command:
        assert set(called) <= set(wanted), command
    elif any(one.words[0] in builtins or "/" in one.words[0] for one in parsed.commands):
        assert set(called) <= set(wanted), command
    else:
        assert called == wanted, command


@settings(max_examples=400, deadline=None, database=None)
@given(st.text(max_size=80) | command_lines(), st.sampled_from(["ask", "edits", "auto", "plan"]))
def test_no_text_breaks_the_policy(command: str, mode: Approval) -> None:
    verdict = judge(PolicyCall("shell", "shell", command=command), mode, (), FACTS)
    assert verdict.reason
    if mode == "plan":
        assert verdict.decision != "ask"
    for character in visible(command):
        assert character == "\n" or character.isprintable()


@pytest.mark.parametrize(
    "text",
    ["(" * 20_000, "$(" * 10_000, "{ " * 10_000, "a'" * 10_000, "if " * 8000, "<<E " * 6000, '"$(' * 8000, "[[ " * 8000]
    + ["git " * 8000, "rm -" * 8000, "env " * 8000, "bash -c '" * 3000, "a|" * 200, "\\\n" * 10_000, "`" * 20_000],
)
@pytest.mark.timeout(20)
def test_no_nesting_breaks_the_policy(text: str) -> None:
    rules = FACTS
    assert judge(PolicyCall("shell", "shell", command=text), "ask", (), rules).decision == "ask"


# Nothing else may happen to files, and no other socket be opened (names of users may be asked of a local daemon).
READING_CALLS = frozenset(
    "execve open openat openat2 stat lstat newfstatat statx statfs access faccessat faccessat2 readlink readlinkat getcwd "
    "chdir getxattr lgetxattr listxattr llistxattr fgetxattr flistxattr".split()
)
LOCAL_SOCKET_CALLS = frozenset("socket connect sendto sendmmsg recvfrom recvmsg setsockopt getsockopt".split())
CALL = re.compile(r"^(?:\[pid +\d+\] |\d+ +)?(\w+)\((.*)")


@st.composite
def safe_lines(draw: st.DrawFn) -> str:
    """A command made of nothing but what the list knows of a program."""
    name, program = draw(st.sampled_from(sorted(safe_programs().items())))
    words = [name, *program.needed]
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(["flag", "valued", "long", "test"]))
        if kind == "flag" and program.flags:
            words.append("-" + "".join(draw(st.lists(st.sampled_from(program.flags), min_size=1, max_size=3))))
        elif kind == "valued" and program.valued:
            words.append(f"-{draw(st.sampled_from(program.valued))}{draw(st.sampled_from(['1', '2', 'a', 'c']))}")
        elif kind == "long" and program.long:
            words.append(draw(st.sampled_from(sorted(program.long))) + draw(st.sampled_from(["", "=1", "=a.txt"])))
        elif kind == "test" and program.tests:
            words.append(draw(st.sampled_from(sorted(program.tests))))
    if program.first:
        words.append(draw(st.sampled_from(["1,2p", "$p", "/a/p"])))
    words += draw(st.lists(st.sampled_from(["a.txt", "b.txt", "folder", ".", "1", "x/y"]), max_size=3))
    return " ".join(f"'{word}'" if word in ("$p", "-[") else word for word in words)


def drawn(count: int) -> list[str]:
    found: list[str] = []

    @seed(7)
    @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(safe_lines())
    def collect(command: str) -> None:
        found.append(command)

    collect()
    return found


def test_a_safe_command_runs_only_what_is_listed_and_writes_nothing(tmp_path: Path) -> None:
    strace = shutil.which("strace")
    assert strace, "this test needs strace"
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    (work / "folder").mkdir()
    for name in ("a.txt", "b.txt", "README.md", "src/app.py", "names.txt", "log.txt", "folder/c.txt"):
        (work / name).write_text("a:b\nclass A\n  def b\n1 error foo\n")
    facts = PolicyFacts(sandboxed=True, root=str(work), cwd=str(work))
    candidates = [command for command, letters in ROWS if letters == "aaaaa"] + drawn(250)
    safe = [
        command
        for command in dict.fromkeys(candidates)
        if judge(PolicyCall("shell", "shell", command=command), "ask", (), facts).decision == "allow"
        and not re.search(r"(^|\s)(/|cd\b|\.\.)", command)
    ]
    assert len(safe) > 200
    before = {path: (path.stat().st_mtime_ns, path.stat().st_ctime_ns) for path in work.rglob("*")}
    trace = tmp_path / "trace"
    script = "\n".join(f"( {command}\n)" for command in safe)
    (tmp_path / "script").write_text(script)
    subprocess.run(
        [
            strace,
            "-f",
            "-qq",
            "-e",
            "trace=%file,%network,fchmod,fchown,ftruncate,fsetxattr,futimesat,kill,ptrace",
            "-e",
        ]
        + ["signal=none", "-o", str(trace), "/bin/bash", "--noprofile", "--norc", str(tmp_path / "script")],
        cwd=work,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=50,
    )
    listed = set(safe_programs()) | {"bash"}
    ran: set[str] = set()
    for line in trace.read_text(errors="replace").splitlines():
        found = CALL.match(line)
        if not found:
            continue
        name, rest = found.groups()
        if name == "execve" and rest.rstrip().endswith("= 0"):
            program = rest.split('"')[1].rpartition("/")[2]
            ran.add(program)
            assert program in listed, line
        elif name.startswith("open"):
            writes = re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND|O_TMPFILE", rest)
            assert not writes or '"/dev/tty"' in rest, line
        elif name in LOCAL_SOCKET_CALLS:
            assert "AF_INET" not in rest, line
        else:
            assert name in READING_CALLS, line
    assert len(ran) > 25
    after = {path: (path.stat().st_mtime_ns, path.stat().st_ctime_ns) for path in work.rglob("*")}
    assert after == before
