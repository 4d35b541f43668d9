"""The attack cases A01 to A19, one test each."""

import os
import string
from pathlib import Path

import pytest

from tcoder.protocol.messages import ToolCall
from tcoder.protocol.permissions import Approval, Rule, Verdict
from tcoder.tools import registry
from tcoder.tools.policy.commands import MAX_COMMANDS, MAX_LENGTH, parse
from tcoder.tools.policy.judge import PolicyCall, PolicyFacts, judge, question
from tcoder.tools.policy.targets import resolve

BOXED = PolicyFacts(sandboxed=True, root="/w", cwd="/w")
OPEN = PolicyFacts(sandboxed=False, root="/w", cwd="/w")
PERSON_RULES = tuple(
    Rule("allow", "shell", f"{words} *", source="user")
    for words in ("ls", "cat", "grep", "rg", "find", "sed -n", "echo", "git status", "git log", "git diff")
)


def verdict(
    command: str, mode: Approval = "ask", rules: tuple[Rule, ...] = PERSON_RULES, facts: PolicyFacts = BOXED
) -> Verdict:
    return judge(PolicyCall("shell", "shell", command=command), mode, rules, facts)


def asks(*commands: str, rules: tuple[Rule, ...] = PERSON_RULES) -> None:
    """None of them passes without a question, in any mode, when no sandbox contains it; nor in `ask` when one does."""
    for command in commands:
        assert verdict(command, rules=rules).decision != "allow", command
        for mode in ("ask", "edits", "auto", "plan"):
            assert verdict(command, mode, rules, OPEN).decision != "allow", (command, mode)


def test_a01_a_command_chained_after_an_allowed_one() -> None:
    asks("ls; touch PWNED", "ls && touch PWNED", "ls || touch PWNED", "ls | touch PWNED", "ls & touch PWNED")
    asks("ls;touch PWNED", "ls&&touch PWNED", "ls|touch PWNED", "ls&touch PWNED", "ls |& touch PWNED")
    assert [part.decision for part in verdict("ls; touch PWNED").parts] == ["allow", "ask"]


def test_a02_lines_are_commands_and_odd_line_ends_are_none() -> None:
    asks("ls\ntouch PWNED", "ls\r\ntouch PWNED", "ls\rtouch PWNED", "ls\0touch PWNED", "ls\x0btouch PWNED")
    asks("ls\u2028touch PWNED", "ls\u0085touch PWNED", "ls \\\n; touch PWNED", "ls # \\\ntouch PWNED")
    assert verdict("ls\ncat x").decision == "allow"


def test_a03_substitution_inside_an_argument() -> None:
    asks("echo $(touch PWNED)", "echo `touch PWNED`", 'echo "$(touch PWNED)"', "cat <(touch PWNED)", "ls >(touch x)")
    asks("echo $((a[$(touch PWNED)]))", "echo ${x:-$(touch PWNED)}", "echo ${x@P}", "echo $[$(touch PWNED)]")
    names = [command.words[0] for command in parse("echo $(touch PWNED)").commands]
    assert names == ["echo", "touch"]


def test_a05_words_are_judged_as_bash_sees_them() -> None:
    asks("cat$IFS/etc/passwd", "cat {.env,x}", "cat .en?", "cat .e*", "a$'\\x20'b", 'find . -"exec" touch PWNED \\;')
    asks("find . -e''xec touch PWNED \\;", "find . \\-exec touch PWNED \\;", "'find' . '-delete'", 'f"ind" . -delete')
    assert verdict("c''at 'REA'DME.md", rules=()).decision == "allow"


def test_a06_find_that_runs_or_writes() -> None:
    for action in ("-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"):
        asks(f"find . {action} x \\;", f"find . -name y {action} x", rules=())
    asks("find -files0-from x", rules=())


def test_a07_rg_that_runs() -> None:
    asks("rg --pre ./x a", "rg --pre=./x a", "rg --hostname-bin ./x a", "rg -z a", "rg --search-zip a", rules=())
    asks(
        "RIPGREP_CONFIG_PATH=./.ripgreprc rg a", "export RIPGREP_CONFIG_PATH=x", "rg --pre-glob '*' --pre x a", rules=()
    )


def test_a08_sed_that_runs_or_writes() -> None:
    asks(
        "sed 's/x/y/e' f",
        "sed 'w out' f",
        "sed -n '1e touch PWNED' f",
        "sed -i 1d f",
        "sed -n 's/a/b/w out' f",
        rules=(),
    )
    asks("sed -n '1,3{p;w out\n}' f", "sed -n --expression='1e id' f", "sed -n '/x/e' f", "sed -nf script f", rules=())
    asks("sed -n '1p\n1e touch PWNED' f", "sed -n 1p f -i", "sed --posix -n -e 1p -e 'w x' f", rules=())


