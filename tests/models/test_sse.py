import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcoder.models.dialects.sse import SseParser
from tcoder.protocol.errors import ModelError


def events(*chunks: bytes) -> list[bytes]:
    parser = SseParser()
    found = [event for chunk in chunks for event in parser.feed(chunk)]
    return found + parser.close()


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data: a\r\n\r\ndata: b\r\rdata: c\n\n", [b"a", b"b", b"c"]),
        (b"data:a\n\n", [b"a"]),
        (b"data:  a\n\n", [b" a"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b"data\n\n", [b""]),
        (b"event: ping\nid: 3\nretry: 5\n: hello\ndata: a\n\n", [b"a"]),
        (b": only a comment\n\n\n\n", []),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        ("data: a\u2028b\u0085c\u2029d\n\n".encode(), ["a\u2028b\u0085c\u2029d".encode()]),
        (b"data: cut", [b"cut"]),
        (b"data: a\n\ndata: cut\n", [b"a", b"cut"]),
        (b"database: a\n\n", []),
    ],
)
def test_lines_end_at_cr_and_lf_and_only_data_counts(stream: bytes, expected: list[bytes]) -> None:
    assert events(stream) == expected


STREAM = 'data: {"é": "\u2028😀"}\r\n\r\n: c\rdata: x\rdata: y\r\r\ndata: [DONE]\n\n'.encode()


def test_r07_every_split_gives_the_same_events() -> None:
    whole = events(STREAM)
    assert len(whole) == 3
    for at in range(len(STREAM)):
        assert events(STREAM[:at], STREAM[at:]) == whole
    assert events(*(STREAM[i : i + 1] for i in range(len(STREAM)))) == whole


@given(
    st.lists(st.binary(max_size=20).filter(lambda b: b"\r" not in b and b"\n" not in b), max_size=6),
    st.lists(st.integers(0, 200), max_size=8),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
)
def test_any_payload_survives_any_split(payloads: list[bytes], cuts: list[int], end: bytes) -> None:
    stream = b"".join(b"data: " + payload + end + end for payload in payloads)
    borders = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    chunks = [stream[a:b] for a, b in itertools.pairwise(borders)]
    assert events(*chunks) == payloads


def test_r13_a_long_line_in_many_pieces_is_joined_once_and_bounded() -> None:
    parser = SseParser()
    piece = b"x" * 1_000_000
    assert parser.feed(b"data: ") == []
    for _ in range(30):
        assert parser.feed(piece) == []
    assert len(parser.feed(b"\n\n")[0]) == 30_000_000
    with pytest.raises(ModelError, match="32 MiB") as caught:
        for _ in range(40):
            parser.feed(piece)
    assert caught.value.failure == "bad_response"
