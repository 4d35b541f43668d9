"""The real engine with a tiny model: found, shared, ended, started again; never left over."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from msgspec import structs
from support.tiny_gguf import write_tiny_gguf

from tcoder.models.local.engine import EngineSettings, hold_engine
from tcoder.models.local.engine_files import EngineFiles, engine_name
from tcoder.models.local.engine_server import MEMORY
from tcoder.models.local.folders import LocalFolders
from tcoder.models.local.local import LocalModel
from tcoder.models.local.running import running, stop, told
from tcoder.protocol.errors import ModelError
from tcoder.protocol.messages import TextPart, UserMessage
from tcoder.protocol.request import ModelReply, ModelRequest
from tcoder.protocol.variant import ModelVariant

QUICK = (sys.executable, str(Path(__file__).parents[1] / "support" / "quick_engine.py"))
SETTINGS = EngineSettings(threads=1, idle_s=0, context=512)
VARIANT = ModelVariant(id="local/tiny", model="tiny", provider="local", base_url="", json_schema=True)


RUN = "import tcoder.models.local.engine_server as s; s.main()"


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[LocalFolders]:
    made = LocalFolders(tmp_path / "models", tmp_path / "state", tmp_path / "run")
    made.weights.mkdir()
    write_tiny_gguf(made.weights / "tiny.gguf")
    yield made
    for registration in made.runtime.glob("*.json"):
        with contextlib.suppress(ProcessLookupError):  # it has ended by itself
            os.kill(json.loads(registration.read_bytes())["pid"], signal.SIGKILL)


@pytest.fixture
def weights(folders: LocalFolders) -> Path:
    return folders.weights / "tiny.gguf"


def files(folders: LocalFolders, settings: EngineSettings = SETTINGS) -> EngineFiles:
    path = folders.weights / "tiny.gguf"
    return EngineFiles(folders.runtime, engine_name("local/tiny", path, settings.context, settings.threads))


def local(folders: LocalFolders, *, threads: int = 1, idle_s: float = 0) -> LocalModel:
    return LocalModel(threads=threads, idle_s=idle_s, context=512, folders=folders, command=QUICK)


def ask(text: str = "Say something", **options: object) -> ModelRequest:
    return ModelRequest(VARIANT, "Be brief.", (UserMessage((TextPart(text),)),), max_output=8, **options)  # type: ignore[arg-type]  # a table of keyword arguments


def longer(request: ModelRequest, tokens: int = 100) -> ModelRequest:
    return structs.replace(request, max_output=tokens)


async def reply(model: LocalModel, request: ModelRequest) -> ModelReply:
    parts = [part async for part in model.stream(request)]
    assert isinstance(parts[-1], ModelReply)
    return parts[-1]


async def ended(engine: EngineFiles, within_s: float = 15) -> None:
    async with asyncio.timeout(within_s):
        while engine.is_alive():
            await asyncio.sleep(0.01)


async def test_a_request_starts_the_engine_and_the_next_finds_its_prompt_cached(folders: LocalFolders) -> None:
    model = local(folders)
    first = await reply(model, ask(temperature=0.0))
    second = await reply(model, ask(temperature=0.0))
    assert first.message.usage is not None
    assert second.message.usage is not None
    assert first.message.model == "local/tiny"
    assert first.served.model == "local/tiny"
    assert first.message.usage.output > 0
    assert (first.message.usage.cache_read, second.message.usage.cache_read > 10) == (0, True)
    assert second.message.usage.prompt == first.message.usage.prompt
    await model.close()
    await model.close()
    await ended(files(folders))
    assert not files(folders).registration.exists()


async def test_answers_follow_a_schema(folders: LocalFolders) -> None:
    model = local(folders)
    schema = {
        "type": "object",
        "properties": {"ok": {"type": "boolean"}},
        "required": ["ok"],
        "additionalProperties": False,
    }
    request = ask(response_schema=schema, temperature=0.0)
    answer = await reply(model, longer(request, 200))
    assert isinstance(json.loads(answer.message.text)["ok"], bool)
    await model.close()


async def test_only_this_user_with_the_key_gets_in(folders: LocalFolders, weights: Path) -> None:
    lease = await hold_engine("local/tiny", weights, SETTINGS, folders, command=QUICK)
    engine = files(folders)
    registration = engine.read()
    assert registration is not None
    assert engine.registration.stat().st_mode & 0o777 == 0o600
    assert folders.runtime.stat().st_mode & 0o777 == 0o700
    command_line = (
        Path(f"/proc/{registration.pid}/cmdline").read_bytes() + Path(f"/proc/{registration.pid}/environ").read_bytes()
    )
    assert registration.key.encode() not in command_line
    listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines() if line.split()[3] == "0A"]
    assert [a for a in listening if a.endswith(f":{registration.port:04X}")] == [f"0100007F:{registration.port:04X}"]
    async with httpx.AsyncClient(base_url=lease.endpoint.base_url) as client:
        body = {"model": "x", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 1}
        for headers, status in (({}, 401), ({"authorization": "Bearer no"}, 401)):
            assert (await client.post("/chat/completions", json=body, headers=headers)).status_code == status
        allowed = {"authorization": f"Bearer {lease.endpoint.api_key}"}
        assert (await client.post("/chat/completions", json=body, headers=allowed)).status_code == 200
        response = await client.post("/responses", json={"input": "hi", "max_output_tokens": 1}, headers=allowed)
        assert response.json()["object"] == "response"
        messages = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 1}
        response = await client.post("/messages", json=messages, headers={"x-api-key": lease.endpoint.api_key})
        assert response.json()["type"] == "message"
    lease.close()
    await ended(engine)


async def test_engines_do_not_inherit_secrets(
    folders: LocalFolders, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-do-not-pass-on")
    lease = await hold_engine("local/tiny", weights, SETTINGS, folders, command=QUICK)
    registration = files(folders).read()
    assert registration is not None
    environment = Path(f"/proc/{registration.pid}/environ").read_bytes()
    assert b"do-not-pass-on" not in environment
    assert b"GOMP_SPINCOUNT=20000" in environment
    lease.close()


async def test_starters_at_the_same_time_share_one_engine(folders: LocalFolders, weights: Path) -> None:
    notes: list[str] = []
    leases = await asyncio.gather(
        *(hold_engine("local/tiny", weights, SETTINGS, folders, notes.append, QUICK) for _ in range(3))
    )
    assert len({lease.endpoint.api_key for lease in leases}) == 1
    assert notes.count("loading local/tiny") == 1
    assert "waiting for another tcoder that starts the engine" in notes
    leases[0].close()
    leases[1].close()
    await asyncio.sleep(0.2)
    assert leases[2].is_alive(), "it has a user left"
    leases[2].close()
    await ended(files(folders))


async def test_another_context_is_another_engine(folders: LocalFolders, weights: Path) -> None:
    other = EngineSettings(threads=1, idle_s=0, context=1024)
    leases = [await hold_engine("local/tiny", weights, s, folders, command=QUICK) for s in (SETTINGS, other)]
    assert [lease.endpoint.context for lease in leases] == [512, 1024]
    assert leases[0].endpoint.base_url != leases[1].endpoint.base_url
    for lease in leases:
        lease.close()


HOLD = """
import asyncio, sys
from pathlib import Path
from tcoder.models.local.engine import EngineSettings, hold_engine
from tcoder.models.local.folders import LocalFolders
async def main():
    root = Path(sys.argv[1])
    folders = LocalFolders(root / "models", root / "state", root / "run")
    path = folders.weights / "tiny.gguf"
    lease = await hold_engine("local/tiny", path, EngineSettings(1, 0, 512), folders, command=tuple(sys.argv[2:]))
    print(lease.endpoint.api_key, flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


async def test_a_killed_user_lets_go(folders: LocalFolders, weights: Path) -> None:
    user = subprocess.Popen([sys.executable, "-c", HOLD, str(weights.parents[1]), *QUICK], stdout=subprocess.PIPE)
    with user:
        assert user.stdout is not None
        key = user.stdout.readline().decode().strip()
        shared = await hold_engine("local/tiny", weights, SETTINGS, folders, command=QUICK)
        assert shared.endpoint.api_key == key, "another process uses the same engine"
        shared.close()
        await asyncio.sleep(0.2)
        assert files(folders).is_alive(), "the other process uses it"
        user.kill()
    await ended(files(folders))


async def test_it_ends_when_idle_also_while_somebody_holds_on(folders: LocalFolders) -> None:
    model = local(folders, idle_s=0.3)
    endpoint = await model.ensure_engine("local/tiny")
    await ended(files(folders))
    answer = await reply(model, ask())
    assert answer.message.usage is not None
    assert (await model.ensure_engine("local/tiny")).api_key != endpoint.api_key, "it was started again"
    await model.close()
    await ended(files(folders))


async def test_it_stays_for_later_runs_until_idle(folders: LocalFolders) -> None:
    first, second = local(folders, idle_s=60), local(folders, idle_s=60)
    endpoint = await first.ensure_engine("local/tiny")
    await first.close()
    await asyncio.sleep(0.2)
    assert await second.ensure_engine("local/tiny") == endpoint
    await second.close()
    registration = files(folders).read()
    assert registration is not None
    os.kill(registration.pid, signal.SIGTERM)
    await ended(files(folders))
    assert not files(folders).registration.exists()


async def test_an_engine_that_idles_is_named_and_can_be_ended(folders: LocalFolders) -> None:
    assert running(folders.runtime) == [] and stop(folders.runtime) == ([], [])
    model = local(folders, idle_s=400)
    await reply(model, ask())
    (used,) = running(folders.runtime)
    assert used.used and "in use" in told(used)
    ended_ones, left = stop(folders.runtime)
    assert ended_ones == [] and [engine.pid for engine in left] == [used.pid]
    await model.close()
    (idle,) = running(folders.runtime)
    assert not idle.used and idle.ends_in_s is not None and 380 < idle.ends_in_s <= 400
    assert "local/tiny idles" in told(idle) and "ends in 7 min; `tcoder models stop`" in told(idle)
    assert idle.memory_bytes is None or idle.memory_bytes > 1_000_000
    ended_ones, left = stop(folders.runtime)
    assert [engine.pid for engine in ended_ones] == [idle.pid] and left == []
    assert running(folders.runtime) == [] and not files(folders).is_alive()


async def test_a_crashed_engine_is_replaced(folders: LocalFolders) -> None:
    model = local(folders)
    endpoint = await model.ensure_engine("local/tiny")
    registration = files(folders).read()
    assert registration is not None
    os.kill(registration.pid, signal.SIGKILL)
    await ended(files(folders))
    assert files(folders).registration.exists(), "nobody cleaned up"
    assert (await reply(model, ask())).message.usage is not None
    assert (await model.ensure_engine("local/tiny")).api_key != endpoint.api_key
    await model.close()


async def test_an_engine_that_dies_during_an_answer_is_replaced(folders: LocalFolders) -> None:
    model = local(folders)
    await model.ensure_engine("local/tiny")
    registration = files(folders).read()
    assert registration is not None
    request = ask()
    stream = model.stream(longer(request, 400))
    parts = [await anext(stream)]
    os.kill(registration.pid, signal.SIGKILL)
    parts += [part async for part in stream]
    assert isinstance(parts[-1], ModelReply)
    await model.close()


async def test_threads_are_measured_and_remembered(folders: LocalFolders) -> None:
    notes: list[str] = []
    model = LocalModel(threads=0, idle_s=0, context=512, folders=folders, on_note=notes.append, command=QUICK)
    endpoint = await model.ensure_engine("local/tiny")
    assert notes[0] == "measuring how many threads are best"
    remembered = json.loads((folders.state / MEMORY).read_bytes())["local/tiny"]
    assert remembered["threads"]["generation"] == endpoint.threads
    assert remembered["speed"]["prompt"] > 0
    await model.close()
    await ended(files(folders, EngineSettings(threads=0, context=512)))
    notes.clear()
    await model.ensure_engine("local/tiny")
    assert notes == ["loading local/tiny"]
    await model.close()


async def test_slow_answers_make_the_engine_measure_again(folders: LocalFolders) -> None:
    model = LocalModel(idle_s=0, context=512, folders=folders, command=(*QUICK, "slowing"))
    endpoint = await model.ensure_engine("local/tiny")
    remembered = folders.state / MEMORY
    before = remembered.read_bytes()
    for number in range(3):
        await reply(model, longer(ask(f"Question {number}")))
        await asyncio.sleep(0.2)  # so that the engine sees each answer by itself
    async with asyncio.timeout(20):
        while remembered.read_bytes() == before:
            await asyncio.sleep(0.01)
    await reply(model, ask())
    again = await model.ensure_engine("local/tiny")
    assert (again.base_url, again.api_key) == (endpoint.base_url, endpoint.api_key), "it is the same process"
    await model.close()


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("import sys; print('terminate called: std::bad_alloc', file=sys.stderr); sys.exit(134)", "std::bad_alloc"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "it was killed while it loaded local/tiny"),
        ("import sys; sys.exit(3)", "it ended with status 3"),
        (f"import sys; sys.modules['xllamacpp'] = None; {RUN}", "the local engine is not installed"),
        (
            f"{RUN.replace('s.main', 's.available_memory = lambda: 10**8; s.main')}",
            "needs about .* of memory, 100 MB are free",
        ),
    ],
)
async def test_a_start_that_fails_is_one_sentence(
    folders: LocalFolders, weights: Path, program: str, message: str
) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        await hold_engine("local/tiny", weights, SETTINGS, folders, command=(sys.executable, "-c", program))
    assert caught.value.hint
    assert not files(folders).is_alive()
    lease = await hold_engine("local/tiny", weights, SETTINGS, folders, command=QUICK)
    lease.close()


