"""What the permission policy is given: a call, and what is so when it is judged."""

from typing import Literal

from msgspec import Struct

PolicyKind = Literal["read", "edit", "shell", "network", "other"]


class PolicyCall(Struct, frozen=True):
    """A call as the policy sees it: paths as the model wrote them, a command line, or what is `typed` at a program that
    waits. `runs` is the command line that a tool brings itself. `looks` = it only looks at, waits for or ends what is
    running already, `keeps` = it would go on when the session ends."""

    tool: str
    kind: PolicyKind
    paths: tuple[str, ...] = ()
    command: str = ""
    typed: str = ""
    runs: str = ""
    looks: bool = False
    keeps: bool = False


class PolicyFacts(Struct, frozen=True):
    """What is so when a call is judged.

    `sandboxed`: commands are contained. `network`: a person allowed it. `trusted`: the folder is. `root` is the
    workspace, `cwd` the absolute folder in which the next command runs, empty = not known. `writable` are further
    folders that may be changed, `protected` further patterns of paths that may not. `yolo`: nobody is to be asked.
    `wary`: the sandbox was to contain commands and does not hold, so each is asked about.
    `lends_network`: the network is off, and a person who says yes to a command can let that one have it.
    `targets` are the real paths of paths that lead through symlinks, as `targets.resolve` finds them.
    """

    sandboxed: bool
    network: bool = False
    trusted: bool = False
    root: str = ""
    cwd: str = ""
    writable: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    yolo: bool = False
    wary: bool = False
    lends_network: bool = False
    targets: tuple[tuple[str, str], ...] = ()

    def real(self, path: str) -> str:
        """Where an absolute path really leads, as far as it is known."""
        return dict(self.targets).get(path, path)
