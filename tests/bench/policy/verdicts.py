"""How long a verdict takes: `python tests/bench/policy/verdicts.py`. Prints medians in milliseconds.

Every command of the shipped table is judged with the parser's memory emptied, as each new command would be; then long
and nested ones; then what the first command of a process costs on top, in a process of its own.
"""

import statistics
import subprocess
import sys
import time
from pathlib import Path

from tcoder.protocol.permissions import Rule
from tcoder.tools.policy import command_verdicts as policy_commands
from tcoder.tools.policy import commands
from tcoder.tools.policy.commands_destructive import destroys
from tcoder.tools.policy.judge import PolicyCall, PolicyFacts, judge

TABLE = Path(__file__).parents[2] / "tools" / "data" / "policy_commands.txt"
FACTS = PolicyFacts(sandboxed=True, root="/w", cwd="/w")
RULES = tuple(
    Rule(decision, "shell", f"{name} *")
    for name in ("pytest", "make", "npm test", "git diff", "curl", "docker", "cargo build", "ruff", "mypy", "terraform")
    for decision in ("allow", "ask", "deny")
    if not (name == "pytest" and decision != "allow")
)
FIRST = """
import time
a = time.perf_counter()
from tcoder.tools.policy import judge as policy
b = time.perf_counter()
call = policy.PolicyCall("shell", "shell", command="pytest -q | tail -3")
facts = policy.PolicyFacts(sandboxed=True, root="/w")
policy.judge(call, "ask", (), facts)
c = time.perf_counter()
import sys
print((b - a) * 1000, (c - b) * 1000, "tree_sitter" in sys.modules)
"""


def milliseconds(command: str, rules: tuple[Rule, ...], rounds: int = 5) -> float:
    times: list[float] = []
    for _ in range(rounds):
        commands.parse.cache_clear()
        commands.started_by.cache_clear()
        destroys.cache_clear()
        policy_commands._speaks_of.cache_clear()
        began = time.perf_counter()
        judge(PolicyCall("shell", "shell", command=command), "ask", rules, FACTS)
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def main() -> None:
    table = [
        line.replace("⏎", "\n")
        for line in TABLE.read_text(encoding="utf-8").splitlines()
        if line and not line.startswith(("#", "=="))
    ]
    milliseconds("true", ())
    for name, rules in (("no rules", ()), (f"{len(RULES)} rules", RULES)):
        times = sorted(milliseconds(command, rules) for command in table)
        print(
            f"{len(table)} commands of the table, {name}: median {statistics.median(times):.3f}, "
            f"p95 {times[int(len(times) * 0.95)]:.3f}, worst {times[-1]:.3f}"
        )
    for name, command in (
        ("a here-document of 30 kB", "cat > f <<'EOF'\n" + "x = 1  # some text\n" * 1550 + "EOF"),
        ("256 commands", " && ".join(["pytest -q"] * 256)),
        ("200 nested shells", "bash -c '" * 200),
        ("32 kB of brackets", "(" * 32_000),
        ("32 kB of substitutions", "$(" * 16_000),
        ("200 kB", "true;" * 40_000),
    ):
        print(f"{name}: {milliseconds(command, RULES, 3):.2f}")
    first = [
        subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(5)
    ]
    print(f"import of the policy: {statistics.median(float(one[0]) for one in first):.1f}")
    print(f"the first command, with the parser's load: {statistics.median(float(one[1]) for one in first):.1f}")


if __name__ == "__main__":
    main()
