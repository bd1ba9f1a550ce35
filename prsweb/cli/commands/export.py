"""``prs export``: a job as a job file."""

from __future__ import annotations

import click

from prsweb.cli.client import connect
from prsweb.cli.console import print_json, print_result, say
from prsweb.cli.job_reference import find_job_id, get_job
from prsweb.cli.shared_options import api_command, job_argument

FORMATS = {"yaml": "prsweb", "v1": "azure-v1", "v2": "azure-v2"}  # word -> its exporter


@api_command
@job_argument
@click.option(
    "--format",
    "file_format",
    type=click.Choice(list(FORMATS)),
    default="yaml",
    show_default=True,
    help="Our own file (yaml), or one of Azure (v1, v2).",
)
def export(*, job: str, file_format: str, server: str | None, as_json: bool) -> None:
    """Print JOB as a job file that can be submitted."""
    from prsweb.cli.job_file import spec_problems
    from runner.core.problems import InvalidSpec
    from runner.core.specs import export_spec, parse_spec

    client = connect(server)
    found = get_job(client, find_job_id(client, job))
    try:
        exported = export_spec(parse_spec(found["spec"]).spec, FORMATS[file_format])
    except InvalidSpec as invalid:
        raise spec_problems(invalid) from invalid
    for warning in exported.warnings:
        say(f"warning: {warning}")
    if as_json:
        print_json({"text": exported.text, "warnings": list(exported.warnings)})
    else:
        print_result(exported.text.rstrip())
