"""A model server on loopback that plays a script: Chat Completions, Responses and Messages, streamed.

Every POST takes the next step of the script (the last one repeats). A step is an object; its keys combine:

    {"text": "…"}                                  answer with text, in pieces of `piece` characters (default 4)
    {"reasoning": "…"}                             think first
    {"calls": [{"name": …, "arguments": {…}}]}     call tools; arguments may be text to send word for word, `id` is free
    {"stop": "length"}                             another finish reason, in the dialect's own words
    {"usage": {"prompt": 100, "cached": 60, "output": 5}}   or null for none
    {"tier": "fast"}                               the tier that was served
    {"status": 429, "headers": {…}, "body": …}     fail; `body` is text or an error object
    {"redirect": "http://…"}                       answer 307
    {"page": "<html>…"}                            answer 200 with a web page
    {"json": {…}}                                  answer 200 with one JSON object
    {"raw": "data: …", "content_type": "…"}        send these bytes as the body
    {"cut_after": n}                               close the connection after n bytes of the body
    {"end_after": n}                               end the body properly after n events
    {"reset": true}                                close before any answer
    {"stall": s, "stall_after": n}                 wait s seconds before the headers, or after n events
    {"comments": s}                                while stalling, send a keep-alive comment every s seconds
    {"delay": s}                                   wait s seconds between events
    {"error_event": {…}}                           report an error inside the stream, after the text
    {"no_done": true}                              leave the terminal event out

In Python: `with ModelServer([...]) as server: server.url, server.requests`. As a script:
`python tests/support/model_server.py SCRIPT.json [RECORD.jsonl]` prints its URL and serves until it is ended; every
request is appended to the record as a JSON line.
"""

import json
import socket
import sys
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

Step = dict[str, Any]


@dataclass(frozen=True)
class Seen:
    """A request as it came: header names in lower case; `connection` tells kept-alive connections apart."""

    path: str
    headers: dict[str, str]
    raw: bytes
    connection: int
    arrived: float = field(default_factory=time.monotonic)

    @property
    def body(self) -> dict[str, Any]:
        return json.loads(self.raw)


