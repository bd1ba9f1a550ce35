"""``prs test``: the checks and tests of this checkout."""

from __future__ import annotations

import click

from prsweb.cli.raw_command import RawCommand


@click.command(cls=RawCommand)
@click.argument("arguments", nargs=-1)
def test(*, arguments: tuple[str, ...]) -> int:
    """Run the checks and every layer of tests, or those that ARGUMENTS name:
    checks, unit, integration, acceptance, browser. What stands behind -- goes to
    pytest."""
    from prsweb.cli.testing import run_tests

    return run_tests(list(arguments))
