"""Which ignored names are worth a word when they go: not those that a tool makes again."""

FOLDERS = frozenset([
    "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox", ".cache", ".gradle",
    ".parcel-cache", ".next", ".turbo", "node_modules", "bower_components", "site-packages", "dist", "build",
    "target", "out", "htmlcov", "coverage", ".nyc_output",
])  # fmt: skip
ENDINGS = (".pyc", ".pyo", ".o", ".obj", ".class", ".egg-info", ".tsbuildinfo", ".tmp", ".swp", ".lock", ".pid", "~")


def is_made_again(path: str) -> bool:
    """Whether this is a cache, something built or a passing file."""
    *folders, name = path.split("/")
    return name.startswith(".coverage") or name.endswith(ENDINGS) or not FOLDERS.isdisjoint((*folders, name))
