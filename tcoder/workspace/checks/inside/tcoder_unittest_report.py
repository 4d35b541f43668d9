"""Runs unittest as `python -m unittest` would and writes what each test did, one JSON object a line.

It runs in the project's own interpreter, so it imports nothing of tcoder. The command line is that of unittest.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
import unittest
from typing import Any

FOLDER = os.environ["TCODER_CHECKS"]
ROOT = os.path.realpath(os.environ.get("TCODER_ROOT") or os.getcwd()) + os.sep
MESSAGE, FRAMES = 4000, 40


def _write(record: dict[str, Any]) -> None:
    with open(os.path.join(FOLDER, "report.jsonl"), "a", encoding="ascii") as file:
        file.write(json.dumps(record) + "\n")


def _relative(path: str) -> str:
    full = os.path.realpath(path)
    return full[len(ROOT) :] if full.startswith(ROOT) and "site-packages" not in full[len(ROOT) :] else ""


def _frames(error: BaseException | None) -> list[list[Any]]:
    found: list[list[Any]] = []
    seen: set[int] = set()
    while error is not None and id(error) not in seen and len(found) < FRAMES:
        seen.add(id(error))
        for frame, line in traceback.walk_tb(error.__traceback__):
            path = _relative(frame.f_code.co_filename)
            if path:
                found.append([path, line, frame.f_code.co_name])
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return found[:FRAMES]


def _path_of(test: Any) -> str:
    module = sys.modules.get(type(test).__module__)
    return _relative(getattr(module, "__file__", None) or "") if module else ""


class Result(unittest.TextTestResult):
    def startTest(self, test: Any) -> None:  # noqa: N802 - unittest's name
        super().startTest(test)
        self.began = time.perf_counter()
        self.told = False
        _write({"kind": "start", "id": test.id()})

    def stopTest(self, test: Any) -> None:  # noqa: N802 - unittest's name
        if not self.told:  # only subtests failed, or nothing was said
            self._tell(test, "failed" if getattr(self, "broken", False) else "passed")
        self.broken = False
        super().stopTest(test)

    def _tell(self, test: Any, outcome: str, error: Any = None, message: str = "") -> None:
        self.told = True
        record = {"kind": "test", "id": test.id(), "outcome": outcome, "path": _path_of(test), "message": message}
        record["duration"] = round(time.perf_counter() - getattr(self, "began", time.perf_counter()), 4)
        if error is not None:
            record["message"] = "".join(traceback.format_exception_only(error[0], error[1])).strip()[:MESSAGE]
            record["frames"] = _frames(error[1])
        loading = type(test).__name__ == "_FailedTest"
        _write({**record, "kind": "collect"} if loading else record)

    def addSuccess(self, test: Any) -> None:  # noqa: N802 - unittest's name
        super().addSuccess(test)
        self._tell(test, "passed")

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: N802 - unittest's name
        super().addFailure(test, err)
        self._tell(test, "failed", err)

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802 - unittest's name
        super().addError(test, err)
        self._tell(test, "error" if type(test).__name__ in ("_ErrorHolder", "_FailedTest") else "failed", err)

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802 - unittest's name
        super().addSkip(test, reason)
        self._tell(test, "skipped", message=reason)

    def addExpectedFailure(self, test: Any, err: Any) -> None:  # noqa: N802 - unittest's name
        super().addExpectedFailure(test, err)
        self._tell(test, "xfailed", err)

    def addUnexpectedSuccess(self, test: Any) -> None:  # noqa: N802 - unittest's name
        super().addUnexpectedSuccess(test)
        self._tell(test, "xpassed")

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802 - unittest's name
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.broken = True
            self._tell(subtest, "failed", err)
            self.told = False


def _wanted() -> list[str]:
    listed = os.path.join(FOLDER, "select.txt")
    if not os.path.exists(listed):
        return []
    with open(listed, encoding="utf-8") as file:
        return [line for line in file.read().split("\n") if line]


def _filter(suite: Any, wanted: list[str]) -> Any:
    kept = unittest.TestSuite()
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            kept.addTest(_filter(item, wanted))
            continue
        path = _path_of(item)
        for name in wanted:
            if item.id() == name or item.id().startswith(name + ".") or name.startswith(item.id() + " "):
                kept.addTest(item)
                break
            if path and (path == name or path.startswith(name.rstrip("/") + "/")):
                kept.addTest(item)
                break
    return kept


class Traced(unittest.TestSuite):
    """Runs its tests one by one, each traced."""

    def __init__(self, suite: Any) -> None:
        super().__init__()
        self.addTest(suite)

    def run(self, result: Any, debug: bool = False) -> Any:  # noqa: FBT001, FBT002 - unittest's signature
        sys.path.append(FOLDER)
        from tcoder_trace import tracing  # pyright: ignore[reportMissingImports, reportUnknownVariableType] beside it

        for test in _flat(self):
            with tracing(test.id()):
                unittest.TestSuite([test]).run(result, debug)
        return result


def _flat(suite: Any) -> list[Any]:
    found: list[Any] = []
    for item in suite:
        found += _flat(item) if isinstance(item, unittest.TestSuite) else [item]
    return found


class Runner(unittest.TextTestRunner):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "resultclass": Result})

    def run(self, test: Any) -> Any:
        wanted = _wanted()
        chosen = _filter(test, wanted) if wanted else test
        traced = os.path.exists(os.path.join(FOLDER, "tcoder_trace.py"))
        result = super().run(Traced(chosen) if traced else chosen)
        _write({"kind": "end", "status": 0 if result.wasSuccessful() else 1})
        return result


if __name__ == "__main__":
    sys.path[0] = os.getcwd()
    sys.argv[0] = "python -m unittest"
    unittest.main(module=None, testRunner=Runner)
