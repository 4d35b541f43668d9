"""Runs a front end on a story: `python tests/support/show.py [STORY] [--plain] [--theme NAME] …`.

For driving the interface by hand, in pty tests and in benchmarks; the session is played, no model is asked.
"""

import argparse
import asyncio

from tcoder.frontends.startup import Startup
from tcoder.frontends.tui import prepaint


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("story", nargs="?", default="fixed")
    parser.add_argument("--theme", default="tcoder-dark")
    parser.add_argument("--pause", type=float, default=0.1)
    parser.add_argument("--ascii", action="store_true")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--log", default="")
    options = parser.parse_args()
    startup = Startup("/src/app", title="", branch="main", sandbox="workspace", theme=options.theme,
                      ascii_glyphs=options.ascii, log_file=options.log)  # fmt: skip
    first = None if options.plain else prepaint.begin("new session", ascii_glyphs=options.ascii)
    from tests.support.open_story import open_story

    connect = open_story(options.story, options.pause)
    if options.plain:
        from tcoder.frontends.plain import run as run_plain

        return asyncio.run(run_plain(connect, startup))
    from tcoder.frontends.tui.launch import run

    return asyncio.run(run(connect, startup, first))


if __name__ == "__main__":
    raise SystemExit(main())
