"""The known runners by name."""

from tcoder.workspace.checks import compiled, javascript, python
from tcoder.workspace.checks.generic import GENERIC
from tcoder.workspace.checks.runner import Runner

_ALL = {
    runner.name: runner
    for runner in (
        python.PYTEST,
        python.UNITTEST,
        python.DJANGO,
        javascript.JEST,
        javascript.VITEST,
        javascript.MOCHA,
        javascript.NODE,
        compiled.GO,
        compiled.CARGO,
        compiled.JUNIT,
        compiled.PHPUNIT,
        compiled.CTEST,
        compiled.RSPEC,
        GENERIC,
    )
}


def of(name: str) -> Runner:
    """The runner of that name; a name that is not known is judged by its exit code alone."""
    return _ALL.get(name, GENERIC)
