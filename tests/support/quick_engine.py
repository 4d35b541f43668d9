"""The engine's own process, except that it looks around twenty times a second: so that a test need not wait.

With the argument `slowing`, it also takes its answers for a thousand times slower than they are.
"""

import sys

from msgspec.structs import replace

from tcoder.models.local.engine_files import Order
from tcoder.models.local.engine_server import Backend, Pace, main, open_llama
from tcoder.models.local.engine_threads import Counters, Speed, Threads


class Slowing:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def load(self, threads: Threads, port: int = 0) -> int:
        return self._backend.load(threads, port)

    def measure(self) -> Speed:
        return self._backend.measure()

    def counters(self) -> Counters:
        real = self._backend.counters()
        return replace(real, generation_s=real.generation_s * 1000, prompt_s=real.prompt_s * 1000)

    def unload(self) -> None:
        self._backend.unload()


def open_backend(order: Order) -> Backend:
    backend = open_llama(order)
    return Slowing(backend) if "slowing" in sys.argv else backend


if __name__ == "__main__":
    main(Pace(tick_s=0.05, quiet_s=0.1), open_backend)
