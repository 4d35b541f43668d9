"""`tcoder redo [ID]`: apply a patch again that was undone."""

from tcoder.app.going_back import change
from tcoder.app.options import Options


async def run(options: Options) -> int:
    return await change(options, "redo")
