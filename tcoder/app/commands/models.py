"""`tcoder models [list|pull ID|test ID|stop]`: what can be chosen, local weights, a live probe; ends local engines that
idle."""

import os
import sys
import time

from msgspec import structs

from tcoder.app.options import Options
from tcoder.app.parts import open_model
from tcoder.app.place import Place, find_place
from tcoder.app.printing import complain, say, say_json
from tcoder.app.variants import choose
from tcoder.models import catalogue
from tcoder.models.local.folders import local_folders
from tcoder.models.local.running import running, stop, told
from tcoder.models.local.weights import WeightsStatus, list_weights, pull
from tcoder.models.local.weights_store import PullProgress, human
from tcoder.protocol.errors import UsageError


async def run(options: Options) -> int:
    what, *rest = options.arguments or ("list",)
    match what:
        case "list":
            return _list(options)
        case "pull" if rest:
            return await _pull(options, rest[0])
        case "stop" if not rest:
            return _stop(options)
        case "test":
            return await _test(options, find_place(options), rest[0] if rest else "")
        case _:
            raise UsageError(f"unknown: models {' '.join(options.arguments)}", "use list, pull ID, test ID or stop")


def _list(options: Options) -> int:
    weights = list_weights()
    engines = running(local_folders(os.environ).runtime)
    if options.json:
        models = [{"id": entry.id, "window": entry.window} for entry in catalogue.models()]
        providers = list(catalogue.providers())
        local = [{**structs.asdict(status), "path": str(status.path)} for status in weights]
        say_json({"local": local, "models": models, "providers": providers, "running": engines})
        return 0
    say("local, no key needed:\n")
    for status in weights:
        say(f"  {status.id:28} {human(status.bytes):>9}  {_state(status)}\n")
    for engine in engines:
        say(f"  {told(engine)}\n")
    say("\nknown:\n")
    for entry in catalogue.models():
        if not entry.id.startswith("local/"):
            say(f"  {entry.id}\n")
    say(f"\nproviders, with any of their models: {', '.join(catalogue.providers())}\n")
    return 0


def _state(status: WeightsStatus) -> str:
    if status.verified:
        return "here, verified"
    if status.present:
        return "here, not verified yet"
    return f"tcoder models pull {status.id}"


def _stop(options: Options) -> int:
    """End the local engines that idle. Exit code 3 when one is in use and goes on."""
    ended, left = stop(local_folders(os.environ).runtime)
    if options.json:
        say_json({"ended": ended, "left": left})
    else:
        for engine in ended:
            say(f"{engine.model} has ended\n")
        for engine in left:
            complain(f"{told(engine)}; leave that tcoder first" if engine.used else f"{told(engine)}: it did not end")
        if not ended and not left:
            say("no local engine runs\n")
    return 3 if left else 0


async def _pull(options: Options, source: str) -> int:
    path = await pull(source, on_progress=None if options.quiet else _Meter())
    if options.json:
        say_json({"id": source, "path": str(path)})
    else:
        say(f"{path}\n")
    return 0


class _Meter:
    """Progress on stderr: one line that rewrites itself on a terminal, a line every few seconds elsewhere."""

    def __init__(self) -> None:
        self._last = 0.0
        self._note = ""
        self._terminal = sys.stderr.isatty()

    def __call__(self, progress: PullProgress) -> None:
        now = time.monotonic()
        fresh = progress.note != self._note
        if not fresh and now - self._last < (0.2 if self._terminal else 5.0):
            return
        self._last, self._note = now, progress.note
        share = f" of {human(progress.total)}" if progress.total else ""
        text = f"{progress.note or 'fetching'}: {human(progress.done)}{share}"
        sys.stderr.write(f"\r\x1b[K{text}" if self._terminal else f"{text}\n")
        if self._terminal and progress.done == progress.total:
            sys.stderr.write("\n")
        sys.stderr.flush()


async def _test(options: Options, place: Place, model_id: str) -> int:
    from tcoder.models.probe import probe, render  # late: only a probe asks a model

    settings = structs.replace(place.settings, model=model_id) if model_id else place.settings
    place = Place(place.root, structs.replace(place.config, settings=settings), place.trusted)
    variant = choose(settings, os.environ)["standard"]
    model = open_model(place)
    try:
        report = await probe(model, variant, needle=options.needle)
    finally:
        await model.close()
    say_json(report) if options.json else say(render(report))
    return 0 if report.ok else 6
