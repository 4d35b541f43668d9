"""The project's own rules for the model, which are a repository's words: read as such, and never in disguise."""

from collections.abc import Sequence
from pathlib import Path

from tcoder.frontends.sanitise import clean, hidden_characters
from tcoder.protocol.errors import WorkspaceError
from tcoder.workspace.files.files import WorkspaceFiles

RULE_FILES = ("AGENTS.md", "CLAUDE.md")


def read_instructions(root: Path, names: Sequence[str]) -> tuple[str, str]:
    """The text of the first file of these names, and what a person should know about it. A link that leads out of the
    repository is not followed, so that no file of the person's is sent to a model; characters that nobody sees are
    written out."""
    files = WorkspaceFiles(root)
    for name in names:
        try:
            file = files.read_if_there(name)
        except WorkspaceError as error:
            return "", f"{name} is not read: {error}"
        if file is not None:
            hidden = hidden_characters(file.text)
            note = f"{name} holds {hidden} invisible characters; the model sees them written out, such as ⟨U+200B⟩"
            return clean(file.text), note if hidden else ""
    return "", ""
