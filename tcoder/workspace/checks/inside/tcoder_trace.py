"""Notes which lines of the workspace each test runs, and what its functions were called with and gave back.

A pytest plugin, and used by the unittest script; runs in the project's own interpreter with nothing of tcoder. Test
files themselves are left out: they are not suspects. Written to `trace.jsonl`, one test a line.
"""

from __future__ import annotations

import json
import os
import reprlib
import sys
import threading
from contextlib import contextmanager
from typing import Any, Callable, Generator  # noqa: UP035 - old interpreters

FOLDER = os.environ.get("TCODER_CHECKS", "")
ROOT = os.path.realpath(os.environ.get("TCODER_ROOT") or os.getcwd()) + os.sep
CALLS_OF_ONE, CALLS_IN_ALL, ENTRIES_OF_ONE = 3, 120, 400
TEXT = 120

_short = reprlib.Repr()
_short.maxstring = _short.maxother = TEXT
_short.maxlist = _short.maxtuple = _short.maxdict = _short.maxset = 8
_short.maxlevel = 3
_paths: dict[str, str] = {}


def _path_of(filename: str) -> str:
    """The path in the workspace of a file that may be a suspect, else empty."""
    known = _paths.get(filename)
    if known is None:
        full = os.path.realpath(filename)
        known = full[len(ROOT) :] if full.startswith(ROOT) else ""
        name = os.path.basename(known)
        parts = known.split(os.sep)
        test = name.startswith("test_") or name.endswith("_test.py") or name in ("conftest.py", "tests.py")
        if test or "site-packages" in parts or "tests" in parts[:-1] or not name.endswith(".py"):
            known = ""
        _paths[filename] = known
    return known


def _text(value: Any) -> str:
    try:
        return _short.repr(value)[:TEXT]
    except Exception:  # noqa: BLE001 - a foreign repr may raise anything, half-made objects mostly do
        return "<" + type(value).__name__ + ">"


class Tracer:
    """Traces one test. Line events are taken only in functions of the workspace, and only for the first entries of
    each, so that loops do not take for ever."""

    def __init__(self) -> None:
        self.lines: dict[str, set[int]] = {}
        self.calls: list[list[Any]] = []
        self.entries: dict[Any, int] = {}

    def enter(self, frame: Any, event: str, arg: Any) -> Callable[..., Any] | None:
        code = frame.f_code
        path = _path_of(code.co_filename)
        if not path:
            return None
        entries = self.entries[code] = self.entries.get(code, 0) + 1
        lines = self.lines.setdefault(path, set())
        lines.add(frame.f_lineno)
        if entries > ENTRIES_OF_ONE:
            return None
        note: list[Any] | None = None
        if entries <= CALLS_OF_ONE and len(self.calls) < CALLS_IN_ALL and code.co_name != "<module>":
            note = [path, code.co_firstlineno, code.co_name, self._arguments(frame), ""]
            self.calls.append(note)

        def follow(frame: Any, event: str, arg: Any) -> Callable[..., Any]:
            if event == "line":
                lines.add(frame.f_lineno)
            elif note is not None and event == "return":
                if not note[4] or (arg is not None and note[4].startswith("raises ")):
                    note[4] = _text(arg)  # of a generator, what it gave first
            elif note is not None and event == "exception":
                note[4] = "raises " + getattr(arg[0], "__name__", "?")
            return follow

        return follow

    @staticmethod
    def _arguments(frame: Any) -> str:
        code = frame.f_code
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        shown = [name + "=" + _text(frame.f_locals[name]) for name in names if name in frame.f_locals]
        return ", ".join(text for text in shown if not text.startswith(("self=", "cls=")))

    def write(self, test_id: str) -> None:
        lines = {path: sorted(numbers) for path, numbers in self.lines.items()}
        with open(os.path.join(FOLDER, "trace.jsonl"), "a", encoding="ascii") as file:
            file.write(json.dumps({"id": test_id, "lines": lines, "calls": self.calls}) + "\n")


@contextmanager
def tracing(test_id: str) -> Generator[None, None, None]:
    """Trace what runs inside; whatever traced before (coverage, a debugger) goes on afterwards."""
    tracer = Tracer()
    before = sys.gettrace()
    threading.settrace(tracer.enter)
    sys.settrace(tracer.enter)
    try:
        yield
    finally:
        sys.settrace(before)
        threading.settrace(before)  # pyright: ignore[reportArgumentType] None is allowed
        tracer.write(test_id)


IMPORTS = ""  # the id under which what runs at import is written

if "pytest" in sys.modules:  # as its plugin; unittest calls `tracing` itself
    import pytest

    @pytest.hookimpl(hookwrapper=True)
    def pytest_collection() -> Generator[None, Any, None]:
        with tracing(IMPORTS):
            yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(item: Any) -> Generator[None, Any, None]:
        with tracing(item.nodeid):
            yield
