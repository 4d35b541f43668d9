"""Hearing of changed files while a session runs: only the folders that hold known files are watched, in a thread.

Where the system lets nothing more be watched, or there are too many folders, the index looks at the whole tree every
few seconds instead, as it does before a watch has begun.
"""

import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from watchfiles import Change, watch

from tcoder.index.listing import SKIPPED_FOLDERS

MAX_FOLDERS = 10_000
STEP_MS = 60
GATHER_MS = 240


class Watch:
    """Calls `report` in its thread with changed paths relative to the root, with the path "" when more may have changed
    than is known. `folders` says which folders are to be watched; it is asked again when a folder appears. `problem`
    is why nothing is watched (any more), else empty."""

    def __init__(self, root: Path, folders: Callable[[], Iterable[str]], report: Callable[[set[str]], None]) -> None:
        self._root = root
        self._folders = folders
        self._report = report
        self._stop = threading.Event()
        self.problem = ""
        self.alive = False
        threading.Thread(target=self._run, name="index-watch", daemon=True).start()

    def close(self) -> None:
        """Nothing is reported after the step that is running."""
        self._stop.set()

    def _run(self) -> None:
        new: set[str] = set()
        while not self._stop.is_set() and not self.problem:
            places = [place for name in {"", *self._folders(), *new} if (place := self._root / name).is_dir()]
            if len(places) > MAX_FOLDERS:
                self.problem = f"more than {MAX_FOLDERS:,} folders"
                break
            try:
                new = self._until_a_folder_appears(places)
            except (OSError, RuntimeError) as error:
                # a folder that vanished meanwhile is no reason to give up, a limit of the system is
                if all(place.is_dir() for place in places):
                    self.problem = f"files cannot be watched: {error}"[:200]
        self.alive = False
        if not self._stop.is_set():
            self._report({""})

    def _until_a_folder_appears(self, places: list[Path]) -> set[str]:
        """Report changes until folders appear, and say which."""
        prefix = f"{self._root}{os.sep}"
        changes = watch(
            *places,
            watch_filter=None,
            debounce=GATHER_MS,
            step=STEP_MS,
            stop_event=self._stop,
            recursive=False,
            raise_interrupt=False,
            ignore_permission_denied=True,
            yield_on_timeout=True,
            rust_timeout=GATHER_MS,
        )
        for changed in changes:
            if not self.alive:
                # what changed while nobody watched is not known
                self.alive = True
                self._report({""})
            if self._stop.is_set():
                break
            paths = {path.removeprefix(prefix): kind for kind, path in changed if path.startswith(prefix)}
            appeared = {path for path, kind in paths.items() if kind == Change.added and _is_folder(self._root / path)}
            if paths:
                self._report({""} if appeared else set(paths))
            if appeared:
                self.alive = False
                return appeared
        return set()


def _is_folder(path: Path) -> bool:
    return path.name not in SKIPPED_FOLDERS and path.is_dir() and not path.is_symlink()
