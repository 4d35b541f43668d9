"""Rules: what they match, how they are read, and what wins."""

import pytest

from tcoder.protocol.errors import UsageError
from tcoder.protocol.permissions import Approval, Decision, Rule
from tcoder.tools.policy.commands import parse
from tcoder.tools.policy.judge import PolicyCall, PolicyFacts, PolicyKind, always_rule, judge, rule_from
from tcoder.tools.policy.rules import check, describe, load_rules, matches_command, narrowing

FACTS = PolicyFacts(sandboxed=True, root="/w", cwd="/w")
GOOD = """
[[rules]]
decision = "allow"
tool = "shell"
match = "pytest *"
matches = ["pytest", "pytest -q tests", "pytest -q && pytest -x"]
misses = ["python -m pytest", "pytest; rm x", "pytest $(id)", "pytester"]

[[rules]]
decision = "deny"
tool = "shell"
match = "curl *"
matches = ["curl x", "ls; curl x"]
misses = ["curlew"]

[[rules]]
decision = "deny"
tool = "edit"
match = "migrations/*"
matches = ["migrations/0001.sql", "migrations/a/b.sql", "migrations"]
misses = ["src/migrations/x"]
"""


def shell(command: str) -> PolicyCall:
    return PolicyCall("shell", "shell", command=command)


