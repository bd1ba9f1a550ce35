"""Start of a worker process: ``PYTHON __main__.py CONFIG.json CONTROL_FD REPORT_FD``.

The folder of this file must not be importable by the user's code, and our module
names must not hide theirs, so the package is loaded under a name of its own.
"""

import sys

PACKAGE = "_prs_harness"


def load_package(folder):
    # type: (str) -> None
    import importlib.util

    spec = importlib.util.spec_from_file_location(
        PACKAGE, folder + "/__init__.py", submodule_search_locations=[folder]
    )
    if spec is None or spec.loader is None:
        raise ImportError("no harness in " + folder)
    package = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = package
    spec.loader.exec_module(package)


def start():
    # type: () -> int
    # The interpreter has put the folder of this file first: gone before the first import.
    here = __file__.rpartition("/")[0] or "."
    sys.path[:] = [entry for entry in sys.path if entry != here]
    import os

    load_package(os.path.abspath(here))
    from importlib import import_module

    process = import_module(PACKAGE + ".process")
    return int(process.main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))


if __name__ == "__main__":
    sys.exit(start())
