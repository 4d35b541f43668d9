"""Long results: what is shown, what is kept, and how the model gets at the rest."""

import os
from pathlib import Path
from typing import Any

import pytest
from support.desk import Desk
from support.live import live, turn

from tcoder.protocol.errors import ToolError
from tcoder.tools.outputs import KEPT_FILES, Outputs, trim

LOG = "".join(f"step {number} is fine\n" for number in range(2_000))
MIXED = LOG + "ERROR: the disk is full\n" + LOG + "the end\n"


def test_what_fits_is_shown_as_it_is() -> None:
    assert trim(LOG, len(LOG), "") == LOG


def test_beginning_end_and_telling_lines_stay_with_counts() -> None:
    shown = trim(MIXED, 4_000, "output:x.txt")
    assert len(shown) < 4_400
    assert shown.startswith("step 0 is fine\n") and shown.endswith("the end\n")
    assert "\n2001: ERROR: the disk is full\n" in shown
    assert 'read or search the whole with path "output:x.txt"' in shown
    assert "1 of the 1 lines among them that look like errors" in shown


@pytest.mark.parametrize("size", [500, 5_000, 50_000])
def test_what_is_left_out_is_counted_rightly(size: int) -> None:
    shown = trim(MIXED, size, "")
    count = int(shown.split(" lines, ")[1].split(" characters")[0])
    before, after = shown.split("\n[… ")[0], shown.split("…]\n")[1]
    assert count == len(MIXED) - len(before) - len(after)


def test_one_endless_line_is_cut_too() -> None:
    assert len(trim("x" * 10**6, 1_000, "")) < 1_300


def test_of_too_many_errors_the_last_are_shown() -> None:
    shown = trim("start\n" + "".join(f"error {n}\n" for n in range(5_000)) + "end\n" * 400, 2_000, "")
    assert "error 4999" in shown and "error 3000" not in shown and "of the " in shown


def test_the_whole_can_be_read_and_searched(tmp_path: Path) -> None:
    outputs = Outputs(tmp_path / "private", 2_000)
    shown = outputs.fit(MIXED, "web/fetch")
    handle = shown.split('path "')[1].split('"')[0]
    assert outputs.text(handle) == MIXED
    assert outputs.search(handle, "disk|the e") == "2001\tERROR: the disk is full\n4002\tthe end"
    assert outputs.search(handle, "fine").endswith("(3940 more matches)")
    assert outputs.search(handle, "nowhere") == "no matches"
    with pytest.raises(ToolError, match="no regular expression"):
        outputs.search(handle, "(")
    (file,) = (tmp_path / "private").iterdir()
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "handle", ["output:", "output:../s.jsonl", "output:/etc/passwd", "output:link.txt", "output:gone.txt"]
)
def test_a_handle_reaches_nothing_else(tmp_path: Path, handle: str) -> None:
    (tmp_path / "s.jsonl").write_text("secret")
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "link.txt").symlink_to(tmp_path / "s.jsonl")
    with pytest.raises(ToolError):
        Outputs(tmp_path / "private").text(handle)


def test_old_results_make_room(tmp_path: Path) -> None:
    outputs = Outputs(tmp_path, 1_000)
    for _ in range(KEPT_FILES + 5):
        outputs.fit(LOG, "x")
    assert len(os.listdir(tmp_path)) == KEPT_FILES


def test_without_a_folder_a_result_is_shortened_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for outputs in (Outputs(None, 1_000), Outputs(tmp_path / "file", 1_000)):
        shown = outputs.fit(MIXED, "x")
        assert len(shown) < 1_400 and "path" not in shown


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("{}/output-ab1_x.txt", "output:output-ab1_x.txt"),
        ("/elsewhere/output-a.txt", "/elsewhere/output-a.txt"),
        ("", ""),
    ],
)
def test_files_of_the_shell_get_a_handle(tmp_path: Path, path: str, expected: str) -> None:
    assert Outputs(tmp_path).handle(path.format(tmp_path)) == expected


async def test_the_model_can_page_through_what_a_command_printed(desk: Desk, serve: Any) -> None:
    def call(name: str, **arguments: Any) -> dict[str, Any]:
        return {"calls": [{"name": name, "arguments": arguments}]}

    command = "seq 1 20000; echo ERROR: lost; seq 1 20000"
    server = serve(call("shell", command=command), {"text": "Done."})
    async with live(desk, server, session_id="s") as session:
        await turn(session, "run it")
        said = server.requests[1].raw.decode()
        assert len(said) < 40_000
        handle = (
            said.split('path \\\\\\"')[1].split("\\")[0]
            if 'path \\\\\\"' in said
            else said.split('path \\"')[1].split("\\")[0]
        )
        server.steps[2:] = [
            call("search", pattern="ERROR", path=handle),
            call("read", path=handle, line=19999),
            {"text": "ok"},
        ]
        await turn(session, "look into it")
    last = server.requests[-1].raw.decode()
    assert "20001\\tERROR: lost" in last
    assert "19999\\t19999\\n20000\\t20000\\n20001\\tERROR: lost" in last


@pytest.mark.parametrize(("tier", "room"), [("small", 8_000), ("medium", 24_000)])
async def test_a_command_has_the_room_of_its_tier_once_and_keeps_its_errors(
    desk: Desk, serve: Any, tier: Any, room: int
) -> None:
    (desk.root / "log.txt").write_text(MIXED * 4)
    server = serve({"calls": [{"name": "shell", "arguments": {"command": "cat log.txt"}}]}, {"text": "ok"})
    async with live(desk, server, budget=tier) as session:
        await turn(session, "run it")
    content = server.requests[1].body["messages"][-1]["content"]
    assert 0.7 * room < len(content) <= room
    assert content.count("left out") == 2  # once in the heading, once where it is missing
    assert "\n2001: ERROR: the disk is full\n" in content and "4 of the 4 lines" in content
    assert content.startswith("exit 0\n") and "step 0 is fine\n" in content and content.endswith("the end")
