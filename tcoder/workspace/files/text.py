"""Bytes to text and back, so that what is decoded is encoded again to the same bytes."""

import contextlib
import hashlib

from msgspec import Struct

from tcoder.protocol.errors import WorkspaceError

# Longest first: the mark of UTF-16 begins that of UTF-32.
BOMS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
MARKS = {f"{encoding}+bom" if encoding != "utf-8-sig" else encoding: mark for mark, encoding in BOMS}


class FileText(Struct, frozen=True):
    """A file as read. `text` keeps every line ending as it is; `newline` is the ending when there is one kind only,
    else empty; `digest` is the SHA-256 of `data`; `mode` the permission bits. `path` is where the file really is,
    below the root; `link` the name that was asked for when that is a symlink."""

    path: str
    text: str
    encoding: str
    digest: str
    mode: int
    newline: str = ""
    data: bytes = b""
    link: str = ""

    def encode(self, text: str) -> bytes:
        """`text` in this file's encoding, BOM included. Raises `WorkspaceError` when it cannot hold a character."""
        return encode_text(text, self.encoding, self.path)

    @classmethod
    def of(cls, path: str, data: bytes, mode: int = 0o644, link: str = "") -> "FileText":
        """A file of these bytes."""
        text, encoding = decode_text(data)
        return cls(path, text, encoding, digest_of(data), mode, newline_of(text), data, link)


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def decode_text(data: bytes) -> tuple[str, str]:
    """The text and the encoding that gives the same bytes back: by BOM, UTF-8, else Latin-1, which always does."""
    for mark, encoding in BOMS:
        if data.startswith(mark):
            name = encoding if encoding == "utf-8-sig" else f"{encoding}+bom"
            with contextlib.suppress(UnicodeError):
                text = data[len(mark) :].decode(encoding.removesuffix("-sig"))
                if encode_text(text, name, "") == data:
                    return text, name
    with contextlib.suppress(UnicodeDecodeError):
        return data.decode("utf-8"), "utf-8"
    return data.decode("latin-1"), "latin-1"


def encode_text(text: str, encoding: str, path: str) -> bytes:
    """The inverse of `decode_text`. Raises `WorkspaceError` for a character that the encoding does not have."""
    mark = MARKS.get(encoding, b"")
    try:
        return mark + text.encode(encoding.removesuffix("+bom").removesuffix("-sig"))
    except UnicodeEncodeError as error:
        raise WorkspaceError(
            f"{path} is {encoding} and cannot hold {text[error.start]!r}", "use a character that it has"
        ) from error


def newline_of(text: str) -> str:
    """The line ending of a text that has one kind only, else empty."""
    if "\r" not in text:
        return "\n" if "\n" in text else ""
    crlf = text.count("\r\n")
    lf = text.count("\n") - crlf
    cr = text.count("\r") - crlf
    kinds = [ending for ending, count in (("\r\n", crlf), ("\n", lf), ("\r", cr)) if count]
    return kinds[0] if len(kinds) == 1 else ""
