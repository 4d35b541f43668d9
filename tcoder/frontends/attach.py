"""Images that go along with a message."""

import base64
import mimetypes
from pathlib import Path

from tcoder.frontends.sanitise import clean_line
from tcoder.protocol.messages import ImagePart

LARGEST_IMAGE = 5_000_000


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
