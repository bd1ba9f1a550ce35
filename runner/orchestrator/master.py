"""The master role: lead one job until it has ended or another must."""

from __future__ import annotations

import logging
import threading

import redis
from django.conf import settings
from django.db import DatabaseError, connection

from prsweb.jobs.models import Job
from prsweb.jobs.services.master_lease import MasterLeaseLost, release_master_lease
from prsweb.jobs.services.scheduling import fail_job
from prsweb.jobs.transitions import StaleState
from runner.core.states import JobKind
from runner.orchestrator.job_logs import JobLogs
from runner.orchestrator.redis_link import connect
from runner.orchestrator.step_master import StepMaster

logger = logging.getLogger(__name__)

# Set when this orchestrator ends: masters give their leases back, jobs go on.
stopping = threading.Event()


def lead_job(job: Job, owner: str) -> None:
    """Lead ``job``, whose master lease ``owner`` has just taken."""
    logger.info("job %d: led here", job.pk)
    client = connect()
    try:
        if job.kind == JobKind.PARALLEL_RUN_STEP:
            StepMaster(job, owner, client, stopping).lead()
        else:
            from runner.orchestrator.gang import lead_gang

            lead_gang(job, owner, client, stopping)
    except (MasterLeaseLost, StaleState) as lost:
        logger.warning("job %d: no longer led here: %s", job.pk, lost)
    except (redis.RedisError, DatabaseError) as error:
        # What the job needs is away, not the job at fault: led again in some seconds.
        logger.exception("job %d: given back", job.pk)
        _logs(job).system_error(error)
    except Exception as error:
        logger.exception("job %d: the master role failed", job.pk)
        _fail(job, owner, error)
    finally:
        _give_back(job, owner)
        client.close()
        connection.close()


def _fail(job: Job, owner: str, error: Exception) -> None:
    """End the job with what went wrong in prsweb, rather than fail again for ever."""
    _logs(job).system_error(error)
    try:
        fail_job(job, f"prsweb itself failed: {error!r}", cause="system_error", owner=owner)
    except (StaleState, DatabaseError) as failed:
        logger.warning("job %d: not failed here: %s", job.pk, failed)


def _give_back(job: Job, owner: str) -> None:
    try:
        release_master_lease(job, owner)
    except DatabaseError as error:
        logger.warning("job %d: lease not given back: %s", job.pk, error)


def _logs(job: Job) -> JobLogs:
    return JobLogs(settings.PRSWEB_HOME.job(job.job_id), take_over=job.take_overs)
