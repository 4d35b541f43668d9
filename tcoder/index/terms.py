"""Words of code and prose as index terms: identifiers whole and in parts, lower case, lightly stemmed. Pure."""

import re
from collections.abc import Iterable
from functools import lru_cache

# bytes from 0x80 up are letters of UTF-8 text in any script
WORD = re.compile(rb"[A-Za-z_\x80-\xff][A-Za-z0-9_\x80-\xff]{1,60}")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z\x80-\U0010ffff]+|[A-Z]+|\d+")

STOPWORDS = frozenset(
    [
        "a",
        "about",
        "above",
        "actual",
        "actually",
        "after",
        "again",
        "all",
        "also",
        "although",
        "always",
        "am",
        "an",
        "and",
        "another",
        "any",
        "are",
        "aren",
        "as",
        "at",
        "be",
        "because",
        "been",
        "before",
        "being",
        "below",
        "between",
        "both",
        "but",
        "by",
        "can",
        "cannot",
        "could",
        "couldn",
        "currently",
        "did",
        "didn",
        "do",
        "does",
        "doesn",
        "doing",
        "don",
        "done",
        "down",
        "due",
        "during",
        "each",
        "either",
        "else",
        "etc",
        "even",
        "ever",
        "every",
        "example",
        "expected",
        "expect",
        "few",
        "first",
        "following",
        "for",
        "from",
        "further",
        "get",
        "gets",
        "getting",
        "give",
        "given",
        "goes",
        "going",
        "got",
        "had",
        "has",
        "hasn",
        "have",
        "haven",
        "having",
        "he",
        "hence",
        "her",
        "here",
        "hi",
        "him",
        "his",
        "how",
        "however",
        "http",
        "https",
        "i",
        "if",
        "in",
        "instead",
        "into",
        "is",
        "isn",
        "issue",
        "it",
        "its",
        "itself",
        "just",
        "know",
        "last",
        "later",
        "less",
        "let",
        "like",
        "likely",
        "ll",
        "look",
        "looks",
        "lot",
        "made",
        "make",
        "makes",
        "making",
        "many",
        "may",
        "maybe",
        "me",
        "mean",
        "means",
        "might",
        "more",
        "most",
        "much",
        "must",
        "my",
        "need",
        "needs",
        "never",
        "new",
        "no",
        "nor",
        "not",
        "nothing",
        "now",
        "of",
        "off",
        "often",
        "ok",
        "on",
        "once",
        "one",
        "only",
        "or",
        "other",
        "our",
        "out",
        "over",
        "own",
        "per",
        "please",
        "possible",
        "problem",
        "re",
        "really",
        "reproduce",
        "same",
        "see",
        "seem",
        "seems",
        "several",
        "shall",
        "she",
        "should",
        "shouldn",
        "since",
        "so",
        "some",
        "something",
        "still",
        "such",
        "sure",
        "than",
        "thank",
        "thanks",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "therefore",
        "these",
        "they",
        "thing",
        "things",
        "think",
        "this",
        "those",
        "though",
        "through",
        "thus",
        "to",
        "too",
        "try",
        "trying",
        "under",
        "unless",
        "until",
        "up",
        "upon",
        "us",
        "use",
        "used",
        "uses",
        "using",
        "ve",
        "very",
        "via",
        "want",
        "wants",
        "was",
        "wasn",
        "way",
        "we",
        "well",
        "were",
        "what",
        "whatever",
        "when",
        "where",
        "whether",
        "which",
        "while",
        "who",
        "whole",
        "whose",
        "why",
        "will",
        "with",
        "within",
        "without",
        "won",
        "work",
        "works",
        "working",
        "would",
        "wouldn",
        "wrong",
        "yes",
        "yet",
        "you",
        "your",
        "behavior",
        "behaviour",
        "steps",
        "description",
        "title",
        "version",
        "bug",
        "feature",
        "request",
    ]
)


def stem(word: str) -> str:
    """A word without its commonest English endings; short words stay."""
    if len(word) < 5 or not word.isascii():
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return stem(word[:-1])
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            root = word[: -len(ending)]
            return root[:-1] if root[-1] == root[-2] and root[-1] not in "lsz" else root.removesuffix("e")
    return word.removesuffix("e")


@lru_cache(1 << 17)
def split(word: bytes) -> tuple[str, ...]:
    """The terms of one word: the whole in lower case first, then its stemmed parts when it has several.

    `b"getHTTPResponses_v2"` gives `gethttpresponses_v2`, `get`, `http`, `respons`.
    """
    text = word.decode("utf-8", "replace")
    if text.islower() and text.isalpha() and len(text) > 1:
        return (stem(text),)
    whole = text.lower()
    parts = [part.lower() for part in _PART.findall(text) if len(part) > 1]
    if len(parts) <= 1:
        return (stem(parts[0] if parts else whole.strip("_") or whole),)
    return (whole, *map(stem, parts))


def terms_of(text: str) -> list[str]:
    """Every term of a text in its order, repeats included."""
    return [term for word in WORD.findall(text.encode("utf-8", "replace")) for term in split(word)]


@lru_cache(1 << 17)
def path_terms(path: str) -> frozenset[str]:
    """The terms of a path without its extension."""
    return frozenset(terms_of(path.rpartition(".")[0] or path))


@lru_cache(1 << 17)
def stem_terms(path: str) -> frozenset[str]:
    """The terms of a file's name without its extensions."""
    return frozenset(terms_of(path.rpartition("/")[2].split(".")[0]))


def meaningful(terms: Iterable[str]) -> list[str]:
    """Terms that say something: no stop words, nothing of a single letter."""
    return [term for term in terms if len(term) > 1 and term not in STOP_STEMS]


STOP_STEMS = STOPWORDS | frozenset(map(stem, STOPWORDS))
