"""The themes: Textual's own colours, and a style for every role of text."""

from rich.style import Style
from textual.theme import Theme

from tcoder.frontends.lines import Role
from tcoder.frontends.startup import ThemeName


class Palette:
    """One theme. `styles` has a style for every role but plain text."""

    def __init__(self, theme: Theme, styles: dict[Role, str]) -> None:
        self.theme = theme
        self.styles: dict[Role, Style] = {role: Style.parse(text) for role, text in styles.items()}

    def style(self, role: Role) -> Style:
        return self.styles.get(role, _NONE)


_NONE = Style.null()


def _roles(
    *,
    dim: str,
    accent: str,
    ok: str,
    bad: str,
    warn: str,
    added: str,
    removed: str,
    code: str,
    user: str,
    number: str = "",
) -> dict[Role, str]:
    return {
        "dim": dim, "bold": "bold", "italic": "italic", "strike": "strike", "title": "bold", "accent": accent,
        "ok": ok, "bad": bad, "warn": warn, "added": added, "removed": removed, "hunk": accent, "path": "bold",
        "code": code, "link": f"underline {accent}", "heading": f"bold {accent}", "quote": f"italic {dim}",
        "user": user, "number": number or dim, "keyword": accent, "string": ok, "comment": dim,
        "strong-bad": f"bold {bad}",
    }  # fmt: skip


def _theme(name: str, *, dark: bool, **colours: str) -> Theme:
    background, surface, panel = colours["background"], colours["surface"], colours["panel"]
    return Theme(
        name=name, primary=colours["primary"], secondary=colours["primary"], accent=colours["primary"],
        warning=colours["warning"], error=colours["error"], success=colours["success"],
        foreground=colours["foreground"], background=background, surface=surface, panel=panel, dark=dark,
        variables={"input-cursor-background": colours["foreground"], "input-cursor-foreground": background},
    )  # fmt: skip


_DARK = Palette(
    _theme("tcoder-dark", dark=True, primary="#7aa2f7", warning="#e0af68", error="#f7768e", success="#9ece6a",
           foreground="#d5d9e6", background="#16181f", surface="#16181f", panel="#1e212b"),
    _roles(dim="#828aa5", accent="#7aa2f7", ok="#9ece6a", bad="#f7768e", warn="#e0af68", added="#b9e08c",
           removed="#e5728a", code="#89cfe0", user="bold #ffffff"),
)  # fmt: skip
_LIGHT = Palette(
    _theme("tcoder-light", dark=False, primary="#2553b8", warning="#8a5a00", error="#b3143c", success="#3b7a12",
           foreground="#1d2230", background="#fbfbfd", surface="#fbfbfd", panel="#eceef4"),
    _roles(dim="#666e85", accent="#2553b8", ok="#3b7a12", bad="#b3143c", warn="#8a5a00", added="#2c6a08",
           removed="#b3143c", code="#0b6a7e", user="bold #000000"),
)  # fmt: skip
_HIGH_DARK = Palette(
    _theme("high-contrast-dark", dark=True, primary="#8ecbff", warning="#ffd75e", error="#ff9d9d", success="#a8ff8a",
           foreground="#ffffff", background="#000000", surface="#000000", panel="#1a1a1a"),
    _roles(dim="#c8c8c8", accent="#8ecbff", ok="#a8ff8a", bad="#ff9d9d", warn="#ffd75e", added="#a8ff8a",
           removed="#ff9d9d", code="#9ff4ff", user="bold #ffffff"),
)  # fmt: skip
_HIGH_LIGHT = Palette(
    _theme("high-contrast-light", dark=False, primary="#00307d", warning="#5c3a00", error="#85001f", success="#0f4d00",
           foreground="#000000", background="#ffffff", surface="#ffffff", panel="#e6e6e6"),
    _roles(dim="#3d3d3d", accent="#00307d", ok="#0f4d00", bad="#85001f", warn="#5c3a00", added="#0f4d00",
           removed="#85001f", code="#00404f", user="bold #000000"),
)  # fmt: skip
_COLOUR_BLIND = Palette(
    _theme("colour-blind", dark=True, primary="#9bb7ff", warning="#f0e442", error="#ff9e3d", success="#6ec1ff",
           foreground="#dfe3ee", background="#16181f", surface="#16181f", panel="#1e212b"),
    _roles(dim="#8d95ad", accent="#9bb7ff", ok="#6ec1ff", bad="#ff9e3d", warn="#f0e442", added="#8fd0ff",
           removed="#e8872a", code="#c9c2ff", user="bold #ffffff"),
)  # fmt: skip
_ANSI_NAMES = {
    "input-cursor-background": "ansi_white", "input-cursor-foreground": "ansi_black", "ansi-background": "ansi_black",
    "ansi-foreground": "ansi_white",
}  # fmt: skip
"""Names that Textual's own styles ask for when a theme has the terminal's colours."""
_ANSI = Palette(
    Theme(name="ansi", primary="ansi_blue", secondary="ansi_cyan", accent="ansi_blue", warning="ansi_yellow",
          error="ansi_red", success="ansi_green", foreground="ansi_default", background="ansi_default",
          surface="ansi_default", panel="ansi_default", boost="ansi_default", dark=True, ansi=True,
          variables=_ANSI_NAMES),
    _roles(dim="bright_black", accent="blue", ok="green", bad="red", warn="yellow", added="green", removed="red",
           code="cyan", user="bold"),
)  # fmt: skip
_MONO = Palette(
    Theme(name="mono", primary="ansi_default", secondary="ansi_default", accent="ansi_default",
          warning="ansi_default", error="ansi_default", success="ansi_default", foreground="ansi_default",
          background="ansi_default", surface="ansi_default", panel="ansi_default", boost="ansi_default", dark=True,
          ansi=True, variables=_ANSI_NAMES),
    _roles(dim="dim", accent="bold", ok="bold", bad="bold", warn="bold", added="bold", removed="dim", code="none",
           user="bold"),
)  # fmt: skip
PALETTES: dict[ThemeName, Palette] = {
    "tcoder-dark": _DARK,
    "tcoder-light": _LIGHT,
    "high-contrast-dark": _HIGH_DARK,
    "high-contrast-light": _HIGH_LIGHT,
    "colour-blind": _COLOUR_BLIND,
    "ansi": _ANSI,
    "mono": _MONO,
}
