"""What the server itself lacks, told in the form that it keeps from working."""

from __future__ import annotations

from prsweb.jobs.services.submission import JobCheck
from runner.core.problems import Problem


def check_of_files(error: OSError) -> JobCheck:
    """Return a check whose one problem is the server's: no room, no right to its folders."""
    said = error.strerror or str(error)
    problem = Problem("", f"the server cannot work with its files: {said}")
    return JobCheck(None, (), (problem,))
