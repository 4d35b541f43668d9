"""Leaving the screen for another program: an editor, a pager. The terminal is given over and taken back whole."""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from tcoder.frontends.sanitise import clean_line

Suspend = Callable[[], AbstractContextManager[None]]


def editor_command(environment: Mapping[str, str]) -> list[str]:
    """$VISUAL, else $EDITOR, else vi."""
    return shlex.split(environment.get("VISUAL") or environment.get("EDITOR") or "vi")


def pager_command(environment: Mapping[str, str]) -> list[str]:
    return shlex.split(environment.get("PAGER") or "less -R")


def run_on_terminal(command: list[str], suspend: Suspend) -> str:
    """Run a program on the terminal and wait for it. Returns what went wrong, else nothing."""
    terminal = os.ttyname(0)
    try:
        with suspend(), Path(terminal).open("r+b", buffering=0) as tty:
            done = subprocess.run(command, stdin=tty, stdout=tty, stderr=tty, check=False)
    except OSError as error:
        return f"cannot run {command[0]}: {error.strerror}"
    return "" if done.returncode == 0 else f"{command[0]} ended with {done.returncode}"


def edit(text: str, suffix: str, suspend: Suspend, environment: Mapping[str, str]) -> tuple[str | None, str]:
    """`(text, problem)`: the text as the person left it in the editor, None when it was not changed."""
    fd, name = tempfile.mkstemp(prefix="tcoder-", suffix=suffix)
    path = Path(name)
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
        problem = run_on_terminal([*editor_command(environment), name], suspend)
        edited = path.read_text(encoding="utf-8", errors="replace")
        return (edited if edited != text and not problem else None), problem
    finally:
        path.unlink(missing_ok=True)


def open_file(workspace: str, path: str, line: int, suspend: Suspend) -> str:
    """Open a file of the workspace in the editor. Returns what went wrong, else nothing."""
    target = (Path(workspace) / path).resolve()
    if not target.is_relative_to(Path(workspace).resolve()) or not target.is_file():
        return f"{clean_line(path)} is no file of the workspace"
    return run_on_terminal([*editor_command(os.environ), f"+{line}", str(target)], suspend)


def page(text: str, suspend: Suspend, environment: Mapping[str, str]) -> str:
    """Show a text in the pager. Returns what went wrong, else nothing."""
    fd, name = tempfile.mkstemp(prefix="tcoder-", suffix=".txt")
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
        return run_on_terminal([*pager_command(environment), name], suspend)
    finally:
        Path(name).unlink(missing_ok=True)
