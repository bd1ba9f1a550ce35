"""``prs bench``: measure, beside what others do in the same run."""

from __future__ import annotations

import os
import sys
from difflib import get_close_matches

import click

from prsweb.cli.failure import CommandFailed
from prsweb.cli.raw_command import RawCommand
from prsweb.paths import CHECKOUT

BENCHMARKS = CHECKOUT / "bench"


def names() -> list[str]:
    """Return the benchmarks: the files of ``bench/`` that can be run."""
    files = sorted(BENCHMARKS.glob("*.py"))
    return [file.stem for file in files if "__main__" in file.read_text()]


@click.command(cls=RawCommand)
@click.argument("arguments", nargs=-1, metavar="NAME [ARGUMENTS]...")
def bench(*, arguments: tuple[str, ...]) -> int:
    """Run the benchmark NAME; ARGUMENTS, --help too, are its own."""
    known = names()
    given = [one for one in arguments if one != "--"]
    if not given:
        raise CommandFailed(f"bench needs the NAME of a benchmark: {', '.join(known)}")
    name, *own = given
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
        raise CommandFailed(f"no such benchmark: {name}; {hint}")
    script = str(BENCHMARKS / f"{name}.py")
    # It replaces this process: Ctrl-C and exit status are its own.
    os.execv(sys.executable, [sys.executable, script, *own])
