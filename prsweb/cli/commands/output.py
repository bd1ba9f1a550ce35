"""``prs output``: where the result lies, or the result itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from prsweb.cli.client import ApiClient, connect, segment
from prsweb.cli.console import print_json, print_result, say
from prsweb.cli.failure import CommandFailed
from prsweb.cli.job_reference import find_job_id, get_job
from prsweb.cli.shared_options import api_command, job_argument


@api_command
@job_argument
@click.option(
    "--download",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Copy the files of the output folder into FOLDER.",
)
def output(*, job: str, download: Path | None, server: str | None, as_json: bool) -> None:
    """Print the path of the output of JOB."""
    client = connect(server)
    job_id = find_job_id(client, job)
    found = client.get(f"/jobs/{segment(job_id)}/outputs")
    if download is not None:
        _download(client, job_id, found["files"], download)
    if as_json:
        print_json(found)
        return
    path = found["output"] or found["output_folder"]
    if download is not None and found["output"]:
        path = download / Path(found["output"]).name
    print_result(str(path))
    if found["output"] is None:
        say(_why_no_file(get_job(client, job_id)))


def _why_no_file(job: dict[str, Any]) -> str:
    if job["kind"] == "parallel_run_step" and job["state"] in ("FAILED", "CANCELLED"):
        return "The job wrote no output file, as it did not succeed; this is its output folder."
    if job["kind"] == "parallel_run_step" and job["state"] != "SUCCEEDED":
        return "There is no output file yet; this is the output folder."
    return "The job has no output file of its own; this is its output folder."


def _download(
    client: ApiClient, job_id: str, files: list[dict[str, Any]], folder: Path
) -> None:
    root = folder.resolve()
    for file in files:
        target = (root / file["path"]).resolve()
        if not target.is_relative_to(root):
            raise CommandFailed(f"the server names a file outside the folder: {file['path']}")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_name(f"{target.name}.part")
            with part.open("wb") as out:
                for block in client.download(
                    f"/jobs/{segment(job_id)}/outputs/raw", path=file["path"]
                ):
                    out.write(block)
            part.replace(target)
        except OSError as error:
            raise CommandFailed(f"{target} cannot be written: {error.strerror}") from error
        say(f"{target} ({file['bytes']} bytes)")
