"""The interface in a browser: textual-serve on loopback, behind a token that works once and a check of origins.

The first request with the token gets a cookie that scripts cannot read and other sites cannot send; everything else
needs the cookie. Requests under another host name (DNS rebinding) and sockets from other origins are refused.
"""

import asyncio
import contextlib
import secrets
import socket
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from aiohttp import web
from textual_serve import server
from textual_serve.app_service import AppService

COOKIE = "tcoder"
END_S = 1.0
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Door:
    """Who may come in."""

    def __init__(self, port: int) -> None:
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.token = secrets.token_urlsafe(24)
        self._cookie = ""

    @web.middleware
    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse with 403, let in, or take the token."""
        if request.headers.get("Host") not in self.hosts:
            return _refused("another host")
        origin = request.headers.get("Origin")
        if origin is not None and origin.removeprefix("http://") not in self.hosts:
            return _refused("another origin")
        if request.path == "/ws" and origin is None:
            return _refused("no origin")
        if self._cookie and secrets.compare_digest(request.cookies.get(COOKIE, ""), self._cookie):
            return await handler(request)
        token = request.query.get("token", "")
        if self._cookie or request.path != "/" or not secrets.compare_digest(token, self.token):
            return _refused("a token is needed that was not used before")
        self._cookie = secrets.token_urlsafe(24)
        response = web.Response(status=HTTPStatus.SEE_OTHER, headers={"Location": "/"})
        response.set_cookie(COOKIE, self._cookie, httponly=True, samesite="Strict")
        return response


def _refused(why: str) -> web.Response:
    return web.Response(status=HTTPStatus.FORBIDDEN, text=f"tcoder: refused, {why}\n")


class _Tab(AppService):
    """textual-serve's process of one tab, which here is not left to end by itself."""

    async def stop(self) -> None:
        """Ask it to quit, then end it; a program that has been told to end saves its session first."""
        process = self._process
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_S):
                await super().stop()
        self._task = None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        for end in (process.terminate, process.kill):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(END_S):
                    await process.wait()
                return
            with contextlib.suppress(ProcessLookupError):  # it ended just now
                end()
        await process.wait()


server.AppService = _Tab  # pyright: ignore[reportPrivateImportUsage] the server has no other way to be given its class


class _Server(server.Server):
    """textual-serve without its banner and its logging."""

    async def on_startup(self, app: web.Application) -> None: ...

    async def application(self, door: Door) -> web.Application:
        app = await self._make_app()
        app.middlewares.append(door.check)
        return app


async def serve(command: str, title: str, port: int) -> tuple[str, Callable[[], Awaitable[None]]]:
    """Serve `command` on loopback; every tab is a process of its own. Returns the address with its token, and what
    ends it. Port 0 takes a free one. Raises `OSError` when the port is taken."""
    listening = socket.create_server(("127.0.0.1", port))
    port = listening.getsockname()[1]
    door = Door(port)
    made = _Server(command, host="127.0.0.1", port=port, title=title)
    runner = web.AppRunner(await made.application(door), access_log=None)
    await runner.setup()
    await web.SockSite(runner, listening).start()
    return f"http://127.0.0.1:{port}/?token={door.token}", runner.cleanup
