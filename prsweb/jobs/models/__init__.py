"""The tables. One file a subject."""

from prsweb.jobs.models.errors import ErrorGroup
from prsweb.jobs.models.job import Attempt, Job, JobEvent, JobMetric
from prsweb.jobs.models.mini_batch import MiniBatch, MiniBatchTry
from prsweb.jobs.models.nodes import ComputeEnvironment, JobQueue, Node, OrchestratorLease
from prsweb.jobs.models.participation import JobNode, JobProcess
from prsweb.jobs.models.sample import Sample

__all__ = [
    "Attempt",
    "ComputeEnvironment",
    "ErrorGroup",
    "Job",
    "JobEvent",
    "JobMetric",
    "JobNode",
    "JobProcess",
    "JobQueue",
    "MiniBatch",
    "MiniBatchTry",
    "Node",
    "OrchestratorLease",
    "Sample",
]
