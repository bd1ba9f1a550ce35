"""Start of a worker process: ``PYTHON __main__.py CONFIG.json CONTROL_FD REPORT_FD``.

The folder of this file must not be importable by the user's code, and our module
names must not hide theirs, so the package is loaded under a name of its own.
"""

import sys

PACKAGE = "_prs_harness"


def start():
    # type: () -> int
    # The interpreter has put the folder of this file first: gone before the first import.
    here = __file__.rpartition("/")[0] or "."
    sys.path[:] = [entry for entry in sys.path if entry != here]
    import os
    from importlib import import_module

    package = type(sys)(PACKAGE)
    package.__path__ = [os.path.abspath(here)]
    sys.modules[PACKAGE] = package
    process = import_module(PACKAGE + ".process")
    return int(process.main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))


if __name__ == "__main__":
    sys.exit(start())
