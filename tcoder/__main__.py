"""`python -m tcoder`."""

import os
import sys

# -m puts the working folder first: no file of a repository may stand in for a module. pathlib could be such a file.
if not sys.flags.safe_path and sys.path[0] == os.getcwd():  # noqa: PTH109 see above
    del sys.path[0]

from tcoder.cli import run

if __name__ == "__main__":
    run()
