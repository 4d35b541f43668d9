"""`tcoder web [PORT]`: the interface in a browser of this machine."""

import asyncio
import os
import shlex
import signal
import sys
from importlib.util import find_spec

from tcoder.app.options import Options
from tcoder.app.place import find_place
from tcoder.protocol.errors import UsageError


async def run(options: Options) -> int:
    """Serve until it is interrupted."""
    if find_spec("textual_serve") is None:
        raise UsageError("the browser needs textual-serve", "pip install 'tcoder[web]'")
    from tcoder.frontends import web  # late: an extra of its own

    port = options.arguments[0] if options.arguments else "0"
    if not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"{port} is no port", "tcoder web, or tcoder web 8000")
    place = find_place(options)
    flags = [
        f"{flag}={value}" for flag, value in (("--model", options.model), ("--base-url", options.base_url)) if value
    ]
    command = shlex.join([sys.executable, "-m", "tcoder", str(place.root), *flags])
    os.environ["TCODER_WEB"] = "1"
    try:
        address, end = await web.serve(command, f"tcoder · {place.root.name}", int(port))
    except OSError as error:
        raise UsageError(f"port {port} cannot be had: {error.strerror}", "tcoder web takes a free one") from error
    sys.stdout.write(f"{address}\nopen it once, in a browser of this machine; Ctrl+C ends it\n")
    sys.stdout.flush()
    done = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, done.set)
    try:
        await done.wait()
    finally:
        await end()
    return 0
