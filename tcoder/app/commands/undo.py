"""`tcoder undo [ID]`: take one patch of the last session back, or of `-r SESSION`."""

from tcoder.app.going_back import change
from tcoder.app.options import Options


async def run(options: Options) -> int:
    return await change(options, "undo")
