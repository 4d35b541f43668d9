"""Pictures of the interface as SVG: `python -m tests.support.screenshots FOLDER` writes main, review and slider."""

import asyncio
import sys
from pathlib import Path

from tests.support.screens import interface, say, settle

PICTURES = {
    "main": ("ask", (120, 34), "tcoder-dark", ("make the login retry test pass",)),
    "review": ("fixed", (120, 28), "tcoder-dark", ("make the login retry test pass", "/diff")),
    "slider": ("fixed", (110, 34), "tcoder-dark", ("make the login retry test pass", "/auto", "/why")),
    "light": ("fixed", (110, 34), "tcoder-light", ("make the login retry test pass",)),
}


async def picture(name: str) -> str:
    """The SVG of one of the pictures."""
    story, size, theme, lines = PICTURES[name]
    async with interface(story, size=size, theme=theme) as (app, pilot):
        for line in lines:
            await say(pilot, line)
        await settle(pilot)
        return app.export_screenshot(title="tcoder")


def main(folder: str) -> None:
    for name in PICTURES:
        path = Path(folder) / f"{name}.svg"
        path.write_text(asyncio.run(picture(name)), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else ".")