def test_rules_are_read_in_order() -> None:
    rules = load_rules(GOOD, "own.toml")
    assert [describe(rule) for rule in rules] == [
        "allow shell pytest *",
        "deny shell curl *",
        "deny edit migrations/*",
    ]
    assert {rule.source for rule in rules} == {"own.toml"}
    assert load_rules("", "own.toml") == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[rules]", "own.toml is not valid TOML"),
        ("[rule]\nx = 1", "own.toml: unknown key 'rule'"),
        ("rules = 3", "rules is not an array"),
        ("rules = [3]", "own.toml: rule 1: Expected `object`"),
        ('[[rules]]\ndecision = "maybe"\ntool = "shell"', r"own.toml:1: rule 1: .*maybe"),
        ('[[rules]]\ntool = "shell"', "own.toml:1: rule 1: .*decision"),
        ('[[rules]]\ndecision = "ask"\ntool = ""', "tool and match may not be empty"),
        ('[[rules]]\ndecision = "ask"\ntool = "shell"\nmatch = " "', "may not be empty"),
        ('[[rules]]\ndecision = "ask"\ntool = "shell"\nmatch = "echo \'x"', "open quote"),
        ('[[rules]]\ndecision = "ask"\ntool = "shell"\nmatche = "x"', r"own.toml:1: .*matche.*did you mean 'match"),
        (GOOD.replace('misses = ["curlew"]', 'misses = ["curl"]'), "own.toml:9: rule 2: .*should not match 'curl'"),
        (GOOD.replace('"pytest -q tests"', '"python x"'), "own.toml:2: rule 1: .*should match 'python x'"),
        (GOOD.replace('"src/migrations/x"', '"migrations/x"'), "own.toml:16: rule 3: .*should not match"),
        (GOOD + "\n[other]\nx = 1", "unknown key 'other'"),
    ],
)
def test_a_wrong_rule_is_named_with_its_place(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        load_rules(text, "own.toml")


@pytest.mark.parametrize(
    ("pattern", "command", "expected"),
    [
        ("pytest *", "pytest", "yes"),
        ("pytest *", "pytest -q x", "yes"),
        ("pytest *", "pytester", "no"),
        ("pytest", "pytest -q", "no"),
        ("*", "anything at all", "yes"),
        ("git log *", "git log -3", "yes"),
        ("git log *", "git -C x log", "no"),
        ("git * --force*", "git push origin --force-with-lease", "yes"),
        ("git * --force*", "git push origin", "no"),
        ("git * push *", "git -C x push y z", "yes"),
        ('echo "a b"', "echo 'a b'", "yes"),
        ('echo "a b"', "echo a b", "no"),
        ("npm test *", "'npm test' x", "no"),
        ("npm run test:*", "npm run test:unit", "yes"),
        ("curl *", "curl $X", "yes"),
        ("curl *", "$X y", "perhaps"),
        ("git push *", "git $X", "perhaps"),
        ("git push *", "git $X origin", "perhaps"),
        ("git push *", "git log $X", "no"),
        ("rm -r *", "rm $X y", "perhaps"),
        ("rm -r", "rm -r $X", "perhaps"),
    ],
)
def test_a_pattern_speaks_of_words(pattern: str, command: str, expected: str) -> None:
    assert matches_command(Rule("deny", "shell", pattern), parse(command).commands[0]) == expected


@pytest.mark.parametrize(
    ("decisions", "command", "mode", "expected"),
    [
        ({"pytest *": "allow"}, "pytest -q", "ask", "allow"),
        ({"pytest *": "allow"}, "pytest -q && git diff | head", "ask", "ask"),
        ({"pytest *": "allow", "git diff *": "allow"}, "pytest -q && git diff | head", "ask", "allow"),
        ({"pytest *": "allow", "git diff *": "allow"}, "pytest -q 2>&1 | tail -3; git diff --stat", "edits", "allow"),
        ({"pytest *": "allow"}, "pytest -q > out.txt", "ask", "ask"),
        ({"pytest *": "allow"}, "X=1 pytest -q", "ask", "ask"),
        ({"pytest *": "allow"}, "pytest $X", "ask", "ask"),
        ({"pytest *": "allow"}, "./pytest -q", "ask", "ask"),
        ({"pytest *": "allow"}, "pytest -q", "plan", "deny"),
        ({"*": "allow"}, "pytest -q", "ask", "allow"),
        ({"*": "allow"}, "git reset --hard", "auto", "ask"),
        ({"*": "allow", "git *": "deny"}, "git log", "auto", "deny"),
        ({"*": "allow", "git *": "ask"}, "git log", "auto", "ask"),
        ({"git *": "allow", "git push *": "deny"}, "git push", "auto", "deny"),
        ({"git push *": "deny"}, "git push -f", "plan", "deny"),
        ({"ls *": "deny"}, "ls", "ask", "deny"),
        ({"ls *": "ask"}, "ls | cat", "auto", "ask"),
        ({"ls *": "ask"}, "echo $(ls)", "auto", "ask"),
        ({"git log *": "allow"}, "git log --oneline -3", "ask", "allow"),
        ({"git log *": "allow"}, "git log --output=F", "ask", "ask"),
        ({"git log * --output=F": "allow"}, "git log -3 --output=F", "ask", "allow"),
        ({"git *": "allow"}, "git -c core.pager=./x log", "ask", "ask"),
        ({"find *": "allow"}, "find . -exec touch x ;", "ask", "ask"),
        ({"sed *": "allow"}, "sed s/a/b/ f", "ask", "allow"),
        ({"sed *": "allow"}, "sed s/a/b/e f", "ask", "ask"),
        ({"sed *": "allow"}, "sed -e s/a/b/ -e 'w x' f", "ask", "ask"),
        ({"sed -i *": "allow"}, "sed -i s/a/b/ f", "ask", "allow"),
        ({"make *": "allow"}, "make test", "ask", "allow"),
        ({"make *": "allow"}, "make -f evil.mk", "ask", "ask"),
        ({"nonsense *": "deny"}, "true \x1b", "auto", "ask"),
    ],
)
def test_the_most_restrictive_wins(
    decisions: dict[str, Decision], command: str, mode: Approval, expected: Decision
) -> None:
    rules = tuple(Rule(decision, "shell", pattern) for pattern, decision in decisions.items())
    assert judge(shell(command), mode, rules, FACTS).decision == expected
    assert judge(shell(command), mode, tuple(reversed(rules)), FACTS).decision == expected


@pytest.mark.parametrize(
    ("rule", "command", "expected"),
    [
        (Rule("deny", "read", "secret/*"), "cat secret/x", "deny"),
        (Rule("deny", "read", "secret/*"), "python x.py ./src/../secret/x", "deny"),
        (Rule("deny", "read", "secret/*"), "python x.py --file=secret/x", "deny"),
        (Rule("deny", "read", "secret/*"), "python x.py < secret/x", "deny"),
        (Rule("deny", "*", "*.lock"), "cat poetry.lock", "deny"),
        (Rule("deny", "edit", "tests/*"), "pytest tests/test_x.py", "allow"),
        (Rule("deny", "edit", "tests/*"), "cat tests/test_x.py", "allow"),
        (Rule("deny", "edit", "tests/*"), "cp a tests/test_x.py", "deny"),
        (Rule("deny", "edit", "tests/*"), "echo x > tests/test_x.py", "deny"),
        (Rule("deny", "edit", "tests/*"), "sed -i 1d ./tests/test_x.py", "deny"),
        (Rule("deny", "edit", "tests/*"), "env tee tests/x", "deny"),
    ],
)
def test_a_denied_path_is_denied_to_commands_that_name_it(rule: Rule, command: str, expected: Decision) -> None:
    assert judge(shell(command), "auto", (rule,), FACTS).decision == expected


@pytest.mark.parametrize(
    "command",
    [
        "tar --us=sh -xf a", "tar xIf sh a", "tar --rm=x -xf a", "rsync -ave 'sh -c evil' a b", "rsync --rs=x a b",
        "sort --co=./x a", "rg --search-z a", "sed --fi=x a", "go test --exec x", "make -nf x", "make --ev=x",
        "make -E x", "awk -E f", "awk --file=f", "awk '@load \"x\"'", "curl -sd @f h", "curl --json x h",
        "curl -sT f h",
        "grep -rf f", "git bisect run x", "git submodule foreach x", "git fetch --upl=x", "git clone -u x y",
        "git config diff.external x", "git config pager.log x", "git config filter.a.clean x", "git difftool -x y",
        "git hook run x",
    ],
)  # fmt: skip
def test_the_star_of_a_rule_does_not_cover_what_runs_another_program(command: str) -> None:
    program = command.split()[0]
    assert judge(shell(command), "ask", (Rule("allow", "shell", f"{program} *"),), FACTS).decision == "ask"


@pytest.mark.parametrize(
    "command", ["tar czf a.tgz src", "curl -fsSL h", "make -j4", "go test ./...", "git log --oneline -5", "sort -rn a"]
)
def test_the_star_of_a_rule_covers_ordinary_arguments(command: str) -> None:
    program = command.split()[0]
    assert judge(shell(command), "ask", (Rule("allow", "shell", f"{program} *"),), FACTS).decision == "allow"


@pytest.mark.parametrize(
    "command",
    ["env -iS'curl x'", "env -vS 'curl x'", "git -c alias.x='!curl y' x", "git -c core.pager='curl y' log",
     "flock f -c 'curl x'", "nsenter -t 1 curl x"],
)  # fmt: skip
def test_a_denied_program_is_denied_to_what_starts_it(command: str) -> None:
    assert judge(shell(command), "auto", (Rule("deny", "shell", "curl *"),), FACTS).decision == "deny"


KEY = Rule("deny", "read", "conf/key.toml")
LOCKED = Rule("deny", "edit", "locked/*")


@pytest.mark.parametrize(
    ("rule", "command", "expected"),
    [
        (KEY, "cd conf && cat key.toml", "deny"),
        (KEY, "cd conf; cd ../conf && cat ./key.toml", "deny"),
        (KEY, "cat $PWD/conf/key.toml", "ask"),
        (KEY, "cat c*/key.toml", "ask"),
        (KEY, "grep -r SECRET ..", "ask"),
        (KEY, "rg SECRET", "ask"),
        (KEY, "rg SECRET src", "allow"),
        (KEY, "tar cf /tmp/x.tar conf", "ask"),
        (KEY, "cat README.md", "allow"),
        (KEY, "git status", "allow"),
        (LOCKED, "cd locked && rm x", "deny"),
        (LOCKED, "touch lo*/x", "ask"),
        (LOCKED, "cat locked/x", "allow"),
    ],
)
def test_a_denied_path_is_denied_from_every_folder(rule: Rule, command: str, expected: Decision) -> None:
    facts = PolicyFacts(sandboxed=True, root="/work/app", cwd="/work/app")
    assert judge(shell(command), "auto", (rule,), facts).decision == expected


def test_a_denied_path_is_denied_where_the_shell_stands_in_its_folder() -> None:
    facts = PolicyFacts(sandboxed=True, root="/work/app", cwd="/work/app/conf")
    assert judge(shell("cat key.toml"), "auto", (KEY,), facts).decision == "deny"


@pytest.mark.parametrize("tool", ["shell", "job", "test"])
def test_a_rule_for_commands_holds_whatever_tool_runs_them(tool: str) -> None:
    call = PolicyCall(tool, "shell", command="touch via-job")
    assert judge(call, "auto", (Rule("deny", "shell", "touch *"),), FACTS).decision == "deny"
    assert judge(call, "ask", (Rule("allow", "shell", "touch *"),), FACTS).decision == "allow"


def test_a_project_may_only_restrict() -> None:
    rules = (Rule("allow", "shell", "*", source="project settings"), Rule("deny", "shell", "ls *", source="project"))
    assert judge(shell("pytest"), "ask", rules, FACTS).decision == "ask"
    assert judge(shell("ls"), "ask", rules, FACTS).decision == "deny"
    assert narrowing(rules) == rules[1:]


def test_yolo_asks_nobody_and_still_obeys() -> None:
    facts = PolicyFacts(sandboxed=False, root="/w", yolo=True)
    assert judge(shell("git reset --hard"), "auto", (), facts).decision == "allow"
    assert judge(shell("git reset --hard"), "auto", (Rule("deny", "shell", "git *"),), facts).decision == "deny"
    assert judge(shell("pytest"), "plan", (), facts).decision == "deny"


CALLS: list[tuple[PolicyKind, str, str]] = [
    # kind, path, verdicts in ask, edits, auto, plan
    ("read", "src/app.py", "aaaa"),
    ("read", "", "aaaa"),
    ("read", ".env", "kkkk"),
    ("read", ".env.example", "aaaa"),
    ("read", "src/.env/../app.py", "aaaa"),
    ("read", "../other/x", "kkkk"),
    ("read", "/etc/passwd", "kkkk"),
    ("read", "/w-evil/x", "kkkk"),
    ("read", "/root/.ssh/id_rsa", "kkkk"),
    ("read", "/proc/self/environ", "dddd"),
    ("read", "/w/../proc/self/environ", "dddd"),
    ("read", "/dev/zero", "dddd"),
    ("read", "/sys/x", "dddd"),
    ("read", "src/credentials.py", "aaaa"),
    ("read", "src/keyboard.py", "aaaa"),
    ("edit", "src/app.py", "kaad"),
    ("edit", "./src/../src/app.py", "kaad"),
    ("edit", ".git/config", "dddd"),
    ("edit", ".git", "dddd"),
    ("edit", ".GIT/config", "dddd"),
    ("edit", ".g\u200bit/config", "dddd"),
    ("edit", "vendor/x/.git/hooks/pre-commit", "dddd"),
    ("edit", ".tcoder/config.toml", "dddd"),
    ("edit", "src/../.git/config", "dddd"),
    ("edit", ".gitignore", "kaad"),
    ("edit", "../x", "dddd"),
    ("edit", "/etc/passwd", "dddd"),
    ("edit", "/w-evil/x", "dddd"),
    ("edit", ".vscode/tasks.json", "kkkd"),
    ("edit", ".mcp.json", "kkkd"),
    ("edit", ".envrc", "kkkd"),
    ("edit", ".env", "kkkd"),
    ("edit", "AGENTS.md", "kaad"),
    ("network", "", "kkkk"),
    ("other", "", "kkkd"),
    ("shell", "", "kkad"),
]


@pytest.mark.parametrize(("kind", "path", "letters"), CALLS)
def test_calls_about_paths(kind: PolicyKind, path: str, letters: str) -> None:
    call = PolicyCall("something", kind, (path,) if path else ())
    modes: tuple[Approval, ...] = ("ask", "edits", "auto", "plan")
    found = "".join({"allow": "a", "ask": "k", "deny": "d"}[judge(call, mode, (), FACTS).decision] for mode in modes)
    assert found == letters


def test_the_strictest_of_several_paths_counts() -> None:
    call = PolicyCall("edit", "edit", ("src/a.py", ".git/config"))
    assert judge(call, "auto", (Rule("allow", "edit", "*"),), FACTS).decision == "deny"
    assert judge(PolicyCall("edit", "edit", ("src/a.py", "b.py")), "edits", (), FACTS).decision == "allow"


def test_a_rule_for_a_path_holds_for_each_of_its_spellings() -> None:
    rules = (Rule("deny", "read", "docs/secret.txt"),)
    for path in ("docs/secret.txt", "./docs/secret.txt", "src/../docs/secret.txt", "/w/docs/secret.txt"):
        assert judge(PolicyCall("read", "read", (path,)), "auto", rules, FACTS).decision == "deny"
    linked = PolicyFacts(sandboxed=True, root="/w", targets=(("/w/link", "/w/docs/secret.txt"),))
    assert judge(PolicyCall("read", "read", ("link",)), "auto", rules, linked).decision == "deny"


def test_only_a_rule_that_names_a_guarded_file_loosens_it() -> None:
    call = PolicyCall("edit", "edit", (".vscode/tasks.json",))
    assert judge(call, "auto", (Rule("allow", "edit", "*"),), FACTS).decision == "ask"
    assert judge(call, "auto", (Rule("allow", "edit", ".vscode/tasks.json"),), FACTS).decision == "allow"


def test_writable_and_protected_folders_are_facts() -> None:
    facts = PolicyFacts(sandboxed=True, root="/w", writable=("/data",), protected=("gen/*",))
    assert judge(PolicyCall("edit", "edit", ("/data/x",)), "auto", (), facts).decision == "allow"
    assert judge(PolicyCall("edit", "edit", ("gen/x",)), "auto", (), facts).decision == "deny"
    assert judge(PolicyCall("edit", "edit", ("/data/.git/config",)), "auto", (), facts).decision == "deny"


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("pytest -q tests", "pytest *"),
        ("pytest -q 2>&1 | tail -5", "pytest *"),
        ("cd src && cargo test --all", "cargo test *"),
        ("npm run build", "npm run build"),
        ("python -m pytest -q", "python -m pytest -q"),
        ("git diff HEAD~1", "git diff HEAD~1"),
        ("echo 'a b' && touch 'my file'", 'touch "my file"'),
        ("rm notes.txt", "rm notes.txt"),
        ("coverage run evil.py", "coverage run evil.py"),
        ("bundle exec rspec", "bundle exec rspec"),
        ("go run x.go", "go run x.go"),
        ("go test ./...", "go test *"),
        ("git reset --hard", ""),
        ("rm -rf build", ""),
        ("pytest && make", ""),
        ("pytest > x", ""),
        ("pytest $X", ""),
        ("touch 'a*'", ""),
        ("touch a\u202eb", ""),
        ("python -c 'print(1)\nprint(2)'", ""),
        ("touch ''", ""),
    ],
)
def test_always_adds_the_narrowest_rule(command: str, pattern: str) -> None:
    rule = always_rule(shell(command))
    assert (rule.match if rule else "") == pattern
    if rule:
        assert judge(shell(command), "ask", (rule,), FACTS).decision == "allow"
        assert rule_from(rule.match, shell(command)) == rule


def test_always_for_other_tools() -> None:
    assert always_rule(PolicyCall("edit", "edit", ("a.py",))) == Rule("allow", "edit", "a.py", source="person")
    assert always_rule(PolicyCall("edit", "edit", ("a.py", "b.py"))) is None
    assert always_rule(PolicyCall("test", "shell")) == Rule("allow", "test", "*", source="person")


@pytest.mark.parametrize("pattern", ["", "  ", "ls *", "echo 'x"])
def test_a_rule_that_a_person_typed_must_fit(pattern: str) -> None:
    with pytest.raises(UsageError):
        rule_from(pattern, shell("pytest -q"))


def test_check_refuses_examples_that_lie() -> None:
    with pytest.raises(UsageError, match="settings rule 2"):
        check(Rule("allow", "shell", "ls *", matches=("cat x",)), "settings rule 2")
