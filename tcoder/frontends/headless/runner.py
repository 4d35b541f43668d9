"""One task without a screen: the result on standard output, what happens on standard error."""

import os
from collections.abc import Awaitable, Callable
from typing import Literal, TextIO

from tcoder.frontends import present
from tcoder.frontends.headless.result import Collector
from tcoder.frontends.headless.streams import Stream, wants_colour
from tcoder.frontends.lines import Line, ansi
from tcoder.frontends.narrator import Narrator
from tcoder.frontends.sanitise import clean, escape_json
from tcoder.protocol.codec import encode, encode_delta, encode_line
from tcoder.protocol.errors import TcoderError, UsageError
from tcoder.protocol.events import SCHEMA, PermissionAsked, Recorded, TurnFinished
from tcoder.protocol.handles import SessionHandle
from tcoder.protocol.messages import ImagePart
from tcoder.protocol.ops import Close, Decide, Interrupt, Submit

OutputFormat = Literal["text", "json", "stream-json"]


async def run(
    session: SessionHandle,
    task: str,
    *,
    output: OutputFormat,
    verbosity: int,
    color: str,
    stdout: TextIO,
    stderr: TextIO,
    images: tuple[ImagePart, ...] = (),
    diff_since: Callable[[str], Awaitable[str]] | None = None,
) -> int:
    """Do `task` and return the exit code of its outcome; the session is closed when this returns.

    `verbosity`: -1 = nothing on `stderr`, 0 = one line a step, 1 = also the model's words, tools' output and, in
    `stream-json`, the deltas. `stream-json` ends with a line of type `result` that holds what `json` prints. A
    question that nobody has answered by the time it is seen is denied: there is nobody to ask. `diff_since` gives what
    has changed since before a patch, as one diff; without it each patch is shown by itself.
    """
    run_ = _Run(session, output, verbosity, color, Stream(stdout), Stream(stderr))
    return await run_.follow(Submit(task, images), diff_since)


class _Run:
    def __init__(
        self, session: SessionHandle, output: OutputFormat, verbosity: int, color: str, stdout: Stream, stderr: Stream
    ) -> None:
        environment = dict(os.environ)
        self._session = session
        self._output: OutputFormat = output
        self._verbosity = verbosity
        self._stdout, self._stderr = stdout, stderr
        self._colour_out = wants_colour(stdout, color, environment)
        self._colour_err = wants_colour(stderr, color, environment)
        self._collector = Collector()
        self._narrator = Narrator(max(verbosity, 0))
        self._seq, self._time = 0, ""

    async def follow(self, submit: Submit, diff_since: Callable[[str], Awaitable[str]] | None) -> int:
        closing = False
        with self._session.subscribe(past=False) as subscription:
            await self._session.submit(submit)
            async for item in subscription:
                if not isinstance(item, Recorded):
                    if self._output == "stream-json" and self._verbosity > 0:
                        self._line(encode_delta(item))
                    self._say(self._narrator.delta(item))
                    continue
                self._record(item)
                if isinstance(item.event, PermissionAsked):
                    await self._refuse(item.event)
                if self._stdout.broken and not closing:
                    await self._session.submit(Interrupt("standard output was closed"))
                if isinstance(item.event, TurnFinished) and not closing:
                    closing = True
                    await self._session.submit(Close("done"))
        self._finish(await self._diffs(diff_since) if self._verbosity >= 0 else ())
        return self._collector.result().exit_code

    async def _diffs(self, diff_since: Callable[[str], Awaitable[str]] | None) -> tuple[str, ...]:
        """What the run has changed: several edits of a file are one change of it."""
        ids = self._collector.patch_ids
        if diff_since is None or len(ids) < 2:
            return self._collector.diffs
        try:
            whole = await diff_since(ids[0])
            return (whole,) if whole else ()
        except TcoderError:
            return self._collector.diffs  # the ledger cannot say any more; the run has told of each patch

    def _record(self, recorded: Recorded) -> None:
        self._seq, self._time = recorded.seq, recorded.time
        self._collector.add(recorded.event)
        if self._output == "stream-json":
            self._line(encode_line(recorded))
        self._say(self._narrator.event(recorded.event))

    async def _refuse(self, asked: PermissionAsked) -> None:
        try:
            await self._session.submit(Decide(asked.question.id, "deny", note="nobody can be asked in a headless run"))
        except UsageError:
            return  # the session has answered it by itself

    def _line(self, data: bytes) -> None:
        self._stdout.write(escape_json(data.decode()))

    def _say(self, lines: tuple[Line, ...]) -> None:
        if self._verbosity >= 0 and lines:
            self._stderr.write("".join(ansi(of, colour=self._colour_err) + "\n" for of in lines))

    def _finish(self, diffs: tuple[str, ...]) -> None:
        result = self._collector.result()
        if self._output == "json":
            self._line(encode(result) + b"\n")
        elif self._output == "stream-json":
            head = b'{"schema":%d,"seq":%d,"time":"%s","type":"result",' % (SCHEMA, self._seq + 1, self._time.encode())
            self._line(head + encode(result)[1:] + b"\n")
        self._say(self._verdict(diffs))
        if self._output == "text" and result.answer.strip():
            self._stdout.write(self._answer(result.answer.strip("\n")) + "\n")

    def _verdict(self, diffs: tuple[str, ...]) -> tuple[Line, ...]:
        """The diff, then how it ended."""
        lines: list[Line] = []
        for diff in diffs:
            lines += [(), *present.diff_lines(diff)]
        outcome = self._collector.outcome
        if outcome is None:
            return tuple(lines)
        return (*lines, (), present.outcome_line(outcome), present.usage_line(outcome))

    def _answer(self, answer: str) -> str:
        """Rendered on a colour terminal, as it was written otherwise."""
        if not (self._stdout.is_terminal and self._colour_out):
            return clean(answer)
        from tcoder.frontends.headless.terminal import render_markdown  # Rich, after the work and for terminals alone

        return render_markdown(answer)
