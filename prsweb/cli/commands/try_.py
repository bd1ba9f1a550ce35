"""``prs try``: an entry script over the first mini-batches, without a server."""

from __future__ import annotations

from pathlib import Path

import click

from prsweb.cli.console import print_json, print_result, say
from prsweb.cli.failure import DONE, ENDED_BADLY
from prsweb.cli.shared_options import set_option


@click.command("try")
@click.argument("script", type=click.Path(path_type=Path), metavar="SCRIPT")
@click.option(
    "--input",
    "input_path",
    metavar="PATH",
    help="File, folder or glob to take the items from; of a job file: in place of its "
    "first input.",
)
@click.option(
    "--mini-batches",
    "count",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="How many: the first of 1 item, the second of 2, further ones of mini_batch_size.",
)
@set_option
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as one JSON value.")
def try_(
    *,
    script: Path,
    input_path: str | None,
    count: int,
    settings: tuple[str, ...],
    as_json: bool,
) -> int:
    """Run SCRIPT, an entry script or a job file, over its first mini-batches.

    The same way as in a job: copy of the code, arguments, limits, counting, rows. Each
    mini-batch has one try; files written to the output folder are not kept.
    """
    from prsweb.cli.submission import read_settings
    from prsweb.cli.trial import started_trial
    from prsweb.cli.trial_job import read_trial_job
    from prsweb.cli.trial_outcome import TrialOutcome
    from prsweb.cli.trial_text import event_text

    job = read_trial_job(script, input_path, read_settings(settings))
    for warning in job.warnings:
        say(f"warning: {warning}")
    outcome = TrialOutcome(is_summary_only=job.is_summary_only)
    with started_trial(job, count) as events:
        for event in events:
            outcome.add(event)
            text = event_text(event)
            if text:
                say(text) if as_json else print_result(text)
    print_json(outcome.to_json()) if as_json else print_result(outcome.summary)
    return DONE if outcome.is_good else ENDED_BADLY
