"""Text for terminals that cannot show more than ASCII."""

_TABLE = str.maketrans(
    {
        "·": ".", "▸": ">", "▾": "v", "✓": "+", "✗": "x", "⊘": "o", "▲": "!", "◆": "*", "●": "@", "○": "o", "•": "*",
        "◂": "<", "━": "=", "─": "-", "│": "|", "┃": "|", "█": "#", "▒": ":", "░": ".", "…": "~", "−": "-", "×": "x",
        "→": ">", "←": "<", "↑": "^", "↓": "v", "⏸": "=", "⋯": "~", "▌": "|", "▏": "|", "⚠": "!", "≡": "=", "–": "-",
        "╭": "+", "╮": "+", "╰": "+", "╯": "+", "┬": "+", "┴": "+", "├": "+", "┤": "+", "¹": "'", "“": '"', "”": '"',
        "‘": "'", "’": "'", "—": "-", "⟨": "<", "⟩": ">", "◐": "o", "⠼": "*",
    }
)  # fmt: skip


def ascii_only(text: str) -> str:
    """`text` with look-alikes for tcoder's own glyphs and `?` for what else is not ASCII."""
    return text if text.isascii() else text.translate(_TABLE).encode("ascii", "replace").decode()
