"""What the permission policy is given: a call, and what is so when it is judged."""

from typing import Literal

from msgspec import Struct

PolicyKind = Literal["read", "edit", "shell", "network", "other"]


class PolicyCall(Struct, frozen=True):
    """A call as the policy sees it: paths as the model wrote them, or a command line."""

    tool: str
    kind: PolicyKind
    paths: tuple[str, ...] = ()
    command: str = ""


class PolicyFacts(Struct, frozen=True):
    """What is so when a call is judged.

    `sandboxed`: commands are contained. `network`: a person allowed it. `trusted`: the folder is. `root` is the
    workspace, `cwd` the absolute folder in which the next command runs, empty = not known. `writable` are further
    folders that may be changed, `protected` further patterns of paths that may not. `yolo`: nobody is to be asked.
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
    targets: tuple[tuple[str, str], ...] = ()

    def real(self, path: str) -> str:
        """Where an absolute path really leads, as far as it is known."""
        return dict(self.targets).get(path, path)
