"""Test suites of real projects inside the sandbox: interpreters under home, private caches, no network."""

import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tcoder.workspace.sandbox.sandbox import Sandbox
from tcoder.workspace.shell.shell import Shell


@pytest.fixture
async def shell(tmp_path: Path) -> AsyncIterator[Shell]:
    root = tmp_path / "work"
    root.mkdir()
    opened = Shell(root, sandbox=Sandbox(root), spill_dir=tmp_path / "spill")
    yield opened
    await opened.close()


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


async def test_python_with_a_virtual_environment_of_the_workspace(shell: Shell) -> None:
    root = shell.cwd
    write(root, {"calc.py": "def add(a, b): return a + b\n", "test_calc.py": PYTHON_TESTS})
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", root / ".venv"], check=True)
    result = await shell.run(". .venv/bin/activate && python -m unittest -v 2>&1", timeout_s=50)
    assert result.exit_code == 0 and "Ran 3 tests" in result.output, result.output
    carried = await shell.run("python -c 'import sys; print(sys.prefix)'", timeout_s=20)
    assert carried.output == f"{root}/.venv\n"


PYTHON_TESTS = """
import multiprocessing, os, socket, subprocess, sys, tempfile, threading, unittest
from http.client import HTTPConnection
from http.server import HTTPServer, SimpleHTTPRequestHandler
from calc import add

class Tests(unittest.TestCase):
    def test_processes(self):
        with multiprocessing.Manager() as manager:
            self.assertEqual(dict(manager.dict(a=1)), {"a": 1})
        self.assertEqual(subprocess.check_output([sys.executable, "-c", "print(1)"]), b"1\\n")

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            open(os.path.join(folder, "x"), "w").close()
        self.assertEqual(add(1, 2), 3)

    def test_loopback(self):
        server = HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler)
        threading.Thread(target=server.handle_request).start()
        connection = HTTPConnection("localhost", server.server_port)
        connection.request("GET", "/calc.py")
        self.assertEqual(connection.getresponse().status, 200)
        connection.close()
        server.server_close()
"""


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed on this machine")


@needs("npm")
async def test_node_with_npm(shell: Shell) -> None:
    write(
        shell.cwd,
        {
            "package.json": '{"name": "x", "version": "1.0.0", "scripts": {"test": "node --test"}}',
            "add.js": "module.exports = (a, b) => a + b\n",
            "add.test.js": 'const test = require("node:test"); const assert = require("node:assert")\n'
            'test("adds", () => assert.equal(require("./add")(1, 2), 3))\n'
            'test("fails", () => assert.equal(require("./add")(1, 2), 4))\n',
        },
    )
    logs = Path.home() / ".npm/_logs"
    before = sorted(logs.iterdir()) if logs.is_dir() else []
    result = await shell.run("npm test", timeout_s=50)
    assert result.exit_code == 1
    assert "pass 1" in result.output and "fail 1" in result.output, result.output
    assert (sorted(logs.iterdir()) if logs.is_dir() else []) == before


@needs("cargo")
async def test_rust_with_cargo(shell: Shell) -> None:
    write(
        shell.cwd,
        {
            "Cargo.toml": '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n[profile.test]\ndebug = false\n',
            "src/lib.rs": "#[test]\nfn adds() { assert_eq!(1 + 2, 3) }\n#[test]\nfn fails() { assert_eq!(1 + 2, 4) }\n",
        },
    )
    real = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    before = {str(path) for path in real.iterdir()}
    result = await shell.run("cargo test --offline --lib", timeout_s=55)
    assert result.exit_code == 101
    assert "1 passed; 1 failed" in result.output, result.output
    assert {str(path) for path in real.iterdir()} == before


@needs("go")
async def test_go(shell: Shell) -> None:
    write(
        shell.cwd,
        {
            "go.mod": "module x\n\ngo 1.20\n",
            "x_test.go": 'package x\n\nimport "testing"\n\nfunc TestFails(t *testing.T) { t.Fatal("no") }\n',
        },
    )
    result = await shell.run("go test ./...", timeout_s=55)
    assert result.exit_code == 1 and "--- FAIL: TestFails" in result.output, result.output


async def test_an_install_that_needs_the_network_fails_quickly_and_says_so(shell: Shell) -> None:
    result = await shell.run(f"{sys.executable} -m pip --retries 0 install nothing-like-this", timeout_s=50)
    assert result.exit_code != 0 and not result.timed_out
