"""How tcoder knows the code base: tree-sitter tags, ranking, outline, search."""

from tcoder.index.facade import Index

__all__ = ["Index"]