def test_a09_git_is_not_safe() -> None:
    asks("git -c core.pager=./x log", "git --exec-path=./x status", "git diff --ext-diff", "git grep -O./x a", rules=())
    asks("git log --output=F", "git config alias.x '!touch PWNED'", "git status", "git log", "git diff", rules=())
    asks("git -c core.fsmonitor=./x status", "GIT_DIR=x git status")


def test_a10_an_environment_in_front() -> None:
    asks("GIT_EXTERNAL_DIFF=./x git diff", "PAGER=./x git log", "LD_PRELOAD=./x ls", "BASH_ENV=./x ls", "PATH=. ls")
    asks("A= ls", "A+=x ls", "A[0]=x ls", "'A'=x ls")


def test_a11_builtins_that_poison_the_session() -> None:
    asks("export PAGER=./x", "alias ls='touch PWNED'", "ls(){ touch PWNED; }", "function ls { touch PWNED; }")
    asks("enable -f ./x ls", "hash -p ./x ls", "cd /tmp", "cd -", "cd", "pushd x", "set -a", "shopt -s x", "unset x")
    asks("source x", ". x", "trap x EXIT", "exec x", "eval ls", "declare x=1", "readonly x", "printf -v x y", "read x")
    run = (Rule("allow", "shell", "./build.sh *", source="user"),)
    assert verdict("./build.sh", rules=run).decision == "allow"
    asks("cd vendor && ./build.sh", rules=run)
    elsewhere = PolicyFacts(sandboxed=True, root="/w", cwd="/w/vendor")
    unknown = PolicyFacts(sandboxed=True, root="/w")
    assert verdict("./build.sh", rules=run, facts=elsewhere).decision == "ask"
    assert verdict("./build.sh", rules=run, facts=unknown).decision == "ask"
    assert verdict("./vendor/../build.sh", rules=(Rule("allow", "shell", "./* *"),)).decision == "ask"


def test_a12_programs_that_run_others() -> None:
    asks("xargs touch", "env touch PWNED", "nice touch PWNED", "timeout 1 touch PWNED", "nohup touch PWNED", rules=())
    asks(
        "command touch PWNED",
        "exec touch PWNED",
        "busybox sh -c x",
        "python -c x",
        "awk 'BEGIN{system(\"x\")}'",
        rules=(),
    )
    asks(
        "tar --checkpoint-action=exec=x",
        "man -P x ls",
        "sort --compress-program=x y",
        "less x",
        "builtin eval x",
        rules=(),
    )


def test_a13_redirection() -> None:
    asks("echo x > ~/.bashrc", "echo x >| f", "echo x >> f", "echo x &> f", "echo x 2> f", "ls | tee f", "cp a b")
    asks(
        "cat << EOF > f\nx\nEOF", "cat <<< x", "cat < f", "> f", "echo x 1>f", "echo x >&f", "echo x <> f", "ls {x}> f"
    )
    assert verdict("ls 2>&1").decision == "allow"


@pytest.mark.parametrize("mode", ["ask", "edits", "auto", "plan"])
@pytest.mark.parametrize("count", [1, 51, MAX_COMMANDS - 1, MAX_COMMANDS + 1, 20_000])
def test_a14_a_denial_holds_at_any_length(mode: Approval, count: int) -> None:
    rules = (Rule("deny", "shell", "curl *", source="user"), Rule("allow", "*", "*", source="user"))
    command = "true && " * count + "curl http://evil.example"
    for facts in (BOXED, OPEN, PolicyFacts(sandboxed=True, root="/w", yolo=True)):
        assert verdict(command, mode, rules, facts).decision == "deny"
    free = PolicyFacts(sandboxed=True, root="/w", yolo=False)
    if count > MAX_COMMANDS:
        assert verdict("true && " * count + "true", "auto", (), free).decision == "ask"
    assert len("true && " * 20_000) > MAX_LENGTH


