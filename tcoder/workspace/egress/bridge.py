"""Runs inside the sandbox: carries connections from a loopback port to a unix socket. `egress_bridge.py SOCKET PORT`.

Stands alone (started with `python -I -S`), so that it starts quickly and needs nothing of tcoder's.
"""

import asyncio
import contextlib
import sys


async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(OSError, RuntimeError):
        writer.write_eof()


async def main(path: str, port: int) -> None:
    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            up_reader, up_writer = await asyncio.open_unix_connection(path)
            await asyncio.gather(pour(reader, up_writer), pour(up_reader, writer))
            up_writer.close()
        except OSError:
            pass  # the proxy is gone, so the connection ends
        finally:
            writer.close()

    server = await asyncio.start_server(carry, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
