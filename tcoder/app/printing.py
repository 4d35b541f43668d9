"""What the smaller commands print: names, titles and texts from elsewhere become harmless for a terminal first."""

import sys

from tcoder.frontends.sanitise import clean, escape_json
from tcoder.protocol.codec import encode


def say(text: str) -> None:
    """Print `text` as it stands, line ends included, without anything that a terminal acts on."""
    sys.stdout.write(clean(text))


def say_json(value: object) -> None:
    """Print one JSON value on a line of its own; what a terminal would act on is escaped in it."""
    sys.stdout.write(escape_json(encode(value).decode()) + "\n")


def complain(text: object) -> None:
    """Tell a person that something is wrong, or what else they should know."""
    sys.stderr.write(f"tcoder: {clean(str(text))}\n")
