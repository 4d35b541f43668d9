"""`tcoder index`: build or refresh the index, with figures."""

import time

from tcoder.app.options import Options
from tcoder.app.place import find_place
from tcoder.app.printing import say, say_json
from tcoder.index import Index


async def run(options: Options) -> int:
    place = find_place(options)
    index = Index.open(place.root, place.config.folders.cache)
    began = time.monotonic()
    try:
        report = await index.build(rebuild=options.rebuild)
    finally:
        await index.close()
    seconds = round(time.monotonic() - began, 3)
    body = {
        "files": report.files,
        "symbols": report.symbols,
        "languages": report.languages,
        "seconds": seconds,
        "bytes": report.bytes,
        "complete": report.complete,
    }
    if options.json:
        say_json(body)
        return 0
    languages = ", ".join(f"{name} {count}" for name, count in report.languages.items())
    say(f"{report.files} files, {report.symbols} symbols in {seconds} s, {report.bytes} bytes\n{languages}\n")
    return 0
