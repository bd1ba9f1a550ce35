"""How far a ParallelRunStep job is, from the counters on its row."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from prsweb.jobs.models import Job
from prsweb.jobs.selectors.jobs import has_ended


@dataclass(frozen=True)
class JobProgress:
    """Mini-batches by state. waiting + running + retrying + succeeded + partial +
    failed + not_run is always ``created``."""

    listing: bool  # the input is still being listed: created grows
    created: int
    waiting: int
    running: int
    retrying: int
    succeeded: int
    partial: int
    failed: int
    not_run: int  # the job ended first
    taken_over: int  # of the succeeded: results of the job it was resubmitted from
    items: int
    remaining_items: int
    done_percent: float  # 0.0 to 100.0; a job without mini-batches is at 0
    remaining_seconds: float | None
    remaining_seconds_low: float | None
    remaining_seconds_high: float | None
    updated_at: datetime | None

    @property
    def done(self) -> int:
        """Mini-batches with their final outcome."""
        return self.succeeded + self.partial + self.failed


def job_progress(job: Job) -> JobProgress:
    """Return the progress as the recorder last wrote it. No query.

    Running and retrying are told by nodes a moment after the rest is recorded,
    so they give way where the sum would be more than was created.
    """
    done = job.succeeded_count + job.partial_count + job.failed_count
    created = max(job.mini_batches_created, done)
    left = created - done
    ended = has_ended(job)
    running = 0 if ended else min(job.running_count, left)
    retrying = 0 if ended else min(job.retrying_count, left - running)
    items_done = job.succeeded_items + job.failed_items
    return JobProgress(
        listing=job.is_listing and not ended,
        created=created,
        waiting=0 if ended else left - running - retrying,
        running=running,
        retrying=retrying,
        succeeded=job.succeeded_count,
        partial=job.partial_count,
        failed=job.failed_count,
        not_run=left if ended else 0,
        taken_over=job.taken_over_count,
        items=max(job.items_created, items_done),
        remaining_items=max(0, job.items_created - items_done),
        done_percent=round(100 * done / created, 2) if created else 0.0,
        remaining_seconds=None if ended else job.remaining_seconds,
        remaining_seconds_low=None if ended else job.remaining_seconds_low,
        remaining_seconds_high=None if ended else job.remaining_seconds_high,
        updated_at=job.progress_at,
    )


def azure_metrics(progress: JobProgress, failed_items: int) -> dict[str, int]:
    """Return the numbers under the names that Azure's users know."""
    return {
        "Total MiniBatches": progress.created,
        "Total Items": progress.items,
        "Failed Items": failed_items,
        "Processed MiniBatches": progress.done,
        "Remaining MiniBatches": progress.created - progress.done,
        "Remaining Items": progress.remaining_items,
    }
