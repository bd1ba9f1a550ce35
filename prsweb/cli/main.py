"""Find the command, run it, and turn whatever happens into an exit status."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from prsweb.cli.console import print_json, say
from prsweb.cli.failure import DONE, INTERRUPTED, NOTHING_DONE, CommandFailed

# name: module and command in it. Imported when called, so that a command starts fast.
COMMANDS = {
    "bench": "bench:bench",
    "cancel": "cancel:cancel",
    "demo": "demo:demo",
    "errors": "errors:errors",
    "export": "export:export",
    "jobs": "jobs:jobs",
    "key": "key:key",
    "logs": "logs:logs",
    "node": "node:node",
    "nodes": "nodes:nodes",
    "output": "output:output",
    "resubmit": "resubmit:resubmit",
    "show": "show:show",
    "sign-in": "sign_in:sign_in",
    "submit": "submit:submit",
    "test": "test:test",
    "token": "token:token",
    "try": "try_:try_",
    "up": "up:up",
}


class CommandGroup(click.Group):
    """The commands by name; an unknown one is answered with the nearest."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(
            import_module(f"prsweb.cli.commands.{module}"), attribute
        )
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise CommandFailed(no_such_command(args[0]))
        return super().resolve_command(ctx, args)


def no_such_command(name: str) -> str:
    near = get_close_matches(name, COMMANDS, n=1)
    hint = f"did you mean {near[0]}?" if near else "./prs --help lists them"
    return f"no such command: {name}; {hint}"


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="docs/commands.md says more; every command but up, demo, node, try, test and bench "
    "talks to the server of --server, PRSWEB_SERVER or this machine's ./prs up.",
)
def prs() -> None:
    """Run ParallelRunStep and multi-node jobs, and look at them."""


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit status; nothing shows a traceback."""
    wants_json = "--json" in arguments
    try:
        status = prs.main(list(arguments), prog_name="prs", standalone_mode=False)
    except CommandFailed as failed:
        return _refuse(failed, wants_json)
    except click.exceptions.NoArgsIsHelpError as help_asked:
        say(help_asked.format_message())
        return NOTHING_DONE
    except click.ClickException as error:
        return _refuse(CommandFailed(_in_words(error)), wants_json)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        return _end_as_broken_pipe()
    except Exception as error:
        return _refuse(_unexpected(error), wants_json)
    return status if isinstance(status, int) else DONE


def _refuse(failed: CommandFailed, wants_json: bool) -> int:
    if wants_json:
        with suppress(BrokenPipeError):
            print_json(failed.to_json())
    else:
        say(f"prs: {failed.message}")
        for problem in failed.problems:
            say(f"  {problem}")
    return failed.status


def _in_words(error: click.ClickException) -> str:
    """Return click's message, with the command that explains the options."""
    message = error.format_message().rstrip(".")
    context: Any = getattr(error, "ctx", None)
    if context is None:
        return message
    return f"{message}; {context.command_path} --help lists the options"


def _unexpected(error: Exception) -> CommandFailed:
    """A fault of ours: one line, and the whole story for whoever asks for it."""
    if os.environ.get("PRSWEB_TRACEBACK"):
        traceback.print_exc()
    return CommandFailed(
        f"unexpected {type(error).__name__}: {error}; with PRSWEB_TRACEBACK=1 it shows where",
        code="unavailable",
    )


def _end_as_broken_pipe() -> int:
    """``prs logs JOB | head``: the reader has enough. End as other programs do."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 128 + signal.SIGPIPE
