"""Server-sent events, as bytes come in."""

from tcoder.protocol.errors import ModelError

_MAX_EVENT = 32 * 1024 * 1024


class SseParser:
    """Splits a byte stream into the `data` of its events.

    Lines end at CR, LF or CRLF only: Unicode line separators are text. Bytes are never decoded here, so a character cut
    by a chunk border is whole again when its line is. Comments, event names, ids and retry fields are dropped, because
    each dialect repeats its event type inside the data.
    """

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._line_size = 0
        self._data: list[bytes] = []
        self._after_cr = False
        self._at_start = True

    def feed(self, chunk: bytes) -> list[bytes]:
        """The events that are complete now. Raises `ModelError` when one event exceeds 32 MiB."""
        if self._after_cr and chunk:
            self._after_cr = False
            if chunk.startswith(b"\n"):
                chunk = chunk[1:]
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if b"\n" not in chunk:
            if chunk:
                self._hold(chunk)
            return []
        lines = chunk.split(b"\n")
        if self._line:
            self._line.append(lines[0])
            lines[0] = b"".join(self._line)
            self._line.clear()
            self._line_size = 0
        last = lines.pop()
        if last:
            self._hold(last)
        events: list[bytes] = []
        for line in lines:
            if line:
                self._field(line)
            elif self._data:
                events.append(b"\n".join(self._data))
                self._data.clear()
        return events

    def close(self) -> list[bytes]:
        """The last event when the stream ended without its blank line: it may be cut, its reader must find out."""
        if self._line:
            self._field(b"".join(self._line))
            self._line.clear()
        event = b"\n".join(self._data)
        self._data.clear()
        return [event] if event else []

    def _hold(self, piece: bytes) -> None:
        self._line.append(piece)
        self._line_size += len(piece)
        if self._line_size > _MAX_EVENT:
            raise ModelError("bad_response", "The server sent one event of more than 32 MiB")

    def _field(self, line: bytes) -> None:
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(b"\xef\xbb\xbf")
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])
        elif line == b"data":
            self._data.append(b"")
