# ruff: noqa: E501  a table reads better one action a line
"""Every action of the interface: one id that keys, slash commands, the palette and the mouse call."""

from typing import Literal

from msgspec import Struct

Where = Literal["everywhere", "screen"]
Group = Literal["prompt", "turn", "variant", "view", "review", "session", "model", "copy", "help"]


class Action(Struct, frozen=True):
    """`keys` are the keys to begin with, in Textual's names; `slash` the command without its slash and `aliases` more
    of them; `usage` says what may follow; `choices` completes it. `screen` actions exist only where there is a screen,
    so that line mode leaves them out."""

    id: str
    title: str
    group: Group
    keys: tuple[str, ...] = ()
    slash: str = ""
    aliases: tuple[str, ...] = ()
    usage: str = ""
    choices: tuple[str, ...] = ()
    where: Where = "everywhere"


EFFORTS = ("none", "low", "medium", "high", "xhigh", "max")
MODES = ("ask", "edits", "auto", "plan")
THEMES = (
    "tcoder-dark", "tcoder-light", "high-contrast-dark", "high-contrast-light", "colour-blind", "ansi", "mono",
)  # fmt: skip

ACTIONS: tuple[Action, ...] = (
    Action("turn.interrupt", "Stop the running turn", "turn", slash="stop"),
    Action("turn.take_back", "Take the last queued message back", "turn", ("alt+up",), "unqueue"),
    Action("turn.steer", "Send while a turn runs, for after the running tool", "turn", slash="steer", usage="TEXT"),
    Action("turn.queue", "Queue the prompt as the next turn", "turn", ("alt+enter",), "queue", usage="TEXT"),
    Action("turn.test", "Run the tests now", "turn", slash="test", usage="[COMMAND]"),
    Action("turn.shell", "Run a shell command", "turn", slash="shell", usage="COMMAND"),
    Action("turn.compact", "Make the conversation shorter", "turn", slash="compact", usage="[FOCUS]"),
    Action("variant.flip", "Other variant for the next turn only", "variant", ("f2",), where="screen"),
    Action("variant.fast", "Fast variant", "variant", ("alt+comma",), "fast", usage="[PROMPT]"),
    Action("variant.standard", "Standard variant", "variant", ("alt+full_stop",), "std", ("standard",), "[PROMPT]"),
    Action("variant.auto", "Automatic variant on or off", "variant", ("alt+slash",), "auto", usage="[off]", choices=("on", "off")),
    Action("variant.explain", "Why this variant, and what both have done; save keeps it", "variant", slash="variant", aliases=("why",), usage="[save]", choices=("why", "save", "fast", "std", "auto")),
    Action("model.choose", "Choose the model", "model", ("ctrl+l",), "model", usage="[ID]"),
    Action("model.setup", "Ways to a model: a key, a server, this machine, a demo", "model", slash="setup", aliases=("login",), usage="[WAY]", choices=("key", "environment", "server", "local", "demo")),
    Action("model.effort", "Set the reasoning effort", "model", slash="effort", usage="LEVEL", choices=EFFORTS),
    Action("mode.next", "Next approval mode", "model", ("shift+tab",), where="screen"),
    Action("mode.set", "Set the approval mode", "model", slash="mode", usage="[MODE]", choices=MODES),
    Action("permissions.show", "Permission rules", "model", slash="permissions"),
    Action("tools.show", "Tools that the model may use", "model", slash="tools"),
    Action("review.open", "Review the changes", "review", slash="diff", aliases=("review",)),
    Action("review.commit", "Commit what was accepted", "review", slash="commit", usage="[MESSAGE]"),
    Action("timeline.open", "Checkpoints and patches", "review", slash="checkpoints", aliases=("rewind", "timeline")),
    Action("timeline.back", "Step back in the timeline", "review", ("alt+left",), where="screen"),
    Action("timeline.forward", "Step forward in the timeline", "review", ("alt+right",), where="screen"),
    Action("checkpoint.make", "Make a checkpoint", "review", slash="checkpoint", usage="[NAME]"),
    Action("patch.undo", "Undo the last patch", "review", slash="undo", usage="[ID]"),
    Action("patch.redo", "Redo the last undone patch", "review", slash="redo", usage="[ID]"),
    Action("attempts.open", "Attempts of this turn", "review", slash="attempts"),
    Action("plan.open", "The plan", "review", slash="plan"),
    Action("context.show", "What fills the context", "session", slash="context"),
    Action("cost.show", "Tokens and cost", "session", slash="cost"),
    Action("status.show", "Status of the session", "session", slash="status"),
    Action("config.show", "Settings, and where each comes from", "session", slash="config"),
    Action("doctor.show", "What works on this machine", "session", slash="doctor"),
    Action("memory.show", "What is remembered for this folder", "session", slash="memory"),
    Action("skills.show", "Commands from files", "session", slash="skills", aliases=("commands",)),
    Action("agents.show", "Agents that help", "session", slash="agents"),
    Action("mcp.show", "Tool servers", "session", slash="mcp"),
    Action("web.show", "The interface in a browser", "session", slash="web"),
    Action("context.drop", "Drop something from the context", "session", slash="drop"),
    Action("session.rename", "Name this session", "session", slash="rename", usage="NAME"),
    Action("session.bug", "Write what a bug report needs to a file", "session", slash="bug"),
    Action("view.plain", "Go on in line mode", "session", slash="plain", where="screen"),
    Action("session.new", "New session", "session", slash="new", aliases=("clear",)),
    Action("session.resume", "Resume a session", "session", slash="resume", usage="[ID]"),
    Action("session.fork", "Fork this session", "session", slash="fork"),
    Action("session.export", "Write the conversation to a file", "session", slash="export", usage="[FILE]"),
    Action("session.transcript", "The whole conversation in the pager", "session", slash="transcript", where="screen"),
    Action("session.quit", "Quit", "session", slash="quit", aliases=("exit", "q")),
    Action("copy.selection", "Copy the selection, or the last answer", "copy", ("ctrl+y",), "copy", usage="[N | code]"),
    Action("prompt.editor", "Write the prompt in the external editor", "prompt", ("ctrl+g",), "editor", where="screen"),
    Action("prompt.stash", "Put the draft aside, or bring it back", "prompt", ("ctrl+s",), "stash", where="screen"),
    Action("prompt.history", "Search the prompts of this project", "prompt", ("ctrl+r",), "history", where="screen"),
    Action("prompt.image", "Attach an image", "prompt", slash="image", usage="PATH"),
    Action("view.dock", "Show or hide the dock", "view", ("alt+p",), "dock", where="screen"),
    Action("dock.plan", "The dock's plan (with several questions: yes to all of a kind)", "view", ("alt+1",), where="screen"),
    Action("dock.attempts", "The dock's attempts", "view", ("alt+2",), where="screen"),
    Action("dock.checkpoints", "The dock's checkpoints", "view", ("alt+3",), where="screen"),
    Action("view.fold_tools", "Unfold or fold all tools", "view", ("ctrl+o",), "unfold", where="screen"),
    Action("view.thoughts", "Show or hide thoughts", "view", ("ctrl+t",), "thoughts", where="screen"),
    Action("view.search", "Search the conversation", "view", ("ctrl+f",), "find", usage="TEXT", where="screen"),
    Action("view.page_up", "Scroll up", "view", ("pageup",), where="screen"),
    Action("view.page_down", "Scroll down", "view", ("pagedown",), where="screen"),
    Action("view.line_up", "Scroll up a line", "view", ("shift+up",), where="screen"),
    Action("view.line_down", "Scroll down a line", "view", ("shift+down",), where="screen"),
    Action("view.end", "Follow the conversation again", "view", ("ctrl+end",), where="screen"),
    Action("view.block_up", "Block cursor up", "view", ("ctrl+up",), where="screen"),
    Action("view.block_down", "Block cursor down", "view", ("ctrl+down",), where="screen"),
    Action("view.theme", "Choose the theme", "view", slash="theme", usage="[NAME]", choices=THEMES, where="screen"),
    Action("view.mouse", "Free the mouse, or take it", "view", slash="mouse", choices=("on", "off", "scroll-only"), where="screen"),
    Action("view.suspend", "Suspend", "view", ("ctrl+z",), where="screen"),
    Action("help.palette", "Command palette", "help", ("ctrl+p",), "palette", where="screen"),
    Action("help.keys", "Keys", "help", ("f1",), "keys", where="screen"),
    Action("help.show", "Help", "help", slash="help"),
)  # fmt: skip

BY_ID: dict[str, Action] = {action.id: action for action in ACTIONS}
