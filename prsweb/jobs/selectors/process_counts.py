"""How many processes each node of a job has, for jobs with too many to show each."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Min, Q

from prsweb.jobs.models import Job, JobProcess


@dataclass(frozen=True)
class ProcessCounts:
    """The processes of one node by what the database knows of them."""

    node: str
    starting: int  # in init(), or before it
    working: int
    ended: int  # as asked
    died: int


def process_count(job: Job) -> int:
    return JobProcess.objects.filter(job_id=job.pk).count()


def process_counts(job: Job) -> list[ProcessCounts]:
    """Return the counts in the order of the nodes' indexes. One query."""
    ended = Q(ended_at__isnull=False)
    ready = Q(ready_at__isnull=False)
    rows = (
        JobProcess.objects.filter(job_id=job.pk)
        .values("node_name")
        .annotate(
            first_index=Min("node_index"),
            starting=Count("pk", filter=~ended & ~ready),
            working=Count("pk", filter=~ended & ready),
            as_asked=Count("pk", filter=ended & Q(expected_end=True)),
            died=Count("pk", filter=ended & Q(expected_end=False)),
        )
        .order_by("first_index", "node_name")
    )
    return [
        ProcessCounts(
            row["node_name"], row["starting"], row["working"], row["as_asked"], row["died"]
        )
        for row in rows
    ]
