"""llama.cpp inside this process, through xllamacpp. The only module that touches that untyped library."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportAttributeAccessIssue=false

import contextlib
from pathlib import Path
from typing import Any

import xllamacpp

from tcoder.models.local.engine_threads import Counters, Speed, Threads

_PROBE = "def add(first, second):\n    return first + second\n" * 3
_PROBE_TOKENS = 8
_PROBES = 2
# A request that was hung up is noticed between two batches: small ones, since 128 tokens may take seconds.
_BATCH = 128
_CACHE_MB = 512
_HTTP_THREADS = 16  # each waiting request holds one


class Llama:
    """One model, loaded with one setting of threads, serving HTTP on 127.0.0.1."""

    def __init__(self, path: Path, alias: str, context: int, key: str) -> None:
        self._path = path
        self._alias = alias
        self._context = context
        self._key = key
        self._server: Any = None

    def load(self, threads: Threads, port: int = 0) -> int:
        """Load the weights and listen; the port is chosen by the system unless one is given. Unloads first what was
        loaded before. Raises `RuntimeError` and the like as llama.cpp's binding does."""
        self.unload()
        params = xllamacpp.CommonParams()
        params.model.path = str(self._path)
        params.model_alias = {self._alias}
        params.hostnames = ["127.0.0.1"]
        params.port = port
        params.api_keys = [self._key]
        params.cors_origins = ""
        params.ui = False
        params.endpoint_metrics = True
        params.endpoint_slots = False
        params.n_threads_http = _HTTP_THREADS
        params.n_parallel = 1
        params.n_ctx = self._context
        params.n_batch = params.n_ubatch = _BATCH
        params.cache_ram_mib = _CACHE_MB
        params.n_gpu_layers = 0
        params.fit_params = False
        params.warmup = False
        params.verbosity = 1
        params.load_mode = xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_NONE
        for pool, count in ((params.cpuparams, threads.generation), (params.cpuparams_batch, threads.prompt)):
            pool.n_threads = count
            pool.poll = 0
        self._server = xllamacpp.Server(params)
        return int(str(self._server.listening_address).rpartition(":")[2])

    def measure(self) -> Speed:
        """Read a short prompt and write a few tokens, twice: the better figure is the one that other programs disturbed
        less. The first touch of the weights after loading does not count."""
        self._probe("def", 1)
        timings = [self._probe(_PROBE, _PROBE_TOKENS)["timings"] for _ in range(_PROBES)]
        return Speed(
            max(float(timing["prompt_per_second"]) for timing in timings),
            max(float(timing["predicted_per_second"]) for timing in timings),
        )

    def _probe(self, prompt: str, tokens: int) -> dict[str, Any]:
        order = {"prompt": prompt, "max_tokens": tokens, "temperature": 0, "cache_prompt": False, "ignore_eos": True}
        return self._server.handle_completions(order)

    def counters(self) -> Counters:
        """Totals since loading."""
        values: dict[str, float] = {}
        for line in str(self._server.handle_metrics()).splitlines():
            name, _, value = line.partition(" ")
            if name.startswith("llamacpp:"):
                with contextlib.suppress(ValueError):  # a gauge that has no value yet
                    values[name.removeprefix("llamacpp:")] = float(value)
        return Counters(
            prompt_tokens=values.get("prompt_tokens_total", 0),
            prompt_s=values.get("prompt_seconds_total", 0),
            generated_tokens=values.get("tokens_predicted_total", 0),
            generation_s=values.get("tokens_predicted_seconds_total", 0),
            busy=values.get("requests_processing", 0) + values.get("requests_deferred", 0) > 0,
        )

    def unload(self) -> None:
        """Stop listening and free the weights."""
        self._server = None
