"""Less than the sandbox, where that does not hold: Landlock on Linux, macOS's own profile.

Neither hides secrets by itself as well as the sandbox does, nor has it been shown to hold: whoever uses one goes on
asking about every command, and says "reduced" to the person.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from tcoder.workspace.sandbox import landlock, seatbelt
from tcoder.workspace.sandbox.private import PrivateFolder
from tcoder.workspace.sandbox.sandbox import Launch

ReducedMode = Literal["landlock", "seatbelt"]
SAID: dict[ReducedMode, str] = {
    "landlock": "Landlock keeps writing to the workspace and refuses TCP; it hides no secrets, stops no UDP and does "
    "not protect .git",
    "seatbelt": "macOS's profile, which has never been tested",
}
"""What each does and does not, in words."""


class Reduced:
    """How commands of one workspace are held back with `mode`. `writable` are further folders that a person named."""

    def __init__(self, root: Path, mode: ReducedMode, *, writable: Sequence[Path] = (), network: bool = False) -> None:
        self.root = Path(os.path.realpath(root))
        self.mode: ReducedMode = mode
        self.network = network
        self._writable = tuple(writable)

    def launch(
        self, argv: Sequence[str], environment: Mapping[str, str], private: PrivateFolder
    ) -> tuple[Launch, Callable[[], None] | None]:
        """The command line, and what the child has to call before it executes it. Commands get a private folder for
        temporary files, since /tmp is everybody's here."""
        temporary = private.folder("tmp")
        scrubbed = {**environment, "TMPDIR": str(temporary)}
        if self.mode == "seatbelt":
            text = seatbelt.profile(
                self.root,
                home=Path.home(),
                temporary=private.path,
                writable=self._writable,
                network=self.network,
            )
            return Launch(seatbelt.command(argv, text), scrubbed), None
        folders = (self.root, *self._writable, private.path)
        return Launch(list(argv), scrubbed), lambda: landlock.restrict(folders, network=self.network)


def available() -> ReducedMode | None:
    """Which of them this machine has, None when neither."""
    if sys.platform == "darwin":
        return "seatbelt" if os.access(seatbelt.PROGRAM, os.X_OK) else None
    return "landlock" if landlock.abi() else None
