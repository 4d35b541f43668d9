"""What a front end may want to know besides the events, and the answers.

A query changes nothing and is not recorded. Each docstring names the answer; a session that cannot give it answers
`Unavailable` with a reason that is shown to the person.
"""

from typing import Literal

from msgspec import Struct

from tcoder.protocol.budget import Usage
from tcoder.protocol.messages import ToolSpec
from tcoder.protocol.permissions import Rule
from tcoder.protocol.variant import Effort, VariantName

ResumeKind = Literal["startup", "new", "resume", "fork", "demo"]


class SessionChoice(Struct, frozen=True):
    """Which session to connect to: the one of the command line, a new one, a stored one (`id`), a fork of a stored one,
    at its end or at `checkpoint`, or the demo: a toy repository with a model that plays a script."""

    kind: ResumeKind = "startup"
    id: str = ""
    checkpoint: str = ""


class CompletePaths(Struct, frozen=True, tag="complete_paths"):
    """Files and folders that fit `text`, best first, ignored files left out. Answer: `PathMatches`."""

    text: str
    limit: int = 50


class PreviewChange(Struct, frozen=True, tag="preview_change"):
    """What changed from a checkpoint or patch (its state before) until now; empty id = since the session began.
    Answer: `ChangePreview`."""

    since: str = ""


class ReadTimeline(Struct, frozen=True, tag="read_timeline"):
    """Patches and checkpoints, oldest first. Answer: `Timeline`."""


class ReadReview(Struct, frozen=True, tag="read_review"):
    """What has changed and what was decided about it, by file and hunk. Answer: `ReviewState`."""


class ReadContext(Struct, frozen=True, tag="read_context"):
    """What the next request would hold, by layer. Answer: `ContextReport`."""


class ListSessions(Struct, frozen=True, tag="list_sessions"):
    """Stored sessions of this workspace, newest first. Answer: `SessionList`."""


class ListRules(Struct, frozen=True, tag="list_rules"):
    """Permission rules in the order in which they are tried. Answer: `RuleList`."""


class ListModels(Struct, frozen=True, tag="list_models"):
    """Models that can be chosen. Answer: `ModelList`."""


class ListTools(Struct, frozen=True, tag="list_tools"):
    """Tools as the model sees them. Answer: `ToolList`."""


class ListUserCommands(Struct, frozen=True, tag="list_user_commands"):
    """Slash commands of the user, the project and plugins. Answer: `UserCommandList`."""


class ExplainVariant(Struct, frozen=True, tag="explain_variant"):
    """Why this stop of the slider, and what both have done so far. Answer: `VariantReport`."""


class ReadStatus(Struct, frozen=True, tag="read_status"):
    """Facts about the session and its machine, as a table for people. Answer: `StatusReport`."""


Query = (
    CompletePaths
    | PreviewChange
    | ReadTimeline
    | ReadReview
    | ReadContext
    | ListSessions
    | ListRules
    | ListModels
    | ListTools
    | ListUserCommands
    | ExplainVariant
    | ReadStatus
)


class Unavailable(Struct, frozen=True, tag="unavailable"):
    reason: str


class PathMatches(Struct, frozen=True, tag="path_matches"):
    """Paths relative to the workspace; a folder ends with `/`. `complete` is False while the index is still built."""

    paths: tuple[str, ...]
    complete: bool = True


class ChangePreview(Struct, frozen=True, tag="change_preview"):
    """A unified diff over all files. `untracked` names files made since, which a rollback keeps."""

    diff: str
    files: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()


class TimelineEntry(Struct, frozen=True):
    """A point that can be returned to. `time` is ISO 8601 UTC; `checks` is `ok`, `3 failed` or empty = not run."""

    id: str
    time: str
    kind: Literal["checkpoint", "patch"]
    cause: str
    turn: int = 0
    attempt: int = 0
    files: tuple[str, ...] = ()
    insertions: int = 0
    deletions: int = 0
    checks: str = ""
    undone: bool = False
    uncovered: tuple[str, ...] = ()


class Timeline(Struct, frozen=True, tag="timeline"):
    entries: tuple[TimelineEntry, ...]


