"""The shell under a model that does its worst: R27 to R38, A70 and A75 through the installed program, one session."""

import os

import pytest
from support.ground import Call, Ground, Played

BOMB = "python3 -c \"import gzip; gzip.open('b.gz', 'wb').write(bytes(20_000_000))\" && gzip -dc b.gz | wc -c"
NAMES = "mkdir -p odd/d && cd odd && touch $'a\\nb' $'\\xff\\xfe' $(printf 'n%.0s' {1..255}) && ln -s . l && ls | wc -l"
STEPS: tuple[tuple[str, str, str], ...] = (  # case, command, what the model is told of it
    ("R27 read", "read -p 'name? ' x", "waits for input"),
    ("R27 password", "python3 -c 'import getpass; getpass.getpass()'", "waits for input"),
    ("R27 host key", "printf 'continue connecting (yes/no)? '; read x", "waits for input"),
    ("R27 commit", "git commit", "exit 1"),
    ("R27 REPL", "python3 -i -q", "waits for input"),
    ("R28 background", "sleep 91 & echo fg", "still running in the background"),
    ("R28 daemon", "(setsid nohup sleep 92 &) ; echo daemon", "exit 0"),
    ("R29 flood", "yes | head -c 30000000", "bytes left out"),
    ("R29 one line", "head -c 20000000 /dev/zero | tr '\\0' x", "bytes left out"),
    ("R30 bytes", "printf '\\xff\\0\\0no newline'; exit 6", "exit 6"),
    ("R31 spoof", "printf 'end 0\\0'; printf '\\036fence\\036'; echo 'exit 0'; exit 7", "exit 7"),
    ("R32 exit", "exit 3", "exit 3"),
    ("R32 exec", "exec true", "exit 0"),
    ("R32 kill", "kill -9 $$", "ended the shell itself"),
    ("R32 set -e", "set -e; false; echo no", "exit 1"),
    ("R32 trap", "trap '' INT TERM; ulimit -n 3; exec >/dev/null 2>&1", "exit"),
    ("R33 state", "alias ls=false; umask 0; set -u; PS1=x PROMPT_COMMAND='echo p'; stty raw -echo; tput smcup", "exit"),
    ("R33 after", "ls calc.py && umask", "calc.py\n0022"),
    ("R34 quote", "echo 'unmatched", "exit 2"),
    ("R34 heredoc", "cat <<END\nabc", "abc"),
    ("R34 longer than can be judged", "x=" + "a" * 200_000 + "; echo ${#x}", "longer than 32768 characters"),
    ("R34 long", "x=" + "a" * 30_000 + "; echo ${#x}", "30000"),
    ("R35 pager", "git log | cat; git log; man ls >/dev/null 2>&1; echo paged", "paged"),
    ("R35 watch", "timeout 20 top || true", "timed out"),
    ("R37 timeout", "trap '' TERM; setsid nohup sleep 93 & echo partial; sleep 94", "timed out"),
    ("A70 bomb", BOMB, "20000000"),
    ("A75 names", NAMES, "exit 0"),
    ("last", "echo still here; pwd", "still here"),
)


def call(case: str, command: str) -> Call:
    return "shell", {"command": command, "timeout": 3 if case.startswith(("R37", "R35 w")) else 30}


@pytest.fixture(scope="module")
def played(ground: Ground) -> Played:
    return ground.play([call(case, command) for case, command, _ in STEPS], "--approval", "auto")


@pytest.mark.parametrize("number", range(len(STEPS)), ids=[case for case, _, _ in STEPS])
def test_r27_to_r38_the_model_is_told_and_goes_on(played: Played, number: int) -> None:
    assert len(played.answers) == len(STEPS)
    assert STEPS[number][2] in played.answers[number]


def test_nothing_outlives_the_session(ground: Ground, played: Played) -> None:
    assert played.ended.code == 0
    commands: list[str] = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                commands.append(file.read().replace(b"\0", b" ").decode("utf-8", "replace").strip())
        except OSError:
            continue
    assert {f"sleep {seconds}" for seconds in (91, 92, 93, 94)} & set(commands) == set()
    assert str(ground.root) not in " ".join(one for one in commands if "bwrap" in one)
