"""Which Python a job's processes run."""

from __future__ import annotations

import os
import re
import shutil

VERSION = re.compile(r"\d+(\.\d+)*")


class NoInterpreter(Exception):
    """The node does not have the interpreter that the job asks for."""


def find_interpreter(asked: str | None, node_python: str) -> str:
    """Return the path of the interpreter: the one asked for by path or version,
    else the node's own. Raises NoInterpreter naming what was looked for."""
    if asked is None:
        return node_python
    if VERSION.fullmatch(asked):
        found = shutil.which(f"python{asked}")
        if found is None:
            raise NoInterpreter(
                f"environment.python: no python{asked} on the PATH of this node"
            )
        return found
    if not os.access(asked, os.X_OK):
        raise NoInterpreter(f"environment.python: {asked} cannot be executed on this node")
    return asked
