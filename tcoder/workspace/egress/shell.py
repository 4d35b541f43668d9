"""Brings the egress proxy to a shell: a bridge inside the sandbox and the variables that programs read."""

import asyncio
import re
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from tcoder.protocol.errors import ToolError
from tcoder.workspace.egress.proxy import PORT, EgressProxy
from tcoder.workspace.shell.keeper import quoted
from tcoder.workspace.shell.process import ShellProcess
from tcoder.workspace.shell.processes import listening_ports

_ADDRESS = f"http://127.0.0.1:{PORT}"
_LOCAL = "localhost,127.0.0.1,::1"
PROXY_VARIABLES = {
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "npm_config_proxy"), _ADDRESS),
    **dict.fromkeys(("no_proxy", "NO_PROXY", "npm_config_noproxy"), _LOCAL),
}
NO_NETWORK = "commands have no network here; a person can allow it (--network on, or --network allowlist)"
_MISSED = re.compile(
    r"Could not resolve host|[Tt]emporary failure in name resolution|Name or service not known|ENOTFOUND|EAI_AGAIN"
    r"|ENETUNREACH|Network is unreachable|Failed to establish a new connection|dns error|no such host"
    r"|No matching distribution found"
)
_BRIDGE = Path(__file__).with_name("bridge.py")
_START_S = 10.0


def missed_network(printed: str) -> bool:
    """Whether a program says that it found no network."""
    return bool(_MISSED.search(printed))


async def open_egress(process: ShellProcess, hosts: Iterable[str]) -> EgressProxy:
    """Start the proxy and its bridge in the shell's sandbox, and wait until it listens. Raises `ToolError`."""
    try:
        proxy = EgressProxy(hosts)
    except ValueError as error:
        raise ToolError(str(error)) from error
    socket_path = process.private.channel / "egress"
    await proxy.start(socket_path)
    bridge = f"exec {quoted(sys.executable)} -I -S {quoted(str(_BRIDGE))} {quoted(str(socket_path))} {PORT}"
    await process.send("job", "0", "/dev/null", bridge)
    limit = time.monotonic() + _START_S
    while PORT not in listening_ports(process.keeper()):
        if time.monotonic() > limit:
            await proxy.close()
            raise ToolError("the way to the allowed hosts could not be opened")
        await asyncio.sleep(0.01)
    return proxy
