"""How tcoder knows the code base: tree-sitter tags, ranking, outline, search."""

from tcoder.index.index import Index as Index
