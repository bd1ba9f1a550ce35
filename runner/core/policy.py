"""What to do after a try has failed. Pure."""

from __future__ import annotations

from enum import Enum


class Verdict(Enum):
    RETRY = "retry"  # put the mini-batch back, any process may take it
    GIVE_UP = "give up"  # count it as failed, the job goes on
    LEAVE = "leave"  # neither: the job is being stopped


def after_failure(*, run_max_try: int, try_number: int, was_stopped: bool) -> Verdict:
    """Decide what follows a failed try.

    ``try_number`` counts from 1, the failed one included. A try that we stopped
    ourselves says nothing about its mini-batch, which then was not run.

    Source: ParallelRunConfig ``run_max_try`` (tries in all, not retries),
    https://learn.microsoft.com/python/api/azureml-pipeline-steps/azureml.pipeline.steps.parallelrunconfig
    """
    if was_stopped:
        return Verdict.LEAVE
    return Verdict.RETRY if try_number < run_max_try else Verdict.GIVE_UP
