"""``prs test``: the checks and tests of this checkout."""

from __future__ import annotations

import click


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def test(*, arguments: tuple[str, ...]) -> int:
    """Run the checks and every layer of tests, or those that ARGUMENTS name:
    checks, unit, integration, acceptance, browser. What stands behind -- goes to
    pytest."""
    from prsweb.cli.testing import run_tests

    return run_tests(list(arguments))
