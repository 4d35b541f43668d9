"""httpx without its command line: it would import click, pygments and rich (95 ms) whenever they are installed."""

import sys
from typing import Any, cast

_MAIN = "httpx._main"
_modules = cast("dict[str, Any]", sys.modules)
_hide = _MAIN not in _modules
if _hide:
    _modules[_MAIN] = None  # makes the import fail, which httpx expects where click is missing
try:
    import httpx
finally:
    if _hide:
        del _modules[_MAIN]

__all__ = ["httpx"]
