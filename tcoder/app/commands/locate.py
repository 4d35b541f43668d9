"""`tcoder locate TEXT`: files and symbols that a task concerns, ranked, with reasons."""

import sys

from tcoder.app.options import Options
from tcoder.app.place import find_place
from tcoder.app.printing import complain, say, say_json
from tcoder.index import Index
from tcoder.protocol.errors import UsageError


async def run(options: Options) -> int:
    text = " ".join(options.arguments)
    if text == "-":
        text = sys.stdin.read()
    if not text.strip():
        raise UsageError("tcoder locate needs a text", "a task, an issue, a traceback; - reads stdin")
    place = find_place(options)
    index = Index.open(place.root, place.config.folders.cache)
    try:
        found = await index.locate(text, limit=options.limit)
    finally:
        await index.close()
    if options.json:
        say_json(found)
        return 0
    for hit in found.files:
        say(f"{hit.score:8.2f}  {hit.path}\n")
        if options.why:
            say("".join(f"          {reason}\n" for reason in hit.why))
    if found.symbols:
        say("\n")
    for symbol in found.symbols:
        say(f"{symbol.score:8.2f}  {symbol.path}:{symbol.line}  {symbol.kind} {symbol.name}\n")
        if options.why:
            say("".join(f"          {reason}\n" for reason in symbol.why))
    if not found.files and not found.symbols:
        complain("nothing here fits; name a file, a function, or words that stand in the code")
    if found.index.complete < 1:
        sys.stderr.write(f"the index is {found.index.complete:.0%} complete\n")
    return 0
