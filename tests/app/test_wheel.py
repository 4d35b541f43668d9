"""The wheel holds all it needs: installed into a new environment, it answers and does a task from there."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any

from support.desk import FIX, Desk

PROJECT = Path(__file__).parents[2]


def run(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return subprocess.run(
        [str(word) for word in command], cwd=cwd, env=kept | environment, capture_output=True, text=True, timeout=50
    )


def test_the_wheel_works_in_a_new_environment(tmp_path: Path, desk: Desk, serve: Any) -> None:
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
    built = run(*pip, "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", tmp_path, PROJECT, cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("tcoder-*.whl")
    venv.create(tmp_path / "fresh", with_pip=False)
    python = tmp_path / "fresh" / "bin" / "python"
    installed = run(*pip[:3], "--python", python, "install", "--no-deps", "--no-index", wheel, cwd=tmp_path)
    assert installed.returncode == 0, installed.stderr
    # The dependencies are those of this environment, tcoder itself only the wheel's: a path line runs no other .pth.
    (site,) = (tmp_path / "fresh" / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")

    program = tmp_path / "fresh" / "bin" / "tcoder"
    # The tests' own Python must be on the path: below /tmp, commands see only what the path names.
    home = {"TCODER_HOME": str(desk.home), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    where = run(python, "-c", "import tcoder; print(tcoder.__file__)", cwd=desk.root)
    assert where.stdout.startswith(str(site))
    assert run(program, "--version", cwd=desk.root).stdout.startswith("tcoder ")
    server = serve({"calls": [FIX]}, {"text": "Done."})
    task = ("--task", "make the failing tests pass", "--base-url", server.url, "-m", "scripted", "--test-cmd")
    ended = run(program, *task, f"{sys.executable} -m pytest", cwd=desk.root, **home)
    assert ended.returncode == 0, ended.stderr
    assert "final: 2 passed" in ended.stderr
