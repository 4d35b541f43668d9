"""Processes that parse: a death is reported with the file that was at hand, and the next job has a new process."""

import os
import signal
from pathlib import Path

import pytest

from tcoder.index.pool import HangingFileError, Worker
from tcoder.index.segment import decode_facts


async def test_a_worker_builds_and_survives_its_own_death(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def one(): pass\n")
    (tmp_path / "gone.py").symlink_to("/etc/passwd")
    worker = Worker(tmp_path)
    try:
        built = await worker.build((("a.py", "python"), ("gone.py", "python"), ("missing.py", "python")))
        assert [parsed.path for parsed in built.files] == ["a.py"]
        assert decode_facts(built.segment.contents[0].facts).symbols[0].name == "one"
        assert worker.process_id is not None
        os.kill(worker.process_id, signal.SIGKILL)
        with pytest.raises(HangingFileError) as caught:
            await worker.build((("a.py", "python"),))
        assert caught.value.path == "a.py"
        assert len((await worker.build((("a.py", "python"),))).files) == 1
    finally:
        await worker.close()
