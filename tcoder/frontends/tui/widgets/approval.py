"""The panel above the prompt that asks whether something may be done."""

import time
from collections.abc import Callable
from typing import Literal

from textual import events
from textual.message import Message

from tcoder.frontends import approval
from tcoder.frontends.approval import ANSWERS, Guard
from tcoder.frontends.lines import Line, line
from tcoder.frontends.sanitise import clean_line
from tcoder.frontends.tui.palette import Palette
from tcoder.frontends.tui.widgets.line import LinesWidget
from tcoder.frontends.tui.wrapping import wrap
from tcoder.protocol.ops import Decide
from tcoder.protocol.permissions import Question

MOST_LINES = 10


class ApprovalPanel(LinesWidget, can_focus=True):
    """Shows the first of the pending questions. It takes the keys only when the person has stopped typing and no draft
    is begun, ignores the first ones, has no default answer, gives letters that answer nothing back to the prompt, and
    no time limit ever answers for the person."""

    DEFAULT_CSS = """
    ApprovalPanel { height: auto; display: none; padding: 0 1; background: $panel; border-left: thick $warning 50%; }
    ApprovalPanel:focus { border-left: thick $warning; }
    """

    class Decided(Message):
        """The person answered."""

        def __init__(self, decision: Decide) -> None:
            super().__init__()
            self.decision = decision

    class Full(Message):
        """The person wants to read the whole question."""

        def __init__(self, question: Question) -> None:
            super().__init__()
            self.question = question

    class Left(Message):
        """Back to the prompt without an answer; `typed` is text that was meant for it."""

        def __init__(self, typed: str = "") -> None:
            super().__init__()
            self.typed = typed

    def __init__(
        self, palette: Palette, *, ascii_glyphs: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(id="approval", palette=palette, ascii_glyphs=ascii_glyphs)
        self._clock = clock
        self._guard = Guard()
        self._questions: tuple[Question, ...] = ()
        self._typing: Literal["", "note", "rule"] = ""
        self._text = ""
        self._rule = ""
        self._hint = ""
        self._drafting = False

    def show(self, questions: tuple[Question, ...]) -> None:
        """The questions that wait, oldest first."""
        if questions == self._questions:
            return
        another = not self._questions or not questions or questions[0].id != self._questions[0].id
        self._questions = questions
        if another:
            self._typing, self._text, self._rule, self._hint = "", "", "", ""
            if self.has_focus:
                self._guard.focused(self._clock())
        self.display = bool(questions)
        if not questions:
            self._guard.left()
        self._draw()

    def poll(self, last_typed: float, *, drafting: bool = False) -> bool:
        """Take the focus when it is time, never from a draft; True while the person is being waited for."""
        if not self._questions:
            return False
        self._drafting = drafting and not self.has_focus
        if not self.has_focus and not drafting and self._guard.may_take_focus(self._clock(), last_typed):
            self.focus()
        self._draw()
        return True

    def on_focus(self) -> None:
        self._guard.focused(self._clock())
        self._draw()

    def on_blur(self) -> None:
        self._guard.left()
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def on_paste(self, event: events.Paste) -> None:
        """A paste never answers."""
        event.stop()
        if self._typing:
            self._text += clean_line(event.text)
            self._draw()

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        if not self._questions:
            return
        if self._typing:
            self._type(event)
            return
        if event.key == "escape":
            self.post_message(self.Left())
            return
        if self._guard.ignores(self._clock()):
            return
        self._answer(event.character or event.key)

    def answer_alike(self) -> bool:
        """Once for every waiting question that asks for the same tool as the first; False when this panel has no say
        (no focus yet) or only one waits."""
        if not self.has_focus or len(self._questions) < 2 or self._guard.ignores(self._clock()):
            return self.has_focus and len(self._questions) > 1
        for question in self._questions:
            if question.tool == self._questions[0].tool:
                self.post_message(self.Decided(Decide(question.id, "once")))
        return True

    def _answer(self, key: str) -> None:
        question = self._questions[0]
        always = bool(question.always)
        if key == "1" or (key in "23" and always):
            self.post_message(self.Decided(Decide(question.id, ANSWERS[key], rule="" if key == "1" else self._rule)))
        elif key in ("4", "n"):
            self._typing, self._text = "note", ""
        elif key == "e" and always:
            self._typing, self._text = "rule", self._rule or question.always
        elif key == "d":
            self.post_message(self.Full(question))
        elif len(key) == 1 and key.isalpha():
            self.post_message(self.Left(key))  # somebody writes a message
        else:
            self._hint = (
                "press 1, 2, 3 or 4; Enter answers nothing" if always else "press 1 or 4; Enter answers nothing"
            )
        self._draw()

    def _type(self, event: events.Key) -> None:
        if event.key == "escape":
            self._typing = ""
        elif event.key == "enter" and self._typing == "note":
            self.post_message(self.Decided(Decide(self._questions[0].id, "deny", note=self._text.strip())))
        elif event.key == "enter":
            self._rule, self._typing = self._text.strip(), ""
        elif event.key == "backspace":
            self._text = self._text[:-1]
        elif event.key == "ctrl+u":
            self._text = ""
        elif event.is_printable and event.character:
            self._text += event.character
        self._draw()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """A click on the panel gives it the keys; only keys answer."""
        event.stop()
        self.focus()

    def _draw(self) -> None:
        if not self._questions:
            return
        question = self._questions[0]
        width = self.content_size.width or 78
        asked: list[Line] = [of.line for row in approval.rows(question) for of in wrap(row, width)]
        if len(asked) > MOST_LINES:
            more = len(asked) - MOST_LINES + 1
            asked = [*asked[: MOST_LINES - 1], line((f"  … {more} more lines, d shows all", "warn"))]
        ready = self.has_focus and self._guard.ignores(self._clock()) is None
        if self._typing:
            asked.append(approval.entry("why not" if self._typing == "note" else "rule", self._text))
        else:
            count = len(self._questions)
            asked += approval.options(question, rule=self._rule, number=1, count=count, ready=ready, width=width)
        if self._hint:
            asked.append(line((self._hint, "warn")))
        elif self._drafting:
            asked.append(line(("Tab answers; your draft stays as it is", "dim")))
        self.styles.height = len(asked)
        self.show_lines(asked)
