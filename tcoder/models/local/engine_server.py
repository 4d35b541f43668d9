"""The engine's process: `python -m tcoder.models.local.engine_server`, told what to do by one `Order` on stdin."""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Protocol

import msgspec
from msgspec import Struct

from tcoder.models.local.engine_files import EngineFiles, Order, Registration, Report, try_lock
from tcoder.models.local.engine_machine import available_memory, usable_cores
from tcoder.models.local.engine_threads import (
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
from tcoder.models.local.weights_store import human

_SPARE_BYTES = 400 << 20

MEMORY = "threads.2.json"
"""Where choices are kept. Counted up when what was measured before no longer holds, as for another way of waiting."""


class Backend(Protocol):
    """What runs the model; see `engine_llama.Llama`."""

    def load(self, threads: Threads, port: int = 0) -> int: ...

    def measure(self) -> Speed: ...

    def counters(self) -> Counters: ...

    def unload(self) -> None: ...


class Pace(Struct, frozen=True):
    """Seconds: how often the engine looks around, and how long after the last answer a measurement may interrupt."""

    tick_s: float = 1.0
    quiet_s: float = 3.0


_PACE = Pace()


class StartError(Exception):
    """The engine cannot start; the arguments are what failed and what to do about it."""


def main(pace: Pace = _PACE, open_backend: Callable[[Order], Backend] | None = None) -> None:
    """Run until there is nothing to do; the exit status says nothing, the reports on standard output do."""
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)
    reports = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what libraries print belongs into the log
    os.chdir("/")  # the starter's folder may be wanted gone
    try:
        serve(order, (open_backend or open_llama)(order), Reporter(reports.write), pace)
    except StartError as failure:
        message, hint = failure.args
        Reporter(reports.write)(Report(message, failed=True, hint=hint))
    except SystemExit:
        pass  # told to stop by a signal
    sys.stdout.flush()
    os._exit(0)  # the library's threads are not worth waiting for


def open_llama(order: Order) -> Backend:
    """The backend of a real model, not loaded yet. Raises `StartError` when it cannot work here."""
    needed = int(Path(order.path).stat().st_size * 1.2) + _SPARE_BYTES
    free = available_memory()
    if free is not None and free < needed:
        raise StartError(
            f"{order.model} needs about {human(needed)} of memory, {human(free)} are free",
            "close other programs or use a smaller model",
        )
    try:
        from tcoder.models.local.engine_llama import Llama  # late: the library may be missing
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


def serve(order: Order, backend: Backend, report: Reporter, pace: Pace) -> None:
    """Load, register, and keep going until idle or told to stop by a signal. Returns at once when another process is
    this engine already. Raises `StartError`."""
    files = EngineFiles(Path(order.runtime), order.name)
    alive = _become(files)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    engine = _Engine(order, backend, report, files)
    try:
        engine.start()
        engine.run(pace)
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        files.registration.unlink(missing_ok=True)
        backend.unload()
        os.close(alive)


def _become(files: EngineFiles) -> int:
    """Take the engine's lock; those who look whether the engine lives hold it for an instant."""
    for _ in range(100):
        if (descriptor := try_lock(files.alive, shared=False)) is not None:
            return descriptor
        time.sleep(0.02)
    raise StartError("another process is this engine", "try again")


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


class _Engine:
    def __init__(self, order: Order, backend: Backend, report: Reporter, files: EngineFiles) -> None:
        self._order = order
        self._backend = backend
        self._report = report
        self._files = files
        self._memory = Path(order.state) / MEMORY
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

    def run(self, pace: Pace) -> None:
        active = time.monotonic()
        users = 1
        while True:
            time.sleep(pace.tick_s)
            counters = self._backend.counters()
            now = time.monotonic()
            grown = self._watch.feed(counters) if self._watch else False
            seen = self._count_users()
            if counters.busy or grown or seen != users:
                active = now
                self._files.mark_used()
            users = seen
            if counters.busy:
                continue
            if self._is_idle(now - active, users) and self._hide():
                self._forget_bad_choice()
                return
            doubtful = self._watch is not None and self._watch.wants_measuring(now)
            if self._watch and doubtful and now - active >= pace.quiet_s and self._hide():
                self._watch.measured(self._measure(), time.monotonic())

    def _is_idle(self, quiet_s: float, users: int) -> bool:
        if not self._order.idle_s:
            return not users
        return quiet_s >= self._order.idle_s

    def _count_users(self) -> int:
        """0 or 1: whether anybody uses the engine."""
        return int(self._files.is_used())

    def _hide(self) -> bool:
        """Stop being found: who looks for the engine waits. False when a request came in at the last moment."""
        self._files.registration.unlink(missing_ok=True)
        if self._backend.counters().busy:
            self._register(self._current())
            return False
        return True

    def _forget_bad_choice(self) -> None:
        if self._watch and self._watch.outgrown:
            self._remember(msgspec.structs.replace(self._watch.choice, at=0))

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
                self._order.idle_s,
            )
        )


if __name__ == "__main__":
    main()
