"""Puts an edited text in the place of one module: for a process, as the plugin of pytest does for its own.

`python -m tests.mutations.mutant functions.auth` runs a package so, `pytest -p tests.mutations.mutant` tests.
MUTANT_MODULE names the module, MUTANT_TEXT the file with the edited text. With REACHED_LOG the services
instead note there which of their guards a request reaches.
"""

import importlib.util
import os
import runpy
import signal
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

SERVICES = ("functions.core.", "functions.auth.", "functions.edge.", "functions.storage.")


class Edited(SourceFileLoader):
    """Compiles the edited text under the module's own path, so that what it reads beside itself is there."""

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.edited(), self.path, "exec", dont_inherit=True)

    def edited(self) -> str:
        """Return the text that is run."""
        if "REACHED_LOG" in os.environ:
            from tests.mutations import reached

            return reached.noting(self.path)
        return Path(os.environ["MUTANT_TEXT"]).read_text()


class Finder:
    """Finds the one module."""

    @staticmethod
    def find_spec(fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return the edited module's specification; None leaves any other to the usual finders."""
        if not _is_edited(fullname):
            return None
        found = PathFinder.find_spec(fullname, path, target)
        if found is None or found.origin is None or not found.origin.endswith(".py"):
            return found
        is_package = found.submodule_search_locations
        loader = Edited(fullname, found.origin)
        return importlib.util.spec_from_file_location(
            fullname, found.origin, loader=loader, submodule_search_locations=is_package
        )


def _is_edited(module: str) -> bool:
    if "REACHED_LOG" in os.environ:
        return module.startswith(SERVICES)
    return module == os.environ.get("MUTANT_MODULE")


sys.meta_path.insert(0, Finder)


def run_test(test: str, environment: dict[str, str], output: str, seconds: int) -> None:
    """Run a test in this process, which ends with pytest's exit status; what is printed goes to a file."""
    # Services run this module too, and need none of it.
    import pytest

    # Should the run be killed, this process still ends.
    signal.alarm(2 * seconds)
    os.environ.update(environment)
    with Path(output).open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.exit(int(pytest.main(["-q", "-x", "-rfE", "-p", "no:cacheprovider", test])))


if __name__ == "__main__":
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
