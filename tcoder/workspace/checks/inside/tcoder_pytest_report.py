"""A pytest plugin that writes what each test did, one JSON object a line.

It runs in the project's own interpreter, which may be any Python from 3.7 on, so it imports nothing of tcoder and
stays with old syntax. `TCODER_CHECKS` names the private folder it writes to and reads the selection from,
`TCODER_ROOT` the workspace. Nothing it does may change a test's result.
"""

from __future__ import annotations

import json
import os
import reprlib
from typing import Any, Generator  # noqa: UP035 - old interpreters

import pytest

FOLDER = os.environ.get("TCODER_CHECKS", "")
ROOT = os.path.realpath(os.environ.get("TCODER_ROOT") or os.getcwd()) + os.sep
MESSAGE, VALUE, FRAMES = 4000, 1000, 40

_compared: dict[str, tuple[str, str]] = {}
_running: list[str] = []
_selected: list[str] = []
_shorten = reprlib.Repr()
_shorten.maxstring = _shorten.maxother = VALUE
_shorten.maxlist = _shorten.maxtuple = _shorten.maxdict = _shorten.maxset = 40
_shorten.maxlevel = 6


def _write(record: dict[str, Any]) -> None:
    with open(os.path.join(FOLDER, "report.jsonl"), "a", encoding="ascii") as file:
        file.write(json.dumps(record) + "\n")


def _relative(path: Any) -> str:
    full = os.path.realpath(str(path))
    inside = full.startswith(ROOT) and "site-packages" not in full[len(ROOT) :]
    return full[len(ROOT) :] if inside else ""


def _frames(error: BaseException | None) -> list[list[Any]]:
    """Frames inside the workspace, from the test inwards; those of a cause come after those of its effect."""
    found: list[list[Any]] = []
    seen: set[int] = set()
    while error is not None and id(error) not in seen and len(found) < FRAMES:
        seen.add(id(error))
        step = error.__traceback__
        while step is not None and len(found) < 400:
            code = step.tb_frame.f_code
            path = _relative(code.co_filename)
            if path:
                found.append([path, step.tb_lineno, code.co_name])
            step = step.tb_next
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return found if len(found) <= FRAMES else found[: FRAMES // 2] + found[-FRAMES // 2 :]


def _writes(config: Any) -> bool:
    return bool(FOLDER) and not hasattr(config, "workerinput")


def pytest_configure(config: Any) -> None:
    config.pluginmanager.register(_Writer(), "tcoder-writer") if _writes(config) else None
    listed = os.path.join(FOLDER, "select.txt")
    if FOLDER and os.path.exists(listed):
        with open(listed, encoding="utf-8") as file:
            _selected.extend(line for line in file.read().split("\n") if line)


def _matches(node_id: str, path: str) -> bool:
    for wanted in _selected:
        if node_id == wanted or node_id.startswith((wanted + "::", wanted + "[", wanted.rstrip("/") + "/")):
            return True
        if path and (path == wanted or path.startswith(wanted.rstrip("/") + "/")):
            return True
    return False


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    if not _selected:
        return
    kept = [item for item in items if _matches(item.nodeid, _relative(getattr(item, "path", item.fspath)))]
    dropped = [item for item in items if item not in kept] if len(kept) < len(items) else []
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept


@pytest.hookimpl(tryfirst=True)
def pytest_assertrepr_compare(op: str, left: Any, right: Any) -> None:
    if op == "==" and _running:
        _compared[_running[-1]] = (_safe(left), _safe(right))


def _safe(value: Any) -> str:
    try:
        return _shorten.repr(value)[:VALUE]
    except Exception as error:  # noqa: BLE001 - a foreign repr may raise anything
        return "<repr raised " + type(error).__name__ + ">"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: Any) -> Generator[None, Any, None]:
    _running.append(item.nodeid)
    yield
    _running.pop()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Generator[None, Any, None]:
    outcome: Any = yield
    report: Any = outcome.get_result()
    facts: dict[str, Any] = {"path": _relative(getattr(item, "path", item.fspath))}
    if call.excinfo is not None and not report.skipped:
        facts["message"] = call.excinfo.exconly()[:MESSAGE]
        facts["frames"] = _frames(call.excinfo.value)
        if item.nodeid in _compared and call.excinfo.errisinstance(AssertionError):
            facts["actual"], facts["expected"] = _compared[item.nodeid]
    report.tcoder = facts


class _Writer:
    """Writes in the process that reports to the person: with xdist, the controller."""

    def __init__(self) -> None:
        self.phases: dict[str, list[Any]] = {}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        _write({"kind": "start", "id": nodeid})

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.phases.setdefault(report.nodeid, []).append(report)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        reports = self.phases.pop(nodeid, [])
        if reports:
            _write(_summary(nodeid, reports))

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            text = str(report.longrepr)
            _write({"kind": "collect", "id": report.nodeid, "message": text[-MESSAGE:], "path": report.nodeid})

    def pytest_warning_recorded(self, warning_message: Any, nodeid: str) -> None:
        _write({"kind": "warning", "id": nodeid, "message": str(warning_message.message)[:300]})

    def pytest_sessionfinish(self, exitstatus: Any) -> None:
        for nodeid, reports in list(self.phases.items()):  # subtests and plugins that leave out logfinish
            _write(_summary(nodeid, reports))
        _write({"kind": "end", "status": int(exitstatus)})


def _summary(nodeid: str, reports: list[Any]) -> dict[str, Any]:
    outcome = "passed"
    telling: Any = reports[0]
    for report in reports:
        expected = hasattr(report, "wasxfail")
        if report.failed:
            outcome = "failed" if report.when == "call" and outcome != "error" else "error"
            telling = report
            if report.when == "setup" or outcome == "failed":
                break
        elif report.skipped:
            outcome, telling = ("xfailed" if expected else "skipped"), report
        elif expected and report.when == "call":
            outcome, telling = "xpassed", report
    facts = dict(getattr(telling, "tcoder", {}))
    if outcome == "skipped":
        facts["message"] = str(telling.longrepr)[-300:]
    elif telling.failed and "message" not in facts:
        facts["message"] = str(telling.longrepr)[-MESSAGE:]
    duration = sum(report.duration for report in reports)
    return {"kind": "test", "id": nodeid, "outcome": outcome, "duration": round(duration, 4), **facts}
