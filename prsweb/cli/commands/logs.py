"""``prs logs``: what a job's processes said."""

from __future__ import annotations

import sys
from typing import Any

import click

from prsweb.cli.client import connect
from prsweb.cli.console import print_json, print_result, say
from prsweb.cli.failure import DONE, ENDED_BADLY, CommandFailed
from prsweb.cli.job_reference import find_job_id, get_job
from prsweb.cli.log_files import LEVELS, LevelFilter, LogChoice, shown_line
from prsweb.cli.log_reader import LogReader
from prsweb.cli.shared_options import api_command, job_argument
from prsweb.cli.table import printable


@api_command
@job_argument
@click.option("--node", help="Of this node: its name, or its index in the job.")
@click.option("--process", help="Of this process, as process003 or 3.")
@click.option(
    "--attempt", type=click.IntRange(min=1), help="Of this attempt.  [default: newest]"
)
@click.option("--stream", type=click.Choice(["stdout", "stderr"]), help="Of this stream.")
@click.option(
    "--level",
    type=click.Choice(LEVELS, case_sensitive=False),
    help="Lines of the script's logger, of this level or above.",
)
@click.option("--path", help="This file, as --json lists them; sys/master_role.txt for one.")
@click.option("--search", metavar="TEXT", help="Lines of any log that contain TEXT.")
@click.option("--follow", is_flag=True, help="Go on until the job ends.")
def logs(
    *,
    job: str,
    node: str | None,
    process: str | None,
    attempt: int | None,
    stream: str | None,
    level: str | None,
    path: str | None,
    search: str | None,
    follow: bool,
    server: str | None,
    as_json: bool,
) -> int:
    """Print what the processes of JOB said.

    With --json, print the list of its log files.
    """
    choice = LogChoice(node, process, attempt, stream, level and level.upper(), path)
    client = connect(server)
    job_id = find_job_id(client, job)
    if search is not None:
        return _search(client, job_id, search, choice, as_json)
    reader = LogReader(client, job_id)
    if as_json:
        print_json({"items": reader.files(), "next": None})
        return DONE
    found = get_job(client, job_id)
    if _never_started(found):
        say(f"{found['name']}: {printable(str(found.get('reason')))}")
        say("no log: the process never started")
        return ENDED_BADLY
    if follow:
        return _follow(reader, choice)
    if not _print_all(reader, choice) and found["state"] == "FAILED":
        say(f"./prs show {job} says why the job failed.")
    return DONE


def _never_started(job: dict[str, Any]) -> bool:
    return job["state"] in ("FAILED", "CANCELLED") and job.get("started_at") is None


def _print_all(reader: LogReader, choice: LogChoice) -> bool:
    """Return whether there was a line to print."""
    sources = reader.sources(choice)
    if not sources:
        _say_what_there_is(reader, choice)
    has_said, is_terminal = False, sys.stdout.isatty()
    for source in sources:
        mark = f"{source.mark} | " if len(sources) > 1 else ""
        passes = LevelFilter(choice.level).passes
        for line in reader.read(source):
            if passes(line):
                print_result(mark + shown_line(line, is_terminal=is_terminal))
                has_said = True
    if sources and not has_said:
        say("Nothing was written there.")
    return has_said


def _say_what_there_is(reader: LogReader, choice: LogChoice) -> None:
    files = reader.files()
    if choice.path is not None:
        names = ", ".join(str(file["path"]) for file in files[:20]) or "none yet"
        names += f" and {len(files) - 20} more, listed by --json" if len(files) > 20 else ""
        raise CommandFailed(
            f"the job has no log {choice.path}; it has: {names}", code="not_found"
        )
    say("No process wrote anything that fits; --json lists the log files.")


def _follow(reader: LogReader, choice: LogChoice) -> int:
    is_terminal = sys.stdout.isatty()
    for source, line in reader.follow(choice):
        mark = "" if choice.path is not None else f"{source.mark} | "
        print_result(mark + shown_line(line, is_terminal=is_terminal))
    return DONE


def _search(client: Any, job_id: str, text: str, choice: LogChoice, as_json: bool) -> int:
    found = client.get(f"/jobs/{job_id}/logs/search", q=text, path=choice.path)
    if as_json:
        print_json(found)
        return DONE
    hits = found["items"] if isinstance(found, dict) else found
    shown = 0
    for hit in hits:
        if _is_chosen(str(hit["path"]), choice):
            print_result(f"{hit['path']}:{hit['line']}: {printable(str(hit['text']))}")
            shown += 1
    if not shown:
        say(f"No log has a line with {text}.")
    return DONE


def _is_chosen(path: str, choice: LogChoice) -> bool:
    parts = path.split("/")
    if choice.node is not None and choice.node not in parts:
        return False
    if choice.process is not None:
        number = choice.process.lower().removeprefix("process").removeprefix("p")
        name = f"process{int(number):03d}" if number.isdigit() else choice.process
        return any(part.startswith(name) for part in parts)
    return choice.stream is None or choice.stream in path
