"""The environment a command gets: what tools need, and nothing that could be a key."""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

EMPTIED = ("/run", "/tmp", "/var/tmp")
"""Folders that a command sees empty, and its own."""

_PASSED = frozenset(
    """
    PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ LD_LIBRARY_PATH SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE
    CURL_CA_BUNDLE GIT_SSL_CAINFO NODE_EXTRA_CA_CERTS SOURCE_DATE_EPOCH
    PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONWARNINGS PYTHONUTF8 VIRTUAL_ENV PYENV_ROOT
    PYENV_VERSION CONDA_PREFIX CONDA_DEFAULT_ENV CONDA_EXE PIPX_HOME POETRY_HOME OMP_NUM_THREADS
    JAVA_HOME JDK_HOME M2_HOME MAVEN_HOME MAVEN_OPTS MAVEN_ARGS GRADLE_HOME GRADLE_USER_HOME GRADLE_OPTS JAVA_OPTS
    GOPATH GOROOT GOFLAGS GOPROXY GOMODCACHE GOCACHE GOTOOLCHAIN GOOS GOARCH CGO_ENABLED
    CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN RUSTFLAGS RUST_BACKTRACE RUST_LOG
    NVM_DIR NVM_BIN NODE_PATH NODE_OPTIONS NODE_ENV PNPM_HOME BUN_INSTALL DENO_DIR VOLTA_HOME FNM_DIR ASDF_DIR
    ASDF_DATA_DIR RBENV_ROOT GEM_HOME GEM_PATH BUNDLE_PATH DOTNET_ROOT DOTNET_CLI_HOME NUGET_PACKAGES ANDROID_HOME
    ANDROID_SDK_ROOT CC CXX CFLAGS CXXFLAGS CPPFLAGS LDFLAGS MAKEFLAGS PKG_CONFIG_PATH CMAKE_PREFIX_PATH
    """.split()  # noqa: SIM905 a list of strings would fill a page
)
_PASSED_PREFIXES = ("LC_", "PIP_", "UV_", "npm_config_", "MISE_", "HOMEBREW_", "OPENBLAS_")
_SECRET_NAME = re.compile(
    r"KEY|SECRET|TOKEN|PASSW|CREDENTIAL|AUTH|COOKIE|PRIVATE|(^|_)(PAT|PWD|DSN|SESSION)(_|$)|INDEX_URL|FIND_LINKS", re.I
)
_SECRET_VALUE = re.compile(
    r"\b(sk|pk|rk)[-_][A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_|\bglpat-|\bxox[abprs]-|\bAKIA[0-9A-Z]{12,}"
    r"|\bAIza[0-9A-Za-z_-]{30,}|\bhf_[A-Za-z0-9]{20,}|\bnpm_[A-Za-z0-9]{20,}|\beyJ[A-Za-z0-9_-]{10,}\.eyJ|-----BEGIN |://[^/\s:@]*:[^/\s@]+@"
)
_QUIET = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "EDITOR": "false",
    "VISUAL": "false",
    "GIT_EDITOR": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INPUT": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "CI": "1",
    "npm_config_yes": "true",
    "npm_config_update_notifier": "false",
    "npm_config_fund": "false",
    "npm_config_audit": "false",
}


def looks_secret(name: str, value: str) -> bool:
    """Whether a variable may hold a credential, by its name or by the form of its value."""
    return bool(_SECRET_NAME.search(name) or _SECRET_VALUE.search(value))


def command_environment(
    base: Mapping[str, str], *, keep: Iterable[str] = (), extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The environment of the shell: allow-listed names of `base` whose name and value look like no secret, the names in
    `keep` (which a person listed in the settings) as they are, settings that keep programs from paging or asking, and
    `extra` last. Must be what the sandbox's first process is started with: removing a variable later leaves it readable
    in that process's `/proc/PID/environ`."""
    kept = frozenset(keep)
    passed = {
        name: value
        for name, value in base.items()
        if name in kept or ((name in _PASSED or name.startswith(_PASSED_PREFIXES)) and not looks_secret(name, value))
    }
    passed.setdefault("PATH", "/usr/local/bin:/usr/bin:/bin")
    passed.setdefault("LANG", "C.UTF-8")
    return passed | _QUIET | {"TMPDIR": "/tmp"} | dict(extra or {})


def programs_in_emptied_folders(path: str) -> Iterator[Path]:
    """Where this Python, tcoder itself and the programs of `PATH` live, when that is a folder that commands see empty
    (a checkout or a virtual environment below /tmp): they must be seen all the same."""
    places = [sys.prefix, sys.base_prefix, str(Path(__file__).resolve().parents[2])]
    for entry in path.split(os.pathsep):
        above = os.path.dirname(entry)
        places.append(above if os.path.isfile(f"{above}/pyvenv.cfg") else entry)
    for place in dict.fromkeys(os.path.realpath(place) for place in places if os.path.isabs(place)):
        if place.startswith(tuple(f"{emptied}/" for emptied in EMPTIED)) and os.path.isdir(place):
            yield Path(place)