async def test_a_file_that_is_no_model_is_one_sentence(folders: LocalFolders) -> None:
    (folders.weights / "broken.gguf").write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ModelError, match=r"broken\.gguf cannot be loaded"):
        await local(folders).ensure_engine("local/broken")


async def test_missing_weights_name_the_command(folders: LocalFolders) -> None:
    with pytest.raises(ModelError, match="are not here yet") as caught:
        await local(folders).ensure_engine("local/qwen2.5-coder-0.5b")
    assert "tcoder models pull local/qwen2.5-coder-0.5b" in caught.value.hint


async def test_a_cancelled_start_leaves_no_process(folders: LocalFolders, weights: Path, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    program = "import os, sys, time; os.symlink(str(os.getpid()), sys.argv[1]); time.sleep(600)"
    command = (sys.executable, "-c", program, str(pid_file))
    start = asyncio.create_task(hold_engine("local/tiny", weights, SETTINGS, folders, command=command))
    async with asyncio.timeout(20):
        while not pid_file.is_symlink():
            await asyncio.sleep(0.01)
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.readlink().name), 0)


async def test_the_shipped_command_starts_it_from_any_folder(
    folders: LocalFolders, weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "msgspec.py").write_text("raise SystemExit('a file of the repository was imported')\n")
    monkeypatch.chdir(repository)
    lease = await hold_engine("local/tiny", weights, SETTINGS, folders)
    registration = files(folders).read()
    assert registration is not None
    assert Path(f"/proc/{registration.pid}/cwd").readlink() == Path("/"), "it keeps no folder busy"
    lease.close()
    await ended(files(folders))
