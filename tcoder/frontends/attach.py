"""What goes along with a message: images, and the lines that `@file:10-20` names."""

import base64
import mimetypes
import re
from pathlib import Path

from tcoder.frontends.sanitise import clean_line
from tcoder.protocol.messages import ImagePart

LARGEST_IMAGE = 5_000_000
MOST_LINES = 500
_MENTION = re.compile(r"(?<![^\s(\[{'\"`])@([^\s:,;'\"`()\[\]{}]+)(?::(\d+)(?:-(\d+))?)?")


def read_image(name: str) -> tuple[ImagePart | None, str]:
    """`(image, problem)`: the image in the file, or why there is none."""
    path = Path(name).expanduser()
    kind = mimetypes.guess_type(path.name)[0] or ""
    if not name or not kind.startswith("image/"):
        return None, "/image needs the path of a PNG, JPEG, GIF or WebP file"
    try:
        data = path.read_bytes()
    except OSError as error:
        return None, f"cannot read {clean_line(str(path))}: {error.strerror}"
    if len(data) > LARGEST_IMAGE:
        return None, f"{clean_line(path.name)} has {len(data)} bytes; at most {LARGEST_IMAGE} are sent"
    return ImagePart(kind, base64.b64encode(data).decode()), ""


def mentioned(text: str, workspace: str) -> tuple[str, tuple[ImagePart, ...]]:
    """A message with what it mentions: the lines of `@file:10` and `@file:10-20` stand below it, an image that is named
    by `@` goes along. Only files of the workspace count; a whole file is left to the model to read."""
    root = Path(workspace).resolve()
    parts, images = [text], list[ImagePart]()
    for match in _MENTION.finditer(text):
        path = (root / match[1].rstrip(".!?")).resolve()
        if not path.is_relative_to(root) or not path.is_file():
            continue
        if match[2]:
            first, last = int(match[2]), int(match[3] or match[2])
            parts.append(_lines(path, match[1], first, min(last, first + MOST_LINES - 1)))
        elif (image := read_image(str(path))[0]) is not None:
            images.append(image)
    return "\n\n".join(part for part in parts if part), tuple(images)


def _lines(path: Path, name: str, first: int, last: int) -> str:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")[max(0, first - 1) : last]
    except OSError:
        return ""
    fence = "```"
    while any(fence in line for line in lines):
        fence += "`"
    shown = "\n".join(lines)
    return f"{name}, lines {first} to {first + len(lines) - 1}:\n{fence}\n{shown}\n{fence}" if lines else ""
