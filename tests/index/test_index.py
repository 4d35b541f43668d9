# ruff: noqa: E501 (samples read best as one line)
"""The index as everybody uses it, on a small repository of its own."""

import asyncio
import sqlite3
import subprocess
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from tcoder.index import Index
from tcoder.protocol.errors import ToolError
from tcoder.protocol.location import SearchHit

FILES = {
    "app/color.py": '''"""Colours."""
import re


class QtColor:
    """A colour."""

    def parse_hue(self, text):
        """Parse a hue percentage."""
        return int(text.strip("%")) * 255


def blend(one, other):
    return one
''',
    "app/mail.py": "from app.color import blend\n\n\ndef send_mail(to):\n    blend(to, to)\n    raise ValueError('no recipient given')\n",
    "app/web/routes.js": "export function openRoute(path) { return path }\nconst table = { closeRoute() { return 1 } };\n",
    "tests/test_color.py": "from app.color import QtColor\n\n\ndef test_hue():\n    assert QtColor().parse_hue('10%') == 36\n",
    "README.md": "# Colours\n\nParses hue percentages.\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / "repo" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "repo" / name).write_text(text)
    subprocess.run(["git", "init", "-q", str(tmp_path / "repo")], check=True)
    return tmp_path / "repo"


@pytest.fixture
async def index(root: Path, tmp_path: Path) -> AsyncIterator[Index]:
    opened = Index.open(root, tmp_path / "cache")
    yield opened
    await opened.close()


async def test_locate(index: Index) -> None:
    found = await index.locate("hue percentages are parsed wrong: `parse_hue('100%')` of QtColor gives 255")
    assert found.files[0].path == "app/color.py"
    assert found.symbols[0].name == "QtColor.parse_hue"
    assert any("parse_hue" in reason for reason in found.files[0].why)
    assert (found.index.complete, found.index.files) == (1.0, 5)


async def test_one_file_alone_is_found(tmp_path: Path) -> None:
    (tmp_path / "calc.py").write_text("def add(a, b):\n    return a + b\n\n\ndef double(a):\n    return add(a, a)\n")
    index = Index.open(tmp_path, tmp_path / "cache")
    try:
        found = await index.locate("where is double computed")
        assert [hit.name for hit in found.symbols][:1] == ["double"]
    finally:
        await index.close()


async def test_locate_from_a_trace(index: Index) -> None:
    trace = 'Traceback (most recent call last):\n  File "/srv/app/mail.py", line 6, in send_mail\nValueError: x\n'
    found = await index.locate(trace)
    assert found.files[0].path == "app/mail.py"
    assert "frame 1 of the traceback, line 6" in found.files[0].why


@pytest.mark.parametrize("text", ["", "?!", "\0", "\ud800", "日本語", "(a+)+$" * 100])
async def test_any_text_has_an_answer(index: Index, text: str) -> None:
    assert len((await index.locate(text, limit=3)).files) <= 3


async def test_search_text_groups_by_file(index: Index) -> None:
    found = await index.search("blend")
    assert (
        found.text
        == "app/color.py\n  13: def blend(one, other):\napp/mail.py\n  1: from app.color import blend\n  5: blend(to, to)"
    )
    assert found.hits[1] == SearchHit("app/mail.py", 1, "from app.color import blend")


async def test_an_expression_in_one_file_is_found(index: Index) -> None:
    assert (await index.search("bl.nd", path="app/mail.py")).text == (
        "app/mail.py\n  1: from app.color import blend\n  5: blend(to, to)"
    )


async def test_search_is_bounded_and_filtered(index: Index) -> None:
    assert (await index.search("e", limit=2)).more == -1
    assert {hit.path for hit in (await index.search("route", glob="*.js")).hits} == {"app/web/routes.js"}
    assert {hit.path for hit in (await index.search("color", path="tests")).hits} == {"tests/test_color.py"}
    assert (await index.search("nowhere_at_all")).text == "no matches"


async def test_a_literal_in_one_file_spawns_nothing(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", refuse)
    found = await index.search("BLEND".lower(), path="app/mail.py")
    assert [hit.line for hit in found.hits] == [1, 5]


@pytest.mark.parametrize("pattern", ["(a+)+$", "(x+x+)+y", "^(([a-z])+.)+[A-Z]([a-z])+$"])
async def test_a_catastrophic_pattern_is_harmless(index: Index, root: Path, pattern: str) -> None:
    (root / "long.py").write_text("a" * 50_000 + "!\n")
    found = await asyncio.wait_for(index.search(pattern, path="long.py"), 10)
    assert len(found.hits) <= 1


@pytest.mark.parametrize("pattern", ["(", "[a", "a{999999999}", "(?<=a)b", r"(a)\1"])
async def test_a_pattern_that_is_none_is_said(index: Index, pattern: str) -> None:
    with pytest.raises(ToolError, match="cannot search"):
        await index.search(pattern)


@pytest.mark.parametrize("pattern", ["", "  ", "a\0b", "x" * 3_000])
async def test_an_impossible_pattern_is_said(index: Index, pattern: str) -> None:
    with pytest.raises(ToolError, match="empty or too long"):
        await index.search(pattern)


@pytest.mark.parametrize("pattern", ["-e", "--pre=touch", "--", "-"])
async def test_a_pattern_is_never_an_option(index: Index, pattern: str) -> None:
    assert (await index.search(pattern)).hits == ()


@pytest.mark.parametrize("path", ["../x", "/etc", "app/../../x", "nothing.py", "out"])
async def test_paths_stay_inside(index: Index, root: Path, path: str) -> None:
    (root / "out").symlink_to("/etc")
    with pytest.raises(ToolError):
        await index.search("root", path=path)
    with pytest.raises(ToolError):
        await index.outline(path, budget_tokens=100)
    assert await index.symbols(path) == ()


async def test_symbols(index: Index) -> None:
    found = await index.symbols("app/color.py")
    assert [(symbol.kind, symbol.qualified, symbol.line, symbol.end_line) for symbol in found] == [
        ("class", "QtColor", 5, 10),
        ("method", "QtColor.parse_hue", 8, 10),
        ("function", "blend", 13, 14),
    ]


async def test_find_symbol(index: Index) -> None:
    assert [hit.name for hit in await index.find_symbol("parse_hue")] == ["QtColor.parse_hue"]
    assert [hit.line for hit in await index.find_symbol("QtColor.parse_hue")] == [8]
    assert await index.find_symbol("Other.parse_hue") == ()
    assert [hit.path for hit in await index.find_symbol("openroute")] == ["app/web/routes.js"]
    assert await index.find_symbol("") == ()
    assert (await index.search("blend", kind="symbol")).text == "app/color.py\n  13: def blend(one, other)"


async def test_implementers(index: Index, root: Path) -> None:
    (root / "app" / "sub.py").write_text("class Sub(QtColor):\n    pass\n\n\nclass Other(QtColors):\n    pass\n")
    (root / "app" / "sub.ts").write_text("export class View extends QtColor<Hue> { a() {} }\n")
    await index.refresh()
    assert (await index.search("QtColor", kind="implementers")).text == (
        "app/sub.py\n  1: class Sub(QtColor)\napp/sub.ts\n  1: class View extends QtColor<Hue>"
    )


async def test_references_are_whole_words(index: Index, root: Path) -> None:
    (root / "app" / "more.py").write_text("blender = 1\nblend(1, 2)\n")
    found = await index.search("blend", kind="references")
    assert SearchHit("app/more.py", 2, "blend(1, 2)") in found.hits
    assert all("blender" not in hit.text for hit in found.hits)


async def test_enclosing(index: Index) -> None:
    inside = await index.enclosing("app/color.py", 10)
    assert inside is not None
    assert inside.name == "QtColor.parse_hue"
    assert await index.enclosing("app/color.py", 2) is None


async def test_outline_of_a_file_and_of_everything(index: Index) -> None:
    one = await index.outline("app/color.py", budget_tokens=200)
    assert one == (
        "app/color.py\n5: class QtColor  A colour.\n  8: def parse_hue(self, text)\n13: def blend(one, other)"
    )
    everything = await index.outline(budget_tokens=300)
    assert everything == ("app/color.py: QtColor, blend\napp/mail.py: send_mail\napp/web/routes.js: openRoute")
    assert await index.outline(budget_tokens=300) == everything


async def test_outline_shows_the_focus_first(index: Index) -> None:
    focus = await index.locate("send_mail has no recipient", limit=1)
    assert (await index.outline(budget_tokens=300, focus=focus)).startswith("app/mail.py\n4: def send_mail(to)\n\n")


async def test_files_matching(index: Index) -> None:
    assert (await index.files_matching("col"))[:2] == ("app/color.py", "tests/test_color.py")
    assert "app/web/" in await index.files_matching("web")
    assert await index.files_matching("apwero") == ("app/web/routes.js",)
    assert await index.files_matching("zzz") == ()


async def test_related_tests(index: Index) -> None:
    assert await index.related_tests(["app/color.py"]) == ("tests/test_color.py",)
    assert await index.related_tests(["README.md"]) == ()


async def test_tests_that_import_what_uses_a_file(index: Index, root: Path) -> None:
    (root / "app" / "deep.py").write_text("def convert_angle(): pass\n")
    (root / "app" / "color.py").write_text("from app.deep import convert_angle\n")
    await index.changed(["app/deep.py", "app/color.py"])
    assert await index.related_tests(["app/deep.py"]) == ("tests/test_color.py",)


async def test_changes_are_known_at_once(index: Index, root: Path) -> None:
    await index.locate("hue")
    (root / "app" / "color.py").write_text("def convert_angle(): pass\n")
    (root / "app" / "new.py").write_text("def brand_new(): pass\n")
    (root / "app" / "mail.py").unlink()
    await index.changed(["app/color.py", "app/new.py", "app/mail.py", "../evil.py", "app/none.py"])
    assert [hit.path for hit in await index.find_symbol("convert_angle")] == ["app/color.py"]
    assert [hit.path for hit in await index.find_symbol("brand_new")] == ["app/new.py"]
    assert await index.find_symbol("parse_hue") == ()
    assert await index.find_symbol("send_mail") == ()


async def test_refresh_sees_what_others_did(index: Index, root: Path) -> None:
    await index.locate("hue")
    (root / "app" / "late.py").write_text("def late_one(): pass\n")
    assert (await index.refresh()).files == 6
    assert [hit.path for hit in await index.find_symbol("late_one")] == ["app/late.py"]


async def test_a_second_start_parses_nothing(index: Index, root: Path, tmp_path: Path) -> None:
    await index.build()
    again = Index.open(root, tmp_path / "cache")
    assert (await again.locate("hue")).index.complete == 1.0
    report = await again.build(rebuild=True)
    assert (report.files, report.languages["python"], report.complete) == (5, 3, 1.0)
    assert report.bytes > 0
    await again.close()


async def test_a_damaged_store_heals_during_a_question(index: Index, root: Path, tmp_path: Path) -> None:
    await index.build()
    await index.close()
    (database,) = (tmp_path / "cache" / "index").glob("*.sqlite")
    data = database.read_bytes()
    database.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    again = Index.open(root, tmp_path / "cache")
    assert (await again.locate("parse_hue")).files[0].path == "app/color.py"
    await again.close()


async def test_a_file_that_cannot_be_parsed_is_still_found(index: Index, root: Path) -> None:
    (root / "app" / "minified.js").write_text("var a=" + "[1]," * 20_000)
    (root / "app" / "binary.py").write_bytes(b"\0" * 100)
    await index.refresh()
    assert index.state().complete == 1.0
    assert "app/minified.js" in await index.files_matching("minified")


async def test_closing_twice_and_early(root: Path, tmp_path: Path) -> None:
    unused = Index.open(root, tmp_path / "cache")
    await unused.close()
    await unused.close()
    assert not (tmp_path / "cache").exists()


async def test_many_small_edits_do_not_pile_up(index: Index, root: Path, tmp_path: Path) -> None:
    await index.locate("hue")
    for number in range(60):
        (root / "app" / "color.py").write_text(f"def turn_{number}(): pass\n")
        await index.changed(["app/color.py"])
    await index.refresh()
    await index.close()
    (database,) = (tmp_path / "cache" / "index").glob("*.sqlite")
    again = Index.open(root, tmp_path / "cache")
    assert [hit.path for hit in await again.find_symbol("turn_59")] == ["app/color.py"]
    assert await again.find_symbol("turn_58") == ()
    await again.close()
    with closing(sqlite3.connect(database)) as reading:
        assert reading.execute("SELECT count(*) FROM segment").fetchone()[0] < 10


async def test_a_branch_that_comes_back_is_known(index: Index, root: Path) -> None:
    before = (root / "app" / "color.py").read_text()
    await index.locate("hue")
    (root / "app" / "color.py").write_text("def other(): pass\n")
    await index.changed(["app/color.py"])
    (root / "app" / "color.py").write_text(before)
    await index.changed(["app/color.py"])
    assert [hit.path for hit in await index.find_symbol("parse_hue")] == ["app/color.py"]


async def test_two_indexes_share_one_store(index: Index, root: Path, tmp_path: Path) -> None:
    other = Index.open(root, tmp_path / "cache")
    await asyncio.gather(index.refresh(), other.refresh())
    (root / "app" / "late.py").write_text("def late_one(): pass\n")
    await asyncio.gather(index.refresh(), other.refresh())
    assert await index.find_symbol("late_one") == await other.find_symbol("late_one") != ()
    await other.close()


async def test_a_cold_answer_does_not_wait_for_everything(root: Path, tmp_path: Path) -> None:
    for number in range(400):
        (root / "app" / f"filler_{number}.py").write_text(
            f"def filler_{number}(value):\n    return value + {number}\n" * 8
        )
    cold = Index.open(root, tmp_path / "cold")
    found = await cold.locate("hue percentages are parsed wrong: `parse_hue` of QtColor gives 255")
    assert found.files[0].path == "app/color.py"
    assert found.index.complete > 0
    assert found.index.files == 405
    assert (await cold.refresh()).complete == 1.0
    await cold.close()


async def test_ignored_and_vendored_code_is_searched_on_request(index: Index, root: Path) -> None:
    (root / ".gitignore").write_text("node_modules/\nvendor/*\n")
    for folder in ("node_modules/pkg", "vendor"):
        (root / folder).mkdir(parents=True)
        (root / folder / "x.js").write_text("function far_away() {}\n")
    assert (await index.search("far_away")).hits == ()
    for folder in ("node_modules", "node_modules/pkg", "vendor", "vendor/x.js"):
        assert len((await index.search("far_.way", path=folder)).hits) == 1, folder


@pytest.mark.parametrize(
    "data", [b"x = [" + b"1, " * 1_600_000 + b"]", b"[" * 100_000, b"\0" * 5_000, b"a\n" * 900_000]
)
async def test_hostile_files_cost_little(index: Index, root: Path, data: bytes) -> None:
    (root / "app" / "hostile.py").write_bytes(data)
    async with asyncio.timeout(15):
        await index.refresh()
        assert index.state().complete == 1.0
        assert [hit.path for hit in await index.find_symbol("blend")] == ["app/color.py"]


async def test_a_large_file_pointer_defines_nothing(index: Index, root: Path) -> None:
    (root / "app" / "big.py").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    await index.refresh()
    assert await index.symbols("app/big.py") == ()
