"""What holds of every command: the reading is bash's own, and a safe command only reads."""

import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from tcoder.protocol.permissions import Approval
from tcoder.tools.policy.commands import parse
from tcoder.tools.policy.commands_safe import safe_programs
from tcoder.tools.policy.judge import PolicyCall, PolicyFacts, judge
from tcoder.tools.policy.question import visible
from tests.tools.test_policy_table import ROWS

FACTS = PolicyFacts(sandboxed=True, root="/w", cwd="/w")
# In this bash every program is missing, and whoever is missing says how it was called. Exit 0 keeps `&&` going.
RECORDER = 'command_not_found_handle() { printf "%s\\0" "$#" "$@" >&3; }; PATH=/nowhere; shopt -u expand_aliases\n'

PIECES = st.sampled_from([
    "zq1", "zq2", "a", "b", "-x", "--y=1", "1", "/t", "./u", ".", "..", "=", "+", "%", "@", "^", ",", ":", "-", "_",
    "é", "中", " ", " ", " ", "  ", "\t", "\n", ";", "&&", "||", "|", "'", '"', "\\", "\\ ", "\\\n", "\\a", "'a b'",
    '"a b"', "''", '""', "2>&1", " 2>&1 ", "#", " #", "&", ">", "<", "$", "`", "(", ")", "~", "!", "{", "}", "*", "?",
    "[", "]", "$X", "\r", "\u00a0", "\u3000", "\x0b", "$'a'", "if", "time", "A=1", "\ufeff",
])  # fmt: skip


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
    while count := next(fields, b""):
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
    builtins = {".", ":"}
    wanted = sorted(one.words for one in parsed.commands if one.words[0] not in builtins)
    called = sorted(words for words in run_bash(command, folder) if words[0] not in builtins)
    missing = any(one.words[0] in builtins or "/" in one.words[0] for one in parsed.commands)
    if "||" in command or missing:
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


@pytest.mark.parametrize("plane", range(17))
def test_no_character_breaks_the_grammar(plane: int) -> None:
    for point in range(plane << 16 | 0xA0, plane << 16 | 0xD000, 0x137):
        called = judge(PolicyCall("shell", "shell", command=f"rm -rf {{{chr(point)} x"), "auto", (), FACTS)
        assert called.decision != "allow"
    assert parse("touch \u00a0\U000dc0d2é").commands[0].words == ("touch", "\u00a0\U000dc0d2é")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 20_000, "$(" * 10_000, "{ " * 10_000, "a'" * 10_000, "if " * 8000, "<<E " * 6000, '"$(' * 8000,
        "[[ " * 8000, "git " * 8000, "rm -" * 8000, "env " * 8000, "ssh " * 8000, "su " * 90, "eval 'ssh " * 50,
        "tmux " * 95, "hyperfine x" * 500, "git run " * 4000, "git run " * 49, "bash -c '" * 3000, "a|" * 200,
        "\\\n" * 10_000, "`" * 20_000,
    ],
)  # fmt: skip
@pytest.mark.timeout(20)
def test_no_nesting_breaks_the_policy(text: str) -> None:
    rules = FACTS
    assert judge(PolicyCall("shell", "shell", command=text), "ask", (), rules).decision == "ask"


# Nothing else may happen to files, and no other socket be opened (names of users may be asked of a local daemon).
READING_CALLS = frozenset({
    "execve", "open", "openat", "openat2", "stat", "lstat", "newfstatat", "statx", "statfs", "access", "faccessat",
    "faccessat2", "readlink", "readlinkat", "getcwd", "chdir", "getxattr", "lgetxattr", "listxattr", "llistxattr",
})  # fmt: skip
LOCAL_SOCKET_CALLS = frozenset({"socket", "connect", "sendto", "sendmmsg", "recvfrom", "recvmsg", "getsockopt"})
BASH = ("/bin/bash", "--noprofile", "--norc")
TRACED = "trace=%file,%network,fchmod,fchown,ftruncate,fsetxattr,futimesat,kill,ptrace"
CALL = re.compile(r"^(?:\[pid +\d+\] |\d+ +)?(\w+)\((.*)")


def safe_lines() -> Iterator[str]:
    """Commands made of nothing but what the list knows: each option of each program, and some of them together."""
    dice = random.Random(7)
    for name, program in safe_programs().items():
        tail = ["'$p'" if program.first else "a.txt", *(["b.txt"] if program.most != 1 else [])]
        head = [name, *program.needed]
        options = [
            *(f"-{letter}" for letter in program.flags),
            *(f"-{letter}a.txt" for letter in program.valued),
            *(f"{option}=a.txt" for option in sorted(program.long)),
            *(f"{test} a.txt" for test in sorted(program.tests)),
        ]
        yield " ".join((*head, *tail))
        for option in options:
            yield " ".join((*head, option, *(tail if not program.tests else [])))
        for _ in range(3 if options else 0):
            yield " ".join((*head, *dice.sample(options, min(3, len(options))), *tail))


def test_a_safe_command_runs_only_what_is_listed_and_writes_nothing(tmp_path: Path) -> None:
    strace = shutil.which("strace")
    assert strace, "this test needs strace"
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    (work / "folder").mkdir()
    for name in ("a.txt", "b.txt", "README.md", "src/app.py", "names.txt", "log.txt", "folder/c.txt"):
        (work / name).write_text("a:b\nclass A\n  def b\n1 error foo\n")
    facts = PolicyFacts(sandboxed=True, root=str(work), cwd=str(work))
    candidates = [command for command, letters in ROWS if letters == "aaaaa"] + list(safe_lines())
    safe = [
        command
        for command in dict.fromkeys(candidates)
        if judge(PolicyCall("shell", "shell", command=command), "ask", (), facts).decision == "allow"
        and not re.search(r"(^|\s)(/|cd\b|\.\.)", command)
    ]
    assert len(safe) > 200
    before = {path: (path.stat().st_mtime_ns, path.stat().st_ctime_ns) for path in work.rglob("*")}
    trace = tmp_path / "trace"
    script = tmp_path / "script"
    script.write_text("\n".join([*(f"( {command}\n)" for command in safe), "exec uname"]))
    subprocess.run(
        [strace, "-f", "--seccomp-bpf", "-qq", "-e", TRACED, "-e", "signal=none", "-o", str(trace), *BASH, str(script)],
        cwd=work,
        env={"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=50,
    )
    listed = set(safe_programs()) | {"bash"}
    ran: Counter[str] = Counter()
    for line in trace.read_text(errors="replace").splitlines():
        found = CALL.match(line)
        if not found:
            continue
        name, rest = found.groups()
        if name == "execve" and rest.rstrip().endswith("= 0"):
            program = rest.split('"')[1].rpartition("/")[2]
            ran[program] += 1
            assert program in listed, line
        elif name.startswith("open"):
            writes = re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND|O_TMPFILE", rest)
            assert not writes or '"/dev/tty"' in rest, line
        elif name in LOCAL_SOCKET_CALLS:
            assert "AF_INET" not in rest, line
        else:
            assert name in READING_CALLS, line
    assert ran["uname"] > 1, "the script did not come to its end"
    assert len(ran) > 40 and ran["rg"] > 30, ran
    after = {path: (path.stat().st_mtime_ns, path.stat().st_ctime_ns) for path in work.rglob("*")}
    assert after == before
