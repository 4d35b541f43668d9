"""Review before commit: accept, reject, edit and split hunks, then commit what was accepted."""

from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.screen import Screen

from tcoder.frontends import reviews
from tcoder.frontends.cards import NoticeLine
from tcoder.frontends.figures import plural
from tcoder.frontends.lines import Line, line
from tcoder.frontends.markdown import Row
from tcoder.frontends.sanitise import clean, clean_line
from tcoder.frontends.tui import side_by_side
from tcoder.frontends.tui.desk import Desk
from tcoder.frontends.tui.screens.text import Page
from tcoder.frontends.tui.widgets.line import LinesWidget
from tcoder.frontends.tui.wrapping import wrap
from tcoder.protocol.ops import CommitAccepted, EditHunk, JudgeHunks, Op, SplitHunk, Undo
from tcoder.protocol.queries import ReadReview, ReviewFile, ReviewHunk, ReviewState

Edit = Callable[[str, str], str | None]


class ReviewScreen(Screen[None]):
    """Files on the left, hunks on the right. Every change goes through an op; what is shown is asked anew after it."""

    DEFAULT_CSS = """
    ReviewScreen { background: $background; }
    ReviewScreen #title, ReviewScreen #foot { height: auto; max-height: 8; background: $panel; padding: 0 1; }
    ReviewScreen #files { width: 34%; max-width: 44; border-right: solid $primary 40%; }
    """
    HINT = (
        "a accept · x reject · r with reason · e edit · s split · u undo · A X file · j k hunk · J K file · "
        "v split view · w wrap · c commit"
    )

    def __init__(self, desk: Desk, state: ReviewState, edit: Edit, message: str = "") -> None:
        super().__init__()
        self._desk = desk
        self._state = state
        self._edit = edit
        self._message = message or state.message
        self._file = self._hunk = 0
        self._committing = False
        self._rejected = 0  # rejections of this visit: each is a patch of its own, which `u` takes back
        self._reason: str | None = None
        self._split = self._wrap = False
        self._note = ""  # stands until the next key
        self._heard = len(desk.transcript.blocks)
        glyphs = desk.startup.ascii_glyphs
        self._head = LinesWidget(id="title", palette=desk.palette, ascii_glyphs=glyphs)
        self._files = Page((), desk.palette, widget_id="files", ascii_glyphs=glyphs)
        self._page = Page((), desk.palette, widget_id="hunks", ascii_glyphs=glyphs)
        self._foot = LinesWidget(id="foot", palette=desk.palette, ascii_glyphs=glyphs)

    def compose(self) -> ComposeResult:
        yield self._head
        with Horizontal():
            yield self._files
            yield self._page
        yield self._foot

    def on_mount(self) -> None:
        self._desk.watchers.append(self._reload_soon)
        self.call_after_refresh(self._show)

    def on_unmount(self) -> None:
        self._desk.watchers.remove(self._reload_soon)

    # -- what is shown

    @property
    def _current_file(self) -> ReviewFile | None:
        return self._state.files[self._file] if self._state.files else None

    @property
    def _current(self) -> ReviewHunk | None:
        file = self._current_file
        return file.hunks[self._hunk] if file and file.hunks else None

    def _show(self, note: str = "") -> None:
        self._note = note or self._note
        self._head.styles.height = 1
        self._head.show_lines([reviews.headline(self._state)])
        files = [reviews.file_line(file, marked=at == self._file) for at, file in enumerate(self._state.files)]
        self._files.set_all(files or [line(("nothing has changed", "dim"))], keep=True)
        self._files.reveal(self._file, self._file)
        if (file := self._current_file) is not None:
            lines, first, last = reviews.hunk_lines(file, self._hunk, self._body)
            self._page.set_all(lines, keep=True)
            self._page.reveal(first, last)
        else:
            self._page.set_all([])
        foot = self._foot_lines(self._note)
        self._foot.styles.height = len(foot)
        self._foot.show_lines(foot)

    def _body(self, hunk: ReviewHunk) -> list[Line]:
        """A hunk's lines: in two columns, wrapped, or as they are."""
        width = self._page.content_size.width - 2
        if self._split and width >= 2 * side_by_side.NARROWEST:
            return side_by_side.columns(hunk.lines, width)
        lines = reviews.hunk_body(hunk)
        return [part.line for of in lines for part in wrap(Row(of, 1, 1), max(20, width))] if self._wrap else lines

    def _foot_lines(self, note: str) -> list[Line]:
        if self._reason is not None:
            return [line(("why not: ", "accent"), self._reason, ("▏   Enter rejects · Esc back", "dim"))]
        if not self._committing:
            width = max(20, self.size.width - 2)
            return [line((note, "warn"))] if note else [of.line for of in wrap(Row(line((self.HINT, "dim"))), width)]
        accepted, left = reviews.left_out(self._state)
        problem = note or reviews.message_problem(self._message)
        message = clean(self._message).strip().split("\n")[:4]
        return [
            line(
                ("Commit  ", "title"),
                plural(accepted, "accepted hunk"),
                (f", {left} left out", "warn" if left else "dim"),
            ),
            *(line("  ", text) for text in message),
            line((problem, "bad")) if problem else line(("C commits · e edits the message · Esc back", "dim")),
        ]

    def _reload_soon(self) -> None:
        self.call_later(self._reload)

    async def _reload(self) -> None:
        state = await self._desk.ask(ReadReview(), ReviewState)
        if state is not None and state != self._state:
            self._state = state
            self._file = max(0, min(self._file, len(state.files) - 1))
            file = self._current_file
            self._hunk = max(0, min(self._hunk, len(file.hunks) - 1)) if file else 0
            self._show()
        if news := self._news():
            self._show(news)

    def _news(self) -> str:
        """What the session has said of a commit or as a warning since the last look: it stands behind this screen."""
        fresh = self._desk.transcript.blocks[self._heard :]
        self._heard += len(fresh)
        said = [of for of in fresh if isinstance(of, NoticeLine) and (of.topic == "commit" or of.level != "info")]
        return clean_line(said[-1].text) if said else ""

    # -- keys

    async def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        key = event.character if event.is_printable and event.character else event.key
        self._note = ""
        if self._reason is not None:
            await self._type_reason(event)
        elif self._committing:
            await self._commit_key(key)
        else:
            await self._review_key(key)

    async def _review_key(self, key: str) -> None:
        hunk, file = self._current, self._current_file
        match key:
            case "escape" | "q" | "ctrl+c":
                self.dismiss(None)
            case "j" | "down":
                self._step(1)
            case "k" | "up":
                self._step(-1)
            case "J" | "right":
                self._step_file(1)
            case "K" | "left":
                self._step_file(-1)
            case "pagedown" | " ":
                self._page.scroll_by(10)
            case "pageup":
                self._page.scroll_by(-10)
            case "u" if (hunk is None or hunk.state == "open") and self._rejected:
                if await self._do(Undo()):
                    self._rejected -= 1
            case "a" | "x" | "u" if hunk is not None:
                await self._judge((hunk,), {"a": "accepted", "x": "rejected", "u": "open"}[key])
            case "A" | "X" if file is not None and file.hunks:
                await self._judge(file.hunks, "accepted" if key == "A" else "rejected")
            case "r" if hunk is not None:
                self._reason = ""
                self._show()
            case "e" if hunk is not None:
                edited = self._edit(reviews.new_side(hunk), ".diff-side")
                if edited is not None:
                    await self._do(EditHunk(hunk.id, edited))
            case "s" if hunk is not None:
                await self._do(SplitHunk(hunk.id))
            case "v":
                self._split = not self._split
                narrow = self._split and self._page.content_size.width - 2 < 2 * side_by_side.NARROWEST
                self._show("too narrow for two columns" if narrow else "")
            case "w":
                self._wrap = not self._wrap
                self._show()
            case "c":
                self._committing = True
                self._show()
            case _:
                return

    async def _judge(self, hunks: tuple[ReviewHunk, ...], verdict: str, reason: str = "") -> None:
        """The user's own hunks are never taken back; stale ones are not accepted before they were read again."""
        if verdict == "rejected" and any(hunk.origin == "person" for hunk in hunks):
            self._show("your own changes are not rejected here")
            return
        if verdict == "accepted" and any(hunk.stale for hunk in hunks):
            self._show("the file has changed since; it was read again, look once more")
            await self._reload()
            return
        known: dict[str, JudgeHunks] = {
            "accepted": JudgeHunks(tuple(hunk.id for hunk in hunks), "accepted"),
            "rejected": JudgeHunks(tuple(hunk.id for hunk in hunks), "rejected", reason),
            "open": JudgeHunks(tuple(hunk.id for hunk in hunks), "open"),
        }
        if not await self._do(known[verdict]):
            return
        self._rejected += verdict == "rejected"
        if len(hunks) == 1 and verdict == "accepted":
            self._step(1)

    async def _do(self, op: Op) -> bool:
        done = await self._desk.submit(op)
        if not done:
            self._show("that was refused; the conversation says why")
            return False
        await self._reload()
        return True

    def _step(self, by: int) -> None:
        """The next hunk, over the end of a file into the next."""
        file = self._current_file
        if file is None:
            return
        if 0 <= self._hunk + by < len(file.hunks):
            self._hunk += by
        elif 0 <= self._file + by < len(self._state.files):
            self._file += by
            hunks = self._state.files[self._file].hunks
            self._hunk = 0 if by > 0 else max(0, len(hunks) - 1)
        self._show()

    def _step_file(self, by: int) -> None:
        if 0 <= self._file + by < len(self._state.files):
            self._file, self._hunk = self._file + by, 0
            self._show()

    async def _type_reason(self, event: events.Key) -> None:
        reason = self._reason or ""
        if event.key == "escape":
            self._reason = None
        elif event.key == "enter":
            self._reason = None
            if (hunk := self._current) is not None:
                await self._judge((hunk,), "rejected", reason.strip())
        elif event.key == "backspace":
            self._reason = reason[:-1]
        elif event.is_printable and event.character:
            self._reason = reason + event.character
        self._show()

    async def _commit_key(self, key: str) -> None:
        """Enter never commits."""
        match key:
            case "escape":
                self._committing = False
            case "e" | "ctrl+g":
                edited = self._edit(self._message, ".txt")
                self._message = edited if edited is not None else self._message
            case "C" | "ctrl+enter":
                problem = reviews.message_problem(self._message)
                if not reviews.left_out(self._state)[0]:
                    problem = "no hunk is accepted"
                if problem:
                    self._show(problem)
                    return
                if await self._do(CommitAccepted(self._message.strip())):
                    self._committing = False
            case _:
                return
        self._show()
