"""What a bash command line holds, as values."""

from msgspec import Struct


class SimpleCommand(Struct, frozen=True):
    """One command: its words after quotes are taken away, and its text as written. `unknown` are the indices of words
    that bash would expand, which stand there as they are written."""

    words: tuple[str, ...]
    text: str
    unknown: tuple[int, ...] = ()

    @property
    def program(self) -> str:
        """The name without its folder; empty when bash would have to expand it."""
        return self.words[0].rpartition("/")[2] if self.words and 0 not in self.unknown else ""


class ParsedCommand(Struct, frozen=True):
    """`commands` are all simple commands that were found, also inside loops and substitutions, in order.

    `problem` says what is more than plain words joined by `&&`, `||`, `;`, `|` or line ends; empty when nothing is.
    `opaque`: something may run that is not in `commands`. `strange`: no honest command line looks like this.
    `over_budget`: it was not read at all, or not to its end. `redirects` are the files that output goes to or input
    comes from, as far as they are written plainly.
    """

    commands: tuple[SimpleCommand, ...]
    problem: str = ""
    opaque: bool = False
    strange: bool = False
    over_budget: bool = False
    redirects: tuple[str, ...] = ()
