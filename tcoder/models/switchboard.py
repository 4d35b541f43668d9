"""One model object over several providers: the slider's two ends may live in different places."""

from collections.abc import AsyncIterator, Callable

from tcoder.protocol.handles import Model
from tcoder.protocol.request import ModelPart, ModelRequest
from tcoder.protocol.variant import ModelVariant


class Switchboard:
    """Hands each request to the model that serves its provider and address, opened at first use."""

    def __init__(self, open_one: Callable[[ModelVariant], Model]) -> None:
        self._open_one = open_one
        self._open: dict[tuple[str, str, str], Model] = {}

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelPart]:
        variant = request.variant
        place = (variant.provider, variant.base_url, variant.dialect)
        model = self._open.get(place)
        if model is None:
            model = self._open[place] = self._open_one(variant)
        async for part in model.stream(request):
            yield part

    async def close(self) -> None:
        for model in self._open.values():
            await model.close()
        self._open.clear()
