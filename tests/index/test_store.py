"""The index on disk: what is damaged or foreign is built anew, and two may use it at once."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tcoder.index.segment import Source, build, content_key
from tcoder.index.store import FORMAT, Place, Store


def segment(*texts: str):
    return build(Source(content_key(text.encode(), "python"), "python", text.encode()) for text in texts)


def test_what_is_stored_comes_back(tmp_path: Path) -> None:
    store = Store(tmp_path / "x" / "index.sqlite")
    text = "def parse_hue(): pass\n"
    id_ = store.add(segment(text))
    store.save_tree("/r", 1.0, b"tree")
    store.add_past([(b"1" * 20, b"one")])
    store.close()
    again = Store(tmp_path / "x" / "index.sqlite")
    assert again.places() == {content_key(text.encode(), "python"): Place(id_, 0)}
    assert [symbol.name for symbol in again.facts(Place(id_, 0)).symbols] == ["parse_hue"]
    assert [found for found, _ in again.postings("hue")] == [id_]
    assert again.tree("/r") == b"tree"
    assert again.past([b"1" * 20, b"2" * 20]) == {b"1" * 20: b"one"}
    again.close()


def test_the_same_content_is_kept_once(tmp_path: Path) -> None:
    store = Store(tmp_path / "index.sqlite")
    first = store.add(segment("a = 1\n"))
    store.add(segment("b = 1\n", "a = 1\n"))
    assert store.places()[content_key(b"a = 1\n", "python")] == Place(first, 0)
    assert len(store.places()) == 2
    store.close()


def test_segments_are_dropped_whole(tmp_path: Path) -> None:
    store = Store(tmp_path / "index.sqlite")
    first, second = store.add(segment("alpha = 1\n")), store.add(segment("alpha = 2\n"))
    store.drop([first])
    assert [id_ for id_, _ in store.postings("alpha")] == [second]
    assert [head.id for head in store.heads()] == [second]
    store.close()


def foreign(path: Path) -> None:
    path.unlink()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE mine (x)")
    other.commit()
    other.close()


def older(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute(f"PRAGMA user_version = {FORMAT - 1}")
    other.close()


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"not a database, but long enough to be looked at" * 50),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4080),
        foreign,
        older,
    ],
)
def test_a_file_that_is_no_index_is_replaced(tmp_path: Path, damage) -> None:
    path = tmp_path / "index.sqlite"
    store = Store(path)
    store.add(segment("b = 1\n"))
    first = store.database
    store.close()
    damage(first)
    store = Store(path)
    assert store.places() == {}
    store.add(segment("a = 1\n"))
    store.close()
    again = Store(path)
    assert len(again.places()) == 1
    assert list(tmp_path.glob("*.sqlite")) == [again.database]
    again.close()


def test_nobody_empties_a_file_that_another_one_has_open(tmp_path: Path) -> None:
    """A name that is used twice kills the process whose mapped file is emptied."""
    one, other = Store(tmp_path / "index.sqlite"), Store(tmp_path / "index.sqlite")
    one.add(segment("alpha = 1\n"))
    before = one.database
    other.clear()
    assert one.database == before != other.database
    assert len(one.places()) == 1  # what is open stays whole
    seen = one.version()
    assert (one.database, seen[0] in other.database.name, one.places()) == (other.database, True, {})
    other.add(segment("beta = 1\n"))
    assert len(one.postings("beta")) == 1
    one.close()
    other.close()


@pytest.mark.parametrize("damaging", [False, True])
def test_many_clear_and_damage_one_store_at_once(tmp_path: Path, damaging: bool) -> None:
    path = tmp_path / "index.sqlite"
    program = [sys.executable, "-c", STRESS, str(path), str(int(damaging))]
    running = [subprocess.Popen([*program, str(seed)], stderr=subprocess.PIPE) for seed in range(3)]
    ends = [(process.communicate()[1].decode()[-2_000:], process.returncode) for process in running]
    assert ends == [("", 0)] * 3
    store = Store(path)
    store.add(segment("alpha = 1\n"))
    assert len(store.postings("alpha")) == 1
    store.close()


STRESS = """
import os, random, sqlite3, sys, threading
from pathlib import Path
from tcoder.index.segment import Source, build, content_key
from tcoder.index.store import Store, is_busy

path, damaging = Path(sys.argv[1]), sys.argv[2] == "1"
failures = []

def damage(random):
    for file in path.parent.glob("*.sqlite"):
        try:
            with file.open("r+b") as opened:
                opened.seek(random.randrange(max(file.stat().st_size - 5000, 1)))
                opened.write(os.urandom(4096))
        except FileNotFoundError:
            pass

def work(seed):
    chance = random.Random(seed)
    store = Store(path)
    for number in range(150):
        what = chance.random()
        try:
            if what < 0.3:
                text = f"def f{seed}_{number}(): pass".encode()
                store.add(build([Source(content_key(text, "python"), "python", text)]))
            elif what < 0.6:
                store.version(), store.places(), store.postings("pass")
            elif what < 0.75:
                store.close()
                store = Store(path)
            elif what < 0.8 and damaging:
                damage(chance)
            elif what < 0.9:
                store.clear()
            else:
                store.heads()
        except sqlite3.Error as error:
            if not is_busy(error):
                store.clear()
        except BaseException as error:
            failures.append(error)
            raise
    store.close()

threads = [threading.Thread(target=work, args=(int(sys.argv[3]) * 10 + n,)) for n in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
sys.exit(bool(failures))
"""


def test_two_stores_see_each_other(tmp_path: Path) -> None:
    one, other = Store(tmp_path / "index.sqlite"), Store(tmp_path / "index.sqlite")
    before = other.version()
    one.add(segment("alpha = 1\n"))
    assert other.version() != before
    assert len(other.postings("alpha")) == 1
    other.add(segment("alpha = 2\n"))
    assert len(one.postings("alpha")) == 2
    one.close()
    other.close()


def test_without_a_place_to_write_it_lives_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = Store(tmp_path / "file" / "index.sqlite")
    store.add(segment("alpha = 1\n"))
    assert len(store.postings("alpha")) == 1
    store.clear()
    assert store.places() == {}
    store.close()
