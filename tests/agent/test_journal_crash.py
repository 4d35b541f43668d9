"""R18, R19: a process that is killed at any system call on its journal loses at most the event it was writing."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tcoder.agent.journal import Journal, load
from tcoder.protocol.events import Notice

EVENTS = 4
WRITER = f"""
import sys
from pathlib import Path
from tcoder.agent.journal import Journal
from tcoder.protocol.events import Notice, SessionEnded
journal = Journal(Path(sys.argv[1]))
for number in range({EVENTS}):
    journal.append(Notice("info", "test", f"event {{number}} " + "x" * 5000))
    print(number, flush=True)
journal.append(SessionEnded("done"))
journal.close()
"""
POINTS = [*(("write", number) for number in range(1, EVENTS + 2)), ("fdatasync", 1), ("openat", 1), ("flock", 1)]


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace kills the process at an exact system call")
@pytest.mark.parametrize(("call", "number"), POINTS)
def test_a_killed_process_loses_at_most_the_event_it_was_writing(tmp_path: Path, call: str, number: int) -> None:
    path = tmp_path / "s.jsonl"
    inject = f"--inject={call}:signal=KILL:when={number}"
    command = ["strace", "-qq", "-o", "/dev/null", "-P", str(path), "-e", f"trace={call}", inject]
    ended = subprocess.run(
        [*command, sys.executable, "-c", WRITER, str(path)], capture_output=True, text=True, timeout=50
    )
    assert ended.returncode in (-9, 137), ended.stderr
    told = len(ended.stdout.split())  # what was shown had been written before
    loaded = load(path) if path.exists() else None
    events = [recorded.event for recorded in loaded.events] if loaded else []
    texts = [event.text[:7] for event in events if isinstance(event, Notice)]
    assert texts == [f"event {at}" for at in range(len(texts))]
    assert told <= len(texts) <= told + 1
    assert told == (number - 1 if call == "write" else EVENTS if call == "fdatasync" else 0)

    journal = Journal(path, next_seq=len(events) + 1)  # and the session goes on
    journal.append(Notice("info", "test", "again"))
    journal.close()
    assert load(path).events[-1].event == Notice("info", "test", "again")
    assert load(path).problems == ()
