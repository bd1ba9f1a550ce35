"""A command that hands on what it is given."""

from __future__ import annotations

import click


class RawCommand(click.Command):
    """Takes everything behind its name as it stands, ``--`` included, as
    ``arguments``; only a lone ``--help`` is its own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args in (["--help"], ["-h"]):
            return super().parse_args(ctx, args)
        ctx.params["arguments"] = tuple(args)
        return []
