"""A work tree as git trees, kept up to date file by file, so that a snapshot writes only what has changed."""

from collections.abc import Iterator

from msgspec import Struct

from tcoder.workspace.git.objects import TREE, ObjectStore

# A submodule has its commit at its own path, and its files in a folder of this name beside it: a tree cannot hold both
# in one place. The character is no letter of any script.
INSIDE = "\ufdd0"


def path_of(tree_path: str) -> str:
    """The path in the work tree of what a tree of the ledger has at `tree_path`."""
    return tree_path.replace(f"{INSIDE}/", "/")


def above(path: str) -> list[str]:
    """The folders that a path lies in, the nearest first, without the root."""
    found: list[str] = []
    while path := path.rpartition("/")[0]:
        found.append(path)
    return found


class Entry(Struct, frozen=True):
    """What a path is: its git mode and the id of its content."""

    mode: str
    oid: str


class Trees:
    """The folders of a work tree as git trees. Paths are relative, with `/`; the root is empty."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._children: dict[str, dict[str, Entry]] = {"": {}}
        self._stale: set[str] = {""}
        self._root = ""

    def put(self, path: str, entry: Entry) -> None:
        folder, _, name = path.rpartition("/")
        self._children.setdefault(folder, {})[name] = entry
        self._touch(folder)

    def drop(self, path: str) -> None:
        folder, _, name = path.rpartition("/")
        self._children.get(folder, {}).pop(name, None)
        self._touch(folder)

    def _touch(self, folder: str) -> None:
        while folder not in self._stale:
            self._stale.add(folder)
            folder = folder.rpartition("/")[0]

    def root(self) -> str:
        """The id of the whole tree, stored. Raises `WorkspaceError`; then the next call tries again."""
        if not self._stale:
            return self._root
        for folder in sorted(self._stale, key=lambda name: name.count("/") + bool(name), reverse=True):
            children = self._children.get(folder, {})
            if folder and not children:
                self._children.pop(folder, None)
                above, _, name = folder.rpartition("/")
                siblings = self._children.get(above, {})
                if name in siblings and siblings[name].mode == TREE:  # else something else is in its place now
                    del siblings[name]
                continue
            oid = self._store.tree((name, entry.mode, entry.oid) for name, entry in children.items())
            if folder:
                above, _, name = folder.rpartition("/")
                self._children.setdefault(above, {})[name] = Entry(TREE, oid)
            else:
                self._root = oid
        self._stale.clear()
        return self._root


def parse_tree(listed: bytes) -> Iterator[tuple[str, Entry]]:
    """Paths and entries of `git ls-tree -r -z`; folders too with `-t`."""
    for record in listed.decode("utf-8", "surrogateescape").split("\0"):
        if record:
            head, _, path = record.partition("\t")
            mode, _, oid = head.split(" ")
            yield path, Entry(mode.removeprefix("0") if mode.startswith("04") else mode, oid)
