"""The bash program that keeps a session's shell, and what it says.

The keeper never runs a command itself: it forks a subshell for each one, so `exit`, `exec`, `set -e`, traps, aliases
and broken descriptors end with the command. It tells the exit status over a socket that the subshell closes first; a
socket, unlike a pipe, cannot be opened again through /proc. Working directory and exported variables are what a command
passes on: the subshell writes them to a FIFO when it ends, as data that the keeper never reads; the caller parses them
and sends back what changed before the next command.

Requests, each word ended by NUL: `set NAME=VALUE`, `unset NAME`, `cd DIRECTORY`, `run COMMAND`,
`job NUMBER FIFO COMMAND`, `fence TEXT` (printed to the terminal: when it is read, so is everything before it). Answers:
`end STATUS`, `job NUMBER PID`, `ended NUMBER STATUS`.
"""

import re

_KEEPER = r"""
exec 2>/dev/null; @L
while IFS= builtin read -r -d '' -u @C __v; do case $__v in
(set) IFS= builtin read -r -d '' -u @C __v; builtin export -- "$__v";;
(unset) IFS= builtin read -r -d '' -u @C __v; builtin unset -v -- "$__v";;
(cd) IFS= builtin read -r -d '' -u @C __v; builtin cd -- "$__v" || builtin cd -- @R;;
(run) IFS= builtin read -r -d '' -u @C __v;
( exec @C>&- 2>&1; builtin set -- "$__v"; builtin unset -v __v __n __f;
builtin trap 'builtin exec 2>&-; { builtin printf "%s\0" "$PWD"; builtin declare -px; builtin printf "\0"; } >@S' EXIT;
builtin eval 'builtin shift;' "$1" ); builtin printf 'end %s\0' "$?" >&@C;;
(job) IFS= builtin read -r -d '' -u @C __n; IFS= builtin read -r -d '' -u @C __f; IFS= builtin read -r -d '' -u @C __v;
( ( exec @C>&- </dev/null >"$__f" 2>&1; builtin set -- "$__v"; builtin unset -v __v __n __f;
builtin export PYTHONUNBUFFERED=1; builtin eval 'builtin shift;' "$1" );
builtin printf 'ended %s %s\0' "$__n" "$?" >&@C ) &
builtin printf 'job %s %s\0' "$__n" "$!" >&@C;;
(fence) IFS= builtin read -r -d '' -u @C __v; builtin printf '%s' "$__v";;
esac; done
"""

_DECLARED = re.compile(
    rb'declare -[a-zA-Z-]*x[a-zA-Z]* ([A-Za-z_][A-Za-z0-9_]*)(?:=("(?:[^"\\]|\\.)*"|\$\'(?:[^\'\\]|\\.)*\'))?', re.S
)
_SIMPLE_ESCAPES = {
    b"a": b"\a", b"b": b"\b", b"e": b"\x1b", b"E": b"\x1b", b"f": b"\f", b"n": b"\n", b"r": b"\r",
    b"t": b"\t", b"v": b"\v",
}  # fmt: skip
_ANSI_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.S)
_NOT_CARRIED = frozenset(
    {"PWD", "OLDPWD", "SHLVL", "_", "BASH_ENV", "ENV", "PS1", "PS4", "PROMPT_COMMAND", "SHELLOPTS", "TCODER_SHELL"}
)


def keeper_script(control: int, state_fifo: str, root: str, limits: str = "") -> str:
    """The keeper's text, in one line so that line numbers in bash's messages are those of the command."""
    script = " ".join(_KEEPER.split("\n"))
    script = script.replace("@L", limits)
    return script.replace("@C", str(control)).replace("@S", quoted(state_fifo)).replace("@R", quoted(root))


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def parse_state(data: bytes) -> tuple[str, dict[str, str]] | None:
    """Directory and exported variables from what a subshell wrote; None when it is not whole. Exported functions and
    variables that would change how the shell itself works are not carried."""
    parts = data.split(b"\0")
    if len(parts) < 3:
        return None
    directory, declared = parts[-3], parts[-2]
    variables: dict[str, str] = {}
    for match in _DECLARED.finditer(declared):
        name = match.group(1).decode()
        if match.group(2) is not None and name not in _NOT_CARRIED:
            variables[name] = _unquote(match.group(2)).decode("utf-8", "surrogateescape")
    return directory.decode("utf-8", "surrogateescape"), variables


def _unquote(word: bytes) -> bytes:
    if word.startswith(b'"'):
        return re.sub(rb"\\([\\$`\"\n])", rb"\1", word[1:-1])
    return _ANSI_ESCAPE.sub(_ansi, word[2:-1])


def _ansi(match: re.Match[bytes]) -> bytes:
    code = match.group(1)
    if code[:1] == b"x" and len(code) > 1:
        return bytes([int(code[1:], 16)])
    if code[:1].isdigit():
        return bytes([int(code, 8) & 255])
    return _SIMPLE_ESCAPES.get(code, code)
