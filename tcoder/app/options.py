"""What the command line said, as a value."""

from decimal import Decimal
from typing import Any, Literal

from msgspec import Struct

from tcoder.protocol.budget import Tier
from tcoder.protocol.permissions import Approval
from tcoder.protocol.variant import Dialect, Effort

COMMANDS = (
    "run",
    "locate",
    "index",
    "apply",
    "diff",
    "review",
    "commit",
    "timeline",
    "undo",
    "redo",
    "sessions",
    "policy",
    "models",
    "config",
    "doctor",
    "web",
    "reset",
)

OutputFormat = Literal["text", "json", "stream-json"]


class Options(Struct, frozen=True):
    """Flags of a run, and the command with its own arguments. None or empty = not said."""

    command: str = ""
    task: str | None = None
    path: str = "."
    arguments: tuple[str, ...] = ()
    plain: bool = False
    # the model
    model: str = ""
    base_url: str = ""
    api: Dialect | None = None
    variant: Literal["fast", "standard", "auto"] | None = None
    effort: Effort | None = None
    strategy: Literal["auto", "agent", "guided"] | None = None
    # who decides, and boundaries
    approval: Approval | None = None
    yolo: bool = False
    sandbox: Literal["on", "off"] | None = None
    network: Literal["on", "off", "allowlist"] | None = None
    add_dirs: tuple[str, ...] = ()
    trust: bool = False
    allowed_tools: tuple[str, ...] = ()
    append_system_prompt: str = ""
    # proof
    test_cmd: str = ""
    no_tests: bool = False
    log: str = ""
    patch_out: str = ""
    summary_out: str = ""
    # budgets
    budget: Tier | None = None
    max_turns: int | None = None
    max_cost: Decimal | None = None
    max_tokens: int | None = None
    max_time: float | None = None
    # sessions
    resume_last: bool = False
    resume: str | None = None
    fork: bool = False
    checkpoint: str = ""
    session_id: str = ""
    no_session: bool = False
    # where, and how it is told
    config_file: str = ""
    profile: str = ""
    output_format: OutputFormat = "text"
    color: Literal["auto", "always", "never"] = "auto"
    quiet: bool = False
    verbose: bool = False
    debug: str = ""
    # of single commands
    limit: int = 10
    why: bool = False
    check: bool = False
    rebuild: bool = False
    message: str = ""
    accept: tuple[str, ...] | None = None
    reject: tuple[str, ...] | None = None
    all: bool = False
    no_hooks: bool = False
    needle: bool = False

    @property
    def json(self) -> bool:
        return self.output_format in ("json", "stream-json")

    def settings(self) -> dict[str, Any]:
        """What the flags say in the words of the settings."""
        said: dict[str, Any] = {
            "model": self.model,
            "base_url": self.base_url,
            "api": self.api,
            "variant": self.variant,
            "effort": self.effort,
            "strategy": self.strategy,
            "approval": "auto" if self.yolo else self.approval,
            "sandbox": self.sandbox,
            "network": self.network,
            "add_dirs": self.add_dirs,
        }
        budget = {
            "tier": self.budget,
            "max_turns": self.max_turns,
            "max_cost": self.max_cost,
            "max_tokens": self.max_tokens,
            "max_time_s": self.max_time,
        }
        flags = {key: value for key, value in said.items() if value not in (None, "", ())}
        flags["budget"] = {key: value for key, value in budget.items() if value is not None}
        flags["checks"] = {"test": self.test_cmd} if self.test_cmd else {}
        return flags
