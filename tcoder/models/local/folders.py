"""Where the embedded engine and its weights live on the user's disk."""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from tcoder.protocol.errors import WeightsError


class LocalFolders(Struct, frozen=True):
    """`weights` holds model files, `state` what is remembered and logs, `runtime` the registrations of engines."""

    weights: Path
    state: Path
    runtime: Path


def local_folders(environ: Mapping[str, str]) -> LocalFolders:
    """The user's folders. `TCODER_MODELS_DIR` moves the weights alone, `TCODER_HOME` everything."""
    if home := environ.get("TCODER_HOME"):
        base = Path(home).expanduser().resolve()
        data, state = base / "data", base / "state"
        runtime = state / "engines"
    else:
        import platformdirs  # late, as in the settings: not needed where one folder holds everything

        data = Path(platformdirs.user_data_dir("tcoder"))
        state = Path(platformdirs.user_state_dir("tcoder"))
        given = environ.get("XDG_RUNTIME_DIR", "")
        runtime = Path(given) / "tcoder" if given and os.access(given, os.W_OK) else state / "engines"
    own = environ.get("TCODER_MODELS_DIR")
    return LocalFolders(Path(own).expanduser().resolve() if own else data / "models", state, runtime)


def own_file(name: str, folder: Path) -> Path | None:
    """The model file that a person brought: `NAME` for `NAME.gguf` in `folder`, or the path of a .gguf file anywhere;
    None when it is not there."""
    path = Path(name).expanduser() if name.endswith(".gguf") else folder / f"{name}.gguf"
    return path if path.is_file() else None


def make_private(folder: Path) -> Path:
    """Make `folder` with its parents, and let only its owner in; one that is there keeps its rights, since it may serve
    others too. Raises `WeightsError` when it is somebody else's or
    cannot be made."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_uid != os.getuid():
            raise WeightsError(f"{folder} belongs to another user", "set TCODER_HOME to a folder of your own")
    except OSError as error:
        raise WeightsError(f"cannot use the folder {folder}: {error.strerror}", "set TCODER_HOME to another") from error
    return folder