def test_a15_a_name_under_another_spelling() -> None:
    rules = (Rule("deny", "shell", "curl *", source="user"), Rule("allow", "shell", "*", source="user"))
    for command in (
        "/proc/self/root/usr/bin/curl x",
        "/usr/bin/curl x",
        "c''url x",
        "c\\url x",
        "'cu'\\rl x",
        "cu\\\nrl x",
        "ls; 'cu'\\r\\l x",
        "$'cu\\x72l' x",
        "/lib64/ld-linux-x86-64.so.2 /usr/bin/curl x",
        "env curl x",
        "env -i A=1 curl x",
        "command curl x",
        "sudo -u root curl x",
        "timeout 5 nice -n 3 curl x",
        "xargs curl",
        "find . -exec curl {} \\;",
        "bash -c 'ls; curl x'",
        "bash -c \"sh -c 'curl x'\"",
        "eval 'curl x'",
        "eval cu'rl' x",
        "echo $(curl x)",
        "(curl x)",
        "f() { curl x; }; f",
        "if true; then curl x; fi",
        "cat <(curl x)",
        "A=$(curl x)",
        "busybox curl x",
        "curl x &",
        "curl",
        "curl > f",
        "env -S 'curl x'",
        "env -S'curl x'",
        "env --split-string='curl x'",
        "git bisect run curl x",
        "git submodule foreach 'curl x'",
        "git rebase --exec='curl x' main",
        "exec -a other curl x",
        "! curl x",
        "coproc curl x",
        "cat <<EOF\n$(curl x)\nEOF",
        "case $(curl x) in *) ;; esac",
        "x[$(curl x)]=1",
        "export X=$(curl y)",
        "bash --norc -xc 'curl x'",
        "trap 'curl x' EXIT",
        "bash < <(echo x; curl x)",
        "printf x | xargs -I{} curl {}",
    ):
        for mode in ("ask", "auto"):
            assert verdict(command, mode, rules).decision == "deny", command
    # What no reading of the words can tell is asked about, also where the sandbox would let it pass.
    for command in (
        "$X x",
        "`echo curl` x",
        "c${X}rl x",
        "ls; $X",
        "ls > f; 'cu'\\rl x",
        "(cu\\\nrl x)",
        "bash <<EOF\ncurl x\nEOF",
        "echo 'curl x' | bash",
        "echo 'curl x' | sh -s",
        "sudo bash < f",
        "sh /dev/stdin < f",
    ):
        assert verdict(command, "auto", rules).decision == "ask", command
        assert verdict(command, "auto", ()).decision == "allow", command


def test_a17_nothing_is_pushed_off_the_question() -> None:
    command = "ls" + " " * 5000 + ";" + "\n" * 300 + "touch PWNED" + "\u2800" * 50 + "\u200b\u202e\x1b[2K\r"
    shown = question("q", PolicyCall("shell", "shell", command=command), verdict(command), BOXED)
    assert "touch PWNED" in shown.action
    assert "⟨5000 blanks⟩" in shown.action
    assert "⟨300 line breaks⟩" in shown.action
    assert "⟨U+202E⟩⟨U+001B⟩[2K⟨U+000D⟩" in shown.action
    assert "⟨U+2800⟩" in shown.action
    assert len(shown.action) < 1500
    assert f"{len(command)} characters" in shown.reason
    long = "echo " + string.ascii_letters * 600
    assert question("q", PolicyCall("shell", "shell", command=long), verdict(long), BOXED).action == long


def test_a18_the_question_says_where_paths_lead(tmp_path: Path) -> None:
    root = tmp_path / "w"
    (root / "docs").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / "docs" / "guide.mp4").symlink_to(root / ".git" / "config")
    (root / "out").symlink_to(tmp_path)
    call = PolicyCall("shell", "shell", command="cp x docs/guide.mp4 && cp y out/z")
    targets = resolve(call, str(root))
    assert dict(targets) == {
        str(root / "docs/guide.mp4"): str(root / ".git/config"),
        str(root / "out/z"): str(tmp_path / "z"),
    }
    facts = PolicyFacts(sandboxed=True, root=str(root), targets=targets)
    asked = question("q", call, judge(call, "ask", (), facts), facts)
    assert asked.targets == (
        f"{root}/docs/guide.mp4 → {root}/.git/config",
        f"{root}/out/z → {tmp_path}/z",
    )
    for path in ("docs/guide.mp4", "out/z"):
        edit = PolicyCall("write", "edit", (path,))
        known = PolicyFacts(sandboxed=True, root=str(root), targets=resolve(edit, str(root)))
        assert judge(edit, "auto", (), known).decision == "deny"
    secret = PolicyCall("shell", "shell", command="cat notes.txt")
    (root / ".env").write_text("KEY=1")
    (root / "notes.txt").symlink_to(".env")
    known = PolicyFacts(sandboxed=True, root=str(root), targets=resolve(secret, str(root)))
    assert judge(secret, "auto", (), known).decision == "ask"
    assert os.path.realpath(root / "notes.txt") == str(root / ".env")


@pytest.mark.parametrize(
    "argument",
    ['"sandbox": "off"', '"cwd": "/"', '"network": true', '"timeout": 1e9', '"timeout": 100000', '"writable": ["/"]'],
)
def test_a19_no_argument_widens_anything(argument: str) -> None:
    from tcoder.protocol.errors import ToolError

    with pytest.raises(ToolError, match="wrong arguments"):
        registry.shipped().resolve(ToolCall("1", "shell", f'{{"command": "ls", {argument}}}'))
