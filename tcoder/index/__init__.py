"""How tcoder knows the code base: tree-sitter tags, ranking, outline, search."""
