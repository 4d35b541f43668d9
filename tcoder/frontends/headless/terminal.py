"""The answer on a colour terminal. Imported late: Rich costs more to import than the rest of a headless start."""

import io

from rich.console import Console
from rich.markdown import Markdown

from tcoder.frontends.sanitise import clean


def render_markdown(text: str) -> str:
    """Markdown as ANSI text at the terminal's width. Links are shown with their address, images are not fetched."""
    out = io.StringIO()
    width = min(Console().width, 110)
    Console(file=out, force_terminal=True, width=width, markup=False, emoji=False).print(
        Markdown(clean(text), hyperlinks=False, code_theme="ansi_dark")
    )
    return out.getvalue().rstrip("\n")
