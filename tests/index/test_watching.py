"""Changes are heard of while a session runs; where nothing can be watched the index goes on without."""

import asyncio
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tcoder.index import Index, facade, watching
from tcoder.index.watching import Watch


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    (root / "app").mkdir(parents=True)
    (root / "app" / "color.py").write_text("def parse_hue(): pass\n")
    (root / "node_modules").mkdir()
    (root / ".gitignore").write_text("node_modules/\n*.gen.py\n")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not true():
            await asyncio.sleep(0.01)


async def test_changed_files_and_new_folders_are_reported(root: Path) -> None:
    heard: set[str] = set()
    watch = Watch(root, lambda: {"app"}, heard.update)
    try:
        await until(lambda: watch.alive)
        (root / "app" / "color.py").write_text("def other(): pass\n")
        await until(lambda: "app/color.py" in heard)
        (root / "node_modules" / "x.js").write_text("1")
        heard.clear()
        (root / "late").mkdir()
        await until(lambda: "" in heard and watch.alive)
        (root / "late" / "new.py").write_text("x = 1\n")
        await until(lambda: "late/new.py" in heard)
        assert not any("node_modules/" in path for path in heard)
    finally:
        watch.close()


async def test_a_question_knows_what_others_changed(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facade, "WATCH_DELAY_S", 0)
    monkeypatch.setattr(facade, "SWEEP_AGE_S", 1e9)
    monkeypatch.setattr(facade, "WATCHED_SWEEP_AGE_S", 1e9)
    index = Index.open(root, tmp_path / "cache")
    try:
        assert await index.find_symbol("parse_hue")
        await until(lambda: index.watched)
        (root / "app" / "color.py").write_text("def convert_angle(): pass\n")
        (root / "app" / "new.py").write_text("def brand_new(): pass\n")
        (root / "app" / "made.gen.py").write_text("def ignored_one(): pass\n")
        async with asyncio.timeout(20):
            while not await index.find_symbol("convert_angle") or not await index.find_symbol("brand_new"):
                await asyncio.sleep(0.02)
        (root / "app" / "made.gen.py").write_text("def ignored_two(): pass\n")
        (root / "app" / "color.py").unlink()
        async with asyncio.timeout(20):
            while await index.find_symbol("convert_angle"):
                await asyncio.sleep(0.02)
        assert await index.find_symbol("ignored_one") == await index.find_symbol("ignored_two") == ()
        assert index.state().note == ""
    finally:
        await index.close()


async def test_too_many_folders_are_looked_at_instead(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facade, "WATCH_DELAY_S", 0)
    monkeypatch.setattr(facade, "SWEEP_AGE_S", 0)
    monkeypatch.setattr(watching, "MAX_FOLDERS", 1)
    index = Index.open(root, tmp_path / "cache")
    try:
        await index.find_symbol("parse_hue")
        await until(lambda: "more than 1 folders" in index.state().note)
        (root / "app" / "new.py").write_text("def brand_new(): pass\n")
        assert await index.find_symbol("brand_new")
    finally:
        await index.close()


async def test_a_limit_of_the_system_is_said(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("OS file watch limit reached")

    monkeypatch.setattr(watching, "watch", refuse)
    heard: set[str] = set()
    watch = Watch(root, lambda: {"app"}, heard.update)
    await until(lambda: "limit reached" in watch.problem and heard == {""})
    assert not watch.alive