class ModelServer:
    """Plays `steps` and keeps every request in `requests`, and in `finished` when each answer was out. `url` ends in
    `/v1`."""

    def __init__(self, steps: list[Step], *, record: Path | None = None) -> None:
        self.steps = steps
        self.requests: list[Seen] = []
        self.finished: list[float] = []
        self._record = record
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *args: object) -> None: ...

            def do_GET(self) -> None:
                _send_json(self, 200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})

            def do_POST(self) -> None:
                server._answer(self)

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, request: object, client_address: object) -> None: ...

        self._server = Server(("127.0.0.1", 0), Handler)
        self.closing = threading.Event()

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [seen.body for seen in self.requests]

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        raw = handler.rfile.read(int(handler.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in handler.headers.items()}
        seen = Seen(handler.path, headers, raw, id(handler.connection))
        with self._lock:
            number = len(self.requests)
            self.requests.append(seen)
            if self._record is not None:
                with self._record.open("a") as file:
                    file.write(json.dumps({"path": seen.path, "headers": headers, "body": json.loads(raw)}) + "\n")
        step = self.steps[min(number, len(self.steps) - 1)]
        try:
            self._play(handler, step, seen, number)
        except OSError:
            handler.close_connection = True  # the client hung up, which is what some tests are about
        self.finished.append(time.monotonic())

    def _play(self, handler: BaseHTTPRequestHandler, step: Step, seen: Seen, number: int) -> None:
        if "stall" in step and "stall_after" not in step:
            self.closing.wait(step["stall"])
        if step.get("reset"):
            self._hang_up(handler)
        elif "redirect" in step:
            _send(handler, 307, b"", {"Location": step["redirect"]})
        elif "status" in step:
            body = step.get("body", {"error": {"message": f"scripted {step['status']}", "type": "scripted"}})
            data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            _send(handler, step["status"], data, {"Content-Type": "application/json", **step.get("headers", {})})
        elif "page" in step:
            _send(handler, 200, step["page"].encode(), {"Content-Type": "text/html; charset=utf-8"})
        elif "json" in step:
            _send_json(handler, 200, step["json"])
        else:
            self._stream(handler, step, [step["raw"].encode()] if "raw" in step else _events(seen, step, number))

    def _stream(self, handler: BaseHTTPRequestHandler, step: Step, events: list[bytes]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", step.get("content_type", "text/event-stream"))
        for name, value in step.get("headers", {}).items():
            handler.send_header(name, value)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        left = step.get("cut_after")
        for number, event in enumerate(events[: step.get("end_after", len(events))]):
            if number == step.get("stall_after", -1):
                self._stall(handler, step)
            piece = event if left is None else event[:left]
            if piece:
                handler.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            if left is not None:
                left -= len(piece)
                if left <= 0:
                    self._hang_up(handler)
                    return
            if "delay" in step:
                self.closing.wait(step["delay"])
        handler.wfile.write(b"0\r\n\r\n")

    def _stall(self, handler: BaseHTTPRequestHandler, step: Step) -> None:
        every = step.get("comments", step["stall"])
        until = time.monotonic() + step["stall"]
        while time.monotonic() < until and not self.closing.wait(every):
            if "comments" in step:
                handler.wfile.write(b"e\r\n: keep-alive\n\n\r\n")

    @staticmethod
    def _hang_up(handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True
        handler.wfile.flush()
        handler.connection.shutdown(socket.SHUT_RDWR)


def _send(handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str]) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    if status != 204:
        handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def _send_json(handler: BaseHTTPRequestHandler, status: int, value: object) -> None:
    _send(handler, status, json.dumps(value).encode(), {"Content-Type": "application/json"})


def _events(seen: Seen, step: Step, number: int) -> list[bytes]:
    """The step as the server-sent events of the dialect that the path names."""
    model = seen.body.get("model", "scripted")
    if seen.path.endswith("/chat/completions"):
        return chat_events(step, number, model)
    if seen.path.endswith("/responses"):
        return responses_events(step, number, model)
    return anthropic_events(step, number, model)


def _pieces(step: Step, text: str) -> list[str]:
    size = step.get("piece", 4)
    return [text[at : at + size] for at in range(0, len(text), size)]


def _calls(step: Step, number: int) -> list[tuple[str, str, str]]:
    found = []
    for index, call in enumerate(step.get("calls", ())):
        arguments = call.get("arguments", {})
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        found.append((call.get("id", f"call{number:04}{index}"), call["name"], text))
    return found


def _usage(step: Step) -> tuple[int, int, int] | None:
    usage = step.get("usage", {})
    if usage is None:
        return None
    return usage.get("prompt", 100), usage.get("cached", 0), usage.get("output", 10)


def _data(value: object, event: str = "") -> bytes:
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(value, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()


def chat_events(step: Step, number: int, model: str) -> list[bytes]:
    base: dict[str, Any] = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1, "model": model}
    if "tier" in step:
        base["service_tier"] = step["tier"]

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        return _data({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    calls = _calls(step, number)
    events = [chunk({"role": "assistant", "content": ""})]
    events += [chunk({"reasoning_content": piece}) for piece in _pieces(step, step.get("reasoning", ""))]
    events += [chunk({"content": piece}) for piece in _pieces(step, step.get("text", ""))]
    for index, (call_id, name, arguments) in enumerate(calls):
        function = {"name": name, "arguments": ""}
        events.append(
            chunk({"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]})
        )
        events += [
            chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
            for piece in _pieces(step, arguments)
        ]
    if "error_event" in step:
        return [*events, _data({"error": step["error_event"]})]
    if step.get("no_done"):
        return events
    events.append(chunk({}, step.get("stop", "tool_calls" if calls else "stop")))
    if usage := _usage(step):
        counts = {"prompt_tokens": usage[0], "completion_tokens": usage[2], "total_tokens": usage[0] + usage[2]}
        details = {"prompt_tokens_details": {"cached_tokens": usage[1]}}
        events.append(_data({**base, "choices": [], "usage": counts | details}))
    return [*events, b"data: [DONE]\n\n"]


def responses_events(step: Step, number: int, model: str) -> list[bytes]:
    events: list[bytes] = []

    def add(kind: str, **fields: object) -> None:
        events.append(_data({"type": kind, "sequence_number": len(events), **fields}, kind))

    add("response.created", response={"id": f"resp_{number}", "model": model, "status": "in_progress"})
    index = 0
    if step.get("reasoning"):
        item: dict[str, Any] = {"type": "reasoning", "id": f"rs_{number}", "summary": []}
        add("response.output_item.added", output_index=index, item=item)
        for piece in _pieces(step, step["reasoning"]):
            add("response.reasoning_summary_text.delta", output_index=index, summary_index=0, delta=piece)
        summary = [{"type": "summary_text", "text": step["reasoning"]}]
        done = {**item, "summary": summary, "encrypted_content": f"sealed-{number}"}
        add("response.output_item.done", output_index=index, item=done)
        index += 1
    if step.get("text"):
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": []}
        add("response.output_item.added", output_index=index, item=item)
        for piece in _pieces(step, step["text"]):
            add("response.output_text.delta", output_index=index, content_index=0, delta=piece)
        content = [{"type": "output_text", "text": step["text"], "annotations": []}]
        add("response.output_item.done", output_index=index, item={**item, "content": content})
        index += 1
    for call_id, name, arguments in _calls(step, number):
        item = {"type": "function_call", "id": f"fc_{number}_{index}", "call_id": call_id, "name": name}
        add("response.output_item.added", output_index=index, item={**item, "arguments": ""})
        for piece in _pieces(step, arguments):
            add("response.function_call_arguments.delta", output_index=index, delta=piece)
        add("response.output_item.done", output_index=index, item={**item, "arguments": arguments})
        index += 1
    if "error_event" in step:
        add("response.failed", response={"status": "failed", "error": step["error_event"]})
        return events
    if step.get("no_done"):
        return events
    response: dict[str, Any] = {"id": f"resp_{number}", "model": model, "status": "completed"}
    if "tier" in step:
        response["service_tier"] = step["tier"]
    if usage := _usage(step):
        details = {"input_tokens_details": {"cached_tokens": usage[1]}}
        response["usage"] = {"input_tokens": usage[0], "output_tokens": usage[2]} | details
    if "stop" in step:
        response |= {"status": "incomplete", "incomplete_details": {"reason": step["stop"]}}
        add("response.incomplete", response=response)
    else:
        add("response.completed", response=response)
    return events


def anthropic_events(step: Step, number: int, model: str) -> list[bytes]:
    events: list[bytes] = []

    def add(kind: str, **fields: object) -> None:
        events.append(_data({"type": kind, **fields}, kind))

    usage = _usage(step)
    start: dict[str, Any] = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": model}
    if usage:
        start["usage"] = {"input_tokens": usage[0] - usage[1], "cache_read_input_tokens": usage[1], "output_tokens": 1}
    add("message_start", message=start)
    add("ping")
    index = 0
    if step.get("reasoning"):
        add("content_block_start", index=index, content_block={"type": "thinking", "thinking": "", "signature": ""})
        for piece in _pieces(step, step["reasoning"]):
            add("content_block_delta", index=index, delta={"type": "thinking_delta", "thinking": piece})
        add("content_block_delta", index=index, delta={"type": "signature_delta", "signature": f"signed-{number}"})
        add("content_block_stop", index=index)
        index += 1
    if step.get("text"):
        add("content_block_start", index=index, content_block={"type": "text", "text": ""})
        for piece in _pieces(step, step["text"]):
            add("content_block_delta", index=index, delta={"type": "text_delta", "text": piece})
        add("content_block_stop", index=index)
        index += 1
    calls = _calls(step, number)
    for call_id, name, arguments in calls:
        block = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
        add("content_block_start", index=index, content_block=block)
        for piece in _pieces(step, arguments):
            add("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": piece})
        add("content_block_stop", index=index)
        index += 1
    if "error_event" in step:
        add("error", error=step["error_event"])
        return events
    if step.get("no_done"):
        return events
    final: dict[str, Any] = {"output_tokens": usage[2]} if usage else {}
    if "tier" in step:
        final["speed"] = step["tier"]
    stop = step.get("stop", "tool_use" if calls else "end_turn")
    add("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage=final)
    add("message_stop")
    return events


def main(script: str, record: str = "") -> None:
    with ModelServer(json.loads(Path(script).read_text()), record=Path(record) if record else None) as server:
        print(server.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:3])
