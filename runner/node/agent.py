"""The node agent: what a node does with an assignment it is sent."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import redis

from runner.core.layout import JobFolder
from runner.core.messages import (
    Assignment,
    AssignmentEnded,
    MalformedMessage,
    NodeRefused,
    Report,
)
from runner.core.redis_keys import JobKeys
from runner.core.states import JobKind
from runner.node.command_assignment import run_command_assignment
from runner.node.environments import BuildStopped, EnvironmentFailed
from runner.node.interpreter import NoInterpreter
from runner.node.journal import Journal, JournalExists
from runner.node.leftovers import Leftovers
from runner.node.redis_link import connect
from runner.node.step_assignment import run_step_assignment
from runner.node.step_spec import SpecUnreadable
from runner.node.this_node import ThisNode, get_this_node

logger = logging.getLogger(__name__)

Runner = Callable[[ThisNode, Assignment, Journal, Leftovers], None]
RUNNERS: Mapping[str, Runner] = {
    JobKind.PARALLEL_RUN_STEP: run_step_assignment,
    JobKind.MULTI_NODE: run_command_assignment,
    JobKind.COMMAND: run_command_assignment,
}


class AssignmentRefused(Exception):
    """The message is not for this node as it runs now; somebody else saw to it."""


def run(raw: dict[str, Any]) -> None:
    """Work on an assignment until nothing of it is left.

    Raises AssignmentRefused for one that was meant for another node or an
    earlier start of this one, that was delivered before, or that is over.
    """
    node = get_this_node()
    assignment = claim(node, raw)
    folder = JobFolder(Path(assignment.folder))
    try:
        journal = Journal(folder.journal(assignment.node_name, assignment.number))
    except JournalExists as exists:
        raise AssignmentRefused(f"{exists} is there already: it was begun before") from None
    except OSError as error:
        _report_refusal(node, assignment, f"the job folder cannot be written: {error}")
        return
    _work(node, assignment, folder, journal)


def claim(node: ThisNode, raw: dict[str, Any]) -> Assignment:
    """Return the assignment, or raise AssignmentRefused with the reason."""
    try:
        assignment = Assignment.from_dict(raw)
    except MalformedMessage as malformed:
        raise AssignmentRefused(str(malformed)) from None
    settings = node.settings
    if assignment.node_name != settings.name or assignment.boot_id != node.boot_id:
        raise AssignmentRefused(
            f"meant for node {assignment.node_name} as of boot {assignment.boot_id}; "
            f"this is {settings.name}, boot {node.boot_id}"
        )
    if assignment.kind not in RUNNERS:
        raise AssignmentRefused(f"kind {assignment.kind!r} is not known")
    if node.stop.is_set():
        raise AssignmentRefused("the node is being stopped")
    key = (assignment.job_id, assignment.number)
    if key in node.begun:
        raise AssignmentRefused("it was begun before")
    if _is_revoked(node, assignment):
        # Whoever waits for this node to end must not wait in vain.
        _tell(node, assignment, AssignmentEnded(*_head(assignment), reason="never begun"))
        raise AssignmentRefused("it is over")
    node.begun.add(key)
    return assignment


def _is_revoked(node: ThisNode, assignment: Assignment) -> bool:
    try:
        with connect(node.settings.redis_url) as link:
            revoked = JobKeys(assignment.job_id).revoked
            return bool(link.sismember(revoked, str(assignment.number)))
    except redis.RedisError:
        return False  # the first exchange will tell


def _work(node: ThisNode, assignment: Assignment, folder: JobFolder, journal: Journal) -> None:
    logger.info(
        "job %s attempt %d assignment %d: begun",
        assignment.job_id,
        assignment.attempt,
        assignment.number,
    )
    node.assignment = assignment
    leftovers = Leftovers(assignment)
    try:
        RUNNERS[assignment.kind](node, assignment, journal, leftovers)
    except BuildStopped:
        _tell(node, assignment, AssignmentEnded(*_head(assignment), reason="stopped"))
    except (NoInterpreter, EnvironmentFailed) as error:
        _report_refusal(node, assignment, str(error), cause="environment_failed")
    except SpecUnreadable as error:
        _report_refusal(node, assignment, str(error), cause="system_error")
    except OSError as error:
        logger.exception("assignment %d failed", assignment.number)
        _report_refusal(node, assignment, str(error), cause="output_not_writable")
    except Exception as error:
        # The boundary of the process: whatever it was ends in a report.
        logger.exception("assignment %d failed", assignment.number)
        _note_system_error(folder, assignment)
        _report_refusal(node, assignment, f"error of prsweb: {error!r}", cause="system_error")
    finally:
        leftovers.end()
        journal.close()
        node.assignment = None
        logger.info("job %s assignment %d: ended", assignment.job_id, assignment.number)


def _report_refusal(
    node: ThisNode, assignment: Assignment, reason: str, *, cause: str = "output_not_writable"
) -> None:
    """Say that the node gives the assignment up, outside any exchange."""
    logger.error("assignment %d given up: %s", assignment.number, reason)
    head = _head(assignment)
    _tell(
        node,
        assignment,
        NodeRefused(*head, reason=reason, cause=cause),
        AssignmentEnded(*head, reason=reason),
    )


def _head(assignment: Assignment) -> tuple[int, int, float]:
    return assignment.number, assignment.node_index, time.time()


def _tell(node: ThisNode, assignment: Assignment, *reports: Report) -> None:
    keys = JobKeys(assignment.job_id)
    try:
        with connect(node.settings.redis_url) as link:
            link.rpush(keys.reports, *(report.to_json() for report in reports))
    except redis.RedisError:
        logger.exception("the end could not be told; the node goes without a word")


def _note_system_error(folder: JobFolder, assignment: Assignment) -> None:
    path = folder.system_errors / f"{assignment.node_name}.txt"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())}\n")
            file.write(traceback.format_exc() + "\n")
    except OSError:
        logger.exception("%s cannot be written", path)
