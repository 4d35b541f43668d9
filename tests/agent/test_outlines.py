"""The outline above the conversation: there without waiting, frozen, in the journal."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from support.desk import Desk

from tcoder.agent.budget import TIERS, outline_tokens
from tcoder.agent.outlines import LEISURE_S, Outlines, still_there
from tcoder.index import Index
from tcoder.models.catalogue import resolve
from tcoder.protocol.variant import ModelVariant

LOOK_UP = {"calls": [{"name": "search", "arguments": {"pattern": "add", "kind": "symbol"}}]}
HEAD = "# Repository outline"


def system_of(server: Any, number: int) -> str:
    return server.requests[number].body["messages"][0]["content"]


def journal_of(desk: Desk) -> Path:
    return max((desk.home / "state" / "projects").glob("*/*.jsonl"), key=lambda path: path.stat().st_mtime_ns)


def test_a_session_begins_with_what_an_earlier_one_left_and_goes_on_byte_for_byte(desk: Desk, serve: Any) -> None:
    first = serve(LOOK_UP, {"text": "There.", "stall": 0.3})  # meanwhile the outline is left behind
    desk.ask(first, "where is add?")
    assert HEAD not in system_of(first, 0)  # nothing waits for a cold index
    second = serve(LOOK_UP, {"text": "There."})
    desk.ask(second, "and now?")
    assert system_of(second, 0).endswith("calc.py: add, double")
    assert system_of(second, 1) == system_of(second, 0)
    (desk.root / "later.py").write_text("def later(): ...\n")
    third = serve({"text": "Yes."})
    desk.ask(third, "sure?", "-c")
    before, after = second.requests[-1].raw.removesuffix(b"]}"), third.requests[0].raw
    assert after.startswith(before)
    kinds = [json.loads(line)["type"] for line in journal_of(desk).read_bytes().splitlines()]
    assert kinds.count("outline_taken") == 1 and kinds.index("outline_taken") < kinds.index("model_asked")


def test_while_the_model_thinks_a_cold_index_is_warmed_for_the_next_session(desk: Desk, serve: Any) -> None:
    desk.ask(serve({"text": "It is.", "stall": LEISURE_S + 2}), "is it there?")
    server = serve({"text": "There."})
    desk.ask(server, "and now?")
    assert system_of(server, 0).endswith("calc.py: add, double")


async def test_an_index_that_nobody_asks_is_warmed_at_leisure(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.py").write_text("def f(): ...\n")
    index = Index.open(root, tmp_path / "cache")
    outlines = Outlines(index, root, tmp_path / "outline.json", 300, leisure_s=0)
    outlines.leave()
    outlines.leave()
    while not (tmp_path / "outline.json").exists():
        await asyncio.sleep(0.01)
    assert await outlines.first() == "a.py: f"
    await outlines.close()
    await index.close()
    idle = Outlines(Index.open(root, tmp_path / "cache"), root, tmp_path / "no.json", 0, leisure_s=0)
    idle.leave()
    await asyncio.sleep(0)
    assert idle._index.state().complete == 0  # nobody wants an outline, so nobody asks
    await idle.close()


def test_what_is_gone_is_not_told(desk: Desk, serve: Any) -> None:
    desk.ask(serve(LOOK_UP, {"text": "There.", "stall": 0.3}), "where is add?")
    os.rename(desk.root / "calc.py", desk.root / "sums.py")
    server = serve({"text": "Yes."})
    desk.ask(server, "and now?")
    assert HEAD not in system_of(server, 0)


async def test_an_index_that_is_warm_is_asked(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.py").write_text("def f(): ...\n")
    index = Index.open(root, tmp_path / "cache")
    outlines = Outlines(index, root, tmp_path / "outline.json", 300)
    assert (await outlines.first(), await outlines.anew()) == ("", "")
    await index.refresh()
    assert await outlines.anew() == "a.py: f"
    other = Outlines(Index.open(root, tmp_path / "cache"), root, tmp_path / "outline.json", 300)
    assert (await other.first(), await other.anew()) == ("a.py: f", "a.py: f")
    assert oct((tmp_path / "outline.json").stat().st_mode & 0o777) == "0o600"
    assert await Outlines(index, root, tmp_path / "outline.json", 0).first() == ""
    (tmp_path / "outline.json").write_text("{")
    assert await other.first() == ""
    await outlines.close()
    await index.close()


@pytest.mark.parametrize(
    ("outline", "there"),
    [
        ("src/a.py: f, g\nsrc/b.py", True),
        ("src/ 12 files\n./ 1 files\n… 3 more", True),
        ("src/a.py: f\nsrc/c.py: g", False),
        ("lib/ 2 files", False),
        ("", True),
    ],
)
def test_every_path_of_an_outline_must_be_there(tmp_path: Path, outline: str, there: bool) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").touch()
    (tmp_path / "src" / "b.py").touch()
    assert still_there(outline, tmp_path) is there


@pytest.mark.parametrize(
    ("tier", "variant", "tokens"),
    [
        ("small", ModelVariant("x/m", "m", "x", "u"), 200),
        ("medium", ModelVariant("x/m", "m", "x", "u"), 400),
        ("long", ModelVariant("x/m", "m", "x", "u", context_window=1_000_000), 1_500),
        ("long", ModelVariant("x/m", "m", "x", "u", context_window=8_000), 300),
        ("long", ModelVariant("x/m", "m", "x", "u", strategy="guided"), 0),
        ("long", resolve("local/qwen2.5-coder-1.5b"), 0),
    ],
)
def test_an_outline_is_small_and_none_where_tokens_are_seconds(tier: Any, variant: ModelVariant, tokens: int) -> None:
    assert outline_tokens(TIERS[tier], variant) == tokens
