"""Writes a GGUF file of a hundred kilobytes that llama.cpp runs: a llama of one layer with random weights and a byte
vocabulary. What it says makes no sense; that it says something is enough to test everything around a model."""

import random
import struct
from pathlib import Path

_U32, _F32, _STRING, _ARRAY, _I32 = 4, 6, 8, 9, 5
_CONTROL, _UNKNOWN, _BYTE = 3, 2, 6
_ALIGN = 32
WIDTH, HEADS, INNER = 32, 2, 64

Value = int | float | str | list[str] | list[float] | list[int]


def write_tiny_gguf(path: Path, seed: int = 1) -> Path:
    """Write the model to `path`; the same seed gives the same bytes."""
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    values: dict[str, Value] = {
        "general.architecture": "llama",
        "general.name": "tiny",
        "llama.context_length": 2048,
        "llama.embedding_length": WIDTH,
        "llama.block_count": 1,
        "llama.feed_forward_length": INNER,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": WIDTH // HEADS,
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": [0.0] * len(tokens),
        "tokenizer.ggml.token_type": [_UNKNOWN, _CONTROL, _CONTROL] + [_BYTE] * 256,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.chat_template": "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}",
    }
    square = (WIDTH, WIDTH)
    tensors: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (WIDTH, len(tokens)),
        "output_norm.weight": (WIDTH,),
        "output.weight": (WIDTH, len(tokens)),
        "blk.0.attn_norm.weight": (WIDTH,),
        "blk.0.attn_q.weight": square,
        "blk.0.attn_k.weight": square,
        "blk.0.attn_v.weight": square,
        "blk.0.attn_output.weight": square,
        "blk.0.ffn_norm.weight": (WIDTH,),
        "blk.0.ffn_gate.weight": (WIDTH, INNER),
        "blk.0.ffn_up.weight": (WIDTH, INNER),
        "blk.0.ffn_down.weight": (INNER, WIDTH),
    }
    dice = random.Random(seed)
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(values))
    head += b"".join(_string(name) + _value(value) for name, value in values.items())
    body = bytearray()
    for name, shape in tensors.items():
        head += _string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, len(body))
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        numbers = [1.0] * count if "norm" in name else [dice.gauss(0, 0.5) for _ in range(count)]
        body += struct.pack(f"<{count}f", *numbers)
        body += b"\0" * (-len(body) % _ALIGN)
    path.write_bytes(head + b"\0" * (-len(head) % _ALIGN) + body)
    return path


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value: Value) -> bytes:
    match value:
        case str():
            return struct.pack("<I", _STRING) + _string(value)
        case float():
            return struct.pack("<If", _F32, value)
        case int():
            return struct.pack("<II", _U32, value)
        case [str(), *_]:
            return struct.pack("<IIQ", _ARRAY, _STRING, len(value)) + b"".join(_string(str(v)) for v in value)
        case [float(), *_]:
            return struct.pack(f"<IIQ{len(value)}f", _ARRAY, _F32, len(value), *value)
        case _:
            return struct.pack(f"<IIQ{len(value)}i", _ARRAY, _I32, len(value), *value)
