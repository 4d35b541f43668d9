"""Words of code and prose become terms."""

import pytest

from tcoder.index.terms import meaningful, path_terms, split, stem, stem_terms, terms_of


@pytest.mark.parametrize(
    ("word", "terms"),
    [
        ("parse", ("pars",)),
        ("getHTTPResponses_v2", ("gethttpresponses_v2", "get", "http", "respons")),
        ("parse_hue", ("parse_hue", "pars", "hue")),
        ("__init__", ("init",)),
        ("QtColor", ("qtcolor", "qt", "color")),
        ("größe", ("größe",)),
    ],
)
def test_split(word: str, terms: tuple[str, ...]) -> None:
    assert split(word.encode()) == terms


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("percentage", "percentages"),
        ("parse", "parsing"),
        ("parsed", "parse"),
        ("query", "queries"),
        ("match", "matches"),
        ("running", "run"),
    ],
)
def test_forms_of_a_word_meet(one: str, other: str) -> None:
    assert stem(one) == stem(other)


def test_different_words_stay_apart() -> None:
    assert (
        len({stem(word) for word in ("class", "status", "this", "string", "address", "process", "need", "used")}) == 8
    )


def test_stop_words_say_nothing() -> None:
    assert meaningful(terms_of("The expected behaviour of parse_hue is that it should work")) == [
        "parse_hue",
        "pars",
        "hue",
    ]


def test_paths() -> None:
    assert {"config", "types", "type"} & path_terms("qutebrowser/config/configtypes.py") == {"config"}
    assert stem_terms("a/b/CipherSuite.test.ts") == {"ciphersuite", "cipher", "suit"}
