"""The engine's process: `python -m tcoder.models.engine_server`, told what to do by one `Order` on standard input."""

import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Protocol

import msgspec

from tcoder.models.engine_files import EngineFiles, Order, Registration, Report, try_lock
from tcoder.models.engine_machine import available_memory, usable_cores
from tcoder.models.engine_threads import (
    Choice,
    Counters,
    Speed,
    Threads,
    Watch,
    choose,
    pairs_to_try,
    recall,
    remember,
)
from tcoder.models.weights_store import human

_TICK_S = 1.0
_QUIET_S = 3.0  # after the last answer, before a measurement may interrupt
_SPARE_BYTES = 400 << 20


class Backend(Protocol):
    """What runs the model; see `engine_llama.Llama`."""

    def load(self, threads: Threads, port: int = 0) -> int: ...

    def measure(self) -> Speed: ...

    def counters(self) -> Counters: ...

    def unload(self) -> None: ...


class StartError(Exception):
    """The engine cannot start; the arguments are what failed and what to do about it."""


def main(tick_s: float = _TICK_S) -> None:
    """Run until there is nothing to do; the exit status says nothing, the reports on standard output do."""
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)
    reports = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what libraries print belongs into the log
    os.chdir("/")  # the starter's folder may be wanted gone
    try:
        serve(order, _llama(order), Reporter(reports.write), tick_s)
    except StartError as failure:
        message, hint = failure.args
        Reporter(reports.write)(Report(message, failed=True, hint=hint))
    sys.stdout.flush()
    os._exit(0)  # the library's threads are not worth waiting for


def _llama(order: Order) -> Backend:
    needed = int(Path(order.path).stat().st_size * 1.2) + _SPARE_BYTES
    free = available_memory()
    if free is not None and free < needed:
        raise StartError(
            f"{order.model} needs about {human(needed)} of memory, {human(free)} are free",
            "close other programs or use a smaller model",
        )
    try:
        from tcoder.models.engine_llama import Llama  # late: the library may be missing
    except ImportError as error:
        raise StartError(
            f"the local engine is not installed: {error}", "install it with `pip install 'tcoder[local]'`"
        ) from error
    return Llama(Path(order.path), order.model, order.context, order.key)


class Reporter:
    """Tells the process that started the engine how far it is; that process may be gone."""

    def __init__(self, write: "Writer") -> None:
        self._write = write

    def __call__(self, report: Report) -> None:
        try:
            self._write(msgspec.json.encode(report) + b"\n")
        except OSError:
            self._write = _nowhere


class Writer(Protocol):
    def __call__(self, data: bytes, /) -> object: ...


def _nowhere(data: bytes) -> None:
    """Nobody listens any more."""


def serve(order: Order, backend: Backend, report: Reporter, tick_s: float) -> None:
    """Load, register, and keep going until idle or told to stop by a signal. Returns at once when another process is
    this engine already. Raises `StartError`."""
    files = EngineFiles(Path(order.runtime), order.name)
    alive = try_lock(files.alive, shared=False)
    if alive is None:
        raise StartError("another process is this engine", "try again")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    engine = _Engine(order, backend, report, files)
    try:
        engine.start()
        engine.run(tick_s)
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        files.registration.unlink(missing_ok=True)
        backend.unload()
        os.close(alive)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


class _Engine:
    def __init__(self, order: Order, backend: Backend, report: Reporter, files: EngineFiles) -> None:
        self._order = order
        self._backend = backend
        self._report = report
        self._files = files
        self._memory = Path(order.state) / "threads.json"
        self._cores = usable_cores()
        self._port = 0
        self._started = time.time()
        self._watch: Watch | None = None  # none when the thread count was given

    def start(self) -> None:
        if self._order.threads:
            self._load(Threads(self._order.threads, self._order.threads))
        elif remembered := recall(self._memory, self._order.model, self._cores):
            self._load(remembered.threads)
            self._watch = Watch(remembered)
        else:
            self._watch = Watch(self._measure())
        self._report(Report(ready=True))

    def run(self, tick_s: float) -> None:
        active = time.monotonic()
        users = 1
        while True:
            time.sleep(tick_s)
            counters = self._backend.counters()
            now = time.monotonic()
            grown = self._watch.feed(counters) if self._watch else False
            seen = self._count_users()
            if counters.busy or grown or seen != users:
                active = now
            users = seen
            if counters.busy:
                continue
            if self._is_idle(now - active, users) and self._end():
                return
            if self._watch and now - active >= _QUIET_S and self._watch.wants_measuring(now):
                self._watch.measured(self._measure(), time.monotonic())

    def _is_idle(self, quiet_s: float, users: int) -> bool:
        if not self._order.idle_s:
            return not users
        return quiet_s >= self._order.idle_s

    def _count_users(self) -> int:
        """0 or 1: whether anybody uses the engine."""
        descriptor = try_lock(self._files.users, shared=False)
        if descriptor is None:
            return 1
        os.close(descriptor)
        return 0

    def _end(self) -> bool:
        """Stop being found. False when a request came in at the last moment."""
        self._files.registration.unlink(missing_ok=True)
        if self._backend.counters().busy:
            self._register(self._current())
            return False
        if self._watch and self._watch.outgrown:
            self._remember(msgspec.structs.replace(self._watch.choice, at=0))
        return True

    def _current(self) -> Threads:
        return self._watch.choice.threads if self._watch else Threads(self._order.threads, self._order.threads)

    def _measure(self) -> Choice:
        """Try the pairs of thread counts and go on with the best; loads again for each."""
        self._report(Report("measuring how many threads are best"))
        measured: dict[Threads, Speed] = {}
        last: Threads | None = None
        for last in pairs_to_try(self._cores):
            self._load(last, found=False)
            measured[last] = self._backend.measure()
        choice = choose(measured, self._cores, time.time())
        if choice.threads != last:
            self._load(choice.threads)
        else:
            self._register(choice.threads)
        self._remember(choice)
        return choice

    def _remember(self, choice: Choice) -> None:
        try:
            remember(self._memory, self._order.model, choice)
        except OSError as error:
            print(f"the choice of threads cannot be kept: {error}", file=sys.stderr)

    def _load(self, threads: Threads, *, found: bool = True) -> None:
        """Load with these threads, on the same port as before so that users need not look for it again."""
        self._report(Report(f"loading {self._order.model}"))
        try:
            self._port = self._backend.load(threads, self._port)
        except (RuntimeError, ValueError, MemoryError, OSError) as error:
            raise StartError(
                f"{self._order.path} cannot be loaded: {error}",
                "is it a model that llama.cpp can run, and is memory free?",
            ) from error
        if found:
            self._register(threads)

    def _register(self, threads: Threads) -> None:
        self._files.write(
            Registration(
                os.getpid(),
                self._started,
                self._port,
                self._order.key,
                self._order.model,
                threads.generation,
                threads.prompt,
                self._order.context,
            )
        )


if __name__ == "__main__":
    main()
