"""What the pieces of one master role share."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

import redis

from prsweb.jobs.models import Job
from prsweb.jobs.services.master_lease import renew_master_lease
from runner.core.layout import JobFolder
from runner.core.run_settings import StepSettings
from runner.orchestrator.events import Events
from runner.orchestrator.job_logs import JobLogs
from runner.orchestrator.lease_queue import LeaseQueue

RENEW_SECONDS = 5.0


@dataclass
class Every:
    """Says once in so many seconds that it is time."""

    seconds: float
    _next: float = 0.0

    def is_due(self, now: float) -> bool:
        if now < self._next:
            return False
        self._next = now + self.seconds
        return True


@dataclass
class JobContext:
    job: Job
    owner: str
    client: redis.Redis
    stop: threading.Event  # set when this orchestrator ends
    folder: JobFolder
    settings: StepSettings
    logs: JobLogs
    queue: LeaseQueue
    events: Events
    kinds: set[str] = field(default_factory=set)  # facts to be published
    renewal: Every = field(default_factory=lambda: Every(RENEW_SECONDS))

    def keep_leading(self) -> None:
        """Renew the master lease when that is due, or raise MasterLeaseLost."""
        if self.renewal.is_due(time.monotonic()):
            renew_master_lease(self.job, self.owner)

    def prove_leading(self) -> None:
        """Renew the master lease at once, or raise MasterLeaseLost: before a step that
        a master which has slept too long must not take."""
        renew_master_lease(self.job, self.owner)

    def publish(self) -> None:
        """Tell pages what has changed since the last time."""
        if self.kinds:
            self.events.publish(self.job.job_id, *sorted(self.kinds))
            self.kinds.clear()