class ReviewHunk(Struct, frozen=True):
    """`lines` begin with ' ', '-' or '+'. `origin` is who made it; `stale` = the file has changed on disk since. `why`
    is the call or attempt it came from, `warning` what a person should look at (a debug line, a secret)."""

    id: str
    header: str
    lines: tuple[str, ...]
    origin: Literal["agent", "person", "shell"] = "agent"
    state: Literal["open", "accepted", "rejected"] = "open"
    stale: bool = False
    why: str = ""
    warning: str = ""


class ReviewFile(Struct, frozen=True):
    """`change` as in `FileChange`; `note` stands for what has no lines (binary, mode, rename)."""

    path: str
    change: str
    hunks: tuple[ReviewHunk, ...] = ()
    note: str = ""


class ReviewState(Struct, frozen=True, tag="review_state"):
    """`base` says what the work tree is compared with, `checks` what the tests say now, `message` is a draft."""

    files: tuple[ReviewFile, ...]
    base: str = ""
    checks: str = ""
    message: str = ""


class ContextLayer(Struct, frozen=True):
    """`cached` is the share that the provider read from its cache last time, None = it did not say. `stable` layers
    come before the cache breakpoint. `largest` names the biggest piece."""

    name: str
    tokens: int
    stable: bool = False
    cached: float | None = None
    note: str = ""
    largest: str = ""


class ContextReport(Struct, frozen=True, tag="context_report"):
    """Tokens by layer in the order in which they are sent; `estimated` is False when they sum to what the provider
    counted. Compaction begins when `compact_at` tokens are used."""

    layers: tuple[ContextLayer, ...]
    window: int
    estimated: bool = True
    compact_at: int = 0
    last_break: str = ""

    @property
    def used(self) -> int:
        return sum(layer.tokens for layer in self.layers)


class SessionSummary(Struct, frozen=True):
    """`updated` is ISO 8601 UTC. `busy` = open in another process."""

    id: str
    title: str
    updated: str
    turns: int = 0
    usage: Usage = Usage()
    model: str = ""
    parent: str = ""
    busy: bool = False


class SessionList(Struct, frozen=True, tag="session_list"):
    sessions: tuple[SessionSummary, ...]


class RuleList(Struct, frozen=True, tag="rule_list"):
    rules: tuple[Rule, ...]


class ModelChoice(Struct, frozen=True):
    """`id` is `provider/model`; `note` is what a person wants to know (size, price, why it cannot be used)."""

    id: str
    usable: bool = True
    note: str = ""
    efforts: tuple[Effort, ...] = ()


class ModelList(Struct, frozen=True, tag="model_list"):
    models: tuple[ModelChoice, ...]


class ToolList(Struct, frozen=True, tag="tool_list"):
    tools: tuple[ToolSpec, ...]


class UserCommand(Struct, frozen=True):
    """`name` without the slash; `text` is what is sent, with `$ARGUMENTS` replaced; `source` is where it comes from."""

    name: str
    description: str
    text: str
    source: str = ""


class UserCommandList(Struct, frozen=True, tag="user_command_list"):
    commands: tuple[UserCommand, ...]


class VariantStats(Struct, frozen=True):
    """Medians of the last calls with a variant; None below three samples."""

    name: VariantName
    model: str
    calls: int = 0
    first_token_s: float | None = None
    tokens_per_s: float | None = None
    cost_per_turn: float | None = None
    attempts: int = 0
    solved: int = 0


class VariantReport(Struct, frozen=True, tag="variant_report"):
    """`rules` are the automatic choice in words, in order, and `rule` the index of the one that spoke (-1 = none).
    `switch_tokens` is what the other stop would have to read again, with its price when it is known."""

    name: VariantName
    auto: bool
    reason: str
    rules: tuple[str, ...] = ()
    rule: int = -1
    stats: tuple[VariantStats, ...] = ()
    switch_tokens: int | None = None
    switch_cost: float | None = None


class StatusReport(Struct, frozen=True, tag="status_report"):
    rows: tuple[tuple[str, str], ...]


Reply = (
    Unavailable
    | PathMatches
    | ChangePreview
    | Timeline
    | ReviewState
    | ContextReport
    | SessionList
    | RuleList
    | ModelList
    | ToolList
    | UserCommandList
    | VariantReport
    | StatusReport
)
