"""What orchestrator and nodes tell each other, beside leases and blocks.

Every value is a frozen dataclass that becomes JSON and comes back equal.
``from_json`` raises MalformedMessage on anything else: a message may come
from a stranger or another version, and is then logged and dropped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Self


class MalformedMessage(ValueError):
    """The bytes are no message of the expected kind."""


@dataclass(frozen=True)
class Message:
    """Base: plain JSON members, one a field; unknown members are ignored."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_json(self) -> bytes:
        return json.dumps(self.to_dict(), separators=(",", ":")).encode()

    @classmethod
    def from_dict(cls, raw: Any) -> Self:
        if not isinstance(raw, Mapping):
            raise MalformedMessage(f"{cls.__name__}: not an object")
        known = {member.name for member in fields(cls)}
        try:
            return cls(**{key: raw[key] for key in raw if key in known})
        except TypeError as error:
            raise MalformedMessage(f"{cls.__name__}: {error}") from None

    @classmethod
    def from_json(cls, line: bytes | str) -> Self:
        try:
            return cls.from_dict(json.loads(line))
        except ValueError as error:
            raise MalformedMessage(f"{cls.__name__}: {error}") from None


@dataclass(frozen=True)
class Assignment(Message):
    """What a node is given to run: its part in one attempt of one job.

    The specification itself stands in ``spec.json`` of the job folder.
    """

    job_id: str
    job_number: int
    kind: str  # JobKind
    attempt: int  # from 1
    number: int  # of the assignment, from 1, unique within the job
    node_name: str
    node_index: int  # within the job, from 0
    boot_id: str  # of the node when it was granted; another one refuses
    folder: str  # absolute path of the job folder
    node_count: int
    main_node: int = 0
    is_main_address: str = ""  # main node's address; first node granted for ParallelRunStep
    process_count: int = 1  # worker processes on this node
    first_process: int = 0  # number of the first one; a node's numbers are never used twice
    gpus: int = 0
    vcpus: int = 1
    memory_mib: int = 1024
    addresses: tuple[str, ...] = ()  # by node index, multi-node only
    queue: str = "default"
    environment: str = "default"  # compute environment


@dataclass(frozen=True)
class NodeBeat(Message):
    """A node's sign of life, every second."""

    name: str
    boot_id: str  # drawn at every start of the node's Celery worker
    address: str
    host: str
    location: str
    environment: str | None
    instance_type: str | None
    vcpus: int
    memory_mib: int
    gpus: int
    version: str
    started_at: float  # seconds since 1970, the node's own clock
    simulated: bool = True
    assignment: int | None = None
    job_id: str | None = None
    cpu_percent: float | None = None
    memory_percent: float | None = None


@dataclass(frozen=True)
class StampedBeat:
    """A beat as read back, with the server's time of its arrival."""

    beat: NodeBeat
    at: float  # seconds since 1970, the Redis server's clock

    @classmethod
    def parse(cls, value: bytes) -> StampedBeat:
        """Read ``AT JSON`` as the beat script wrote it."""
        at, _, line = value.partition(b" ")
        try:
            return cls(NodeBeat.from_json(line), float(at))
        except ValueError as error:
            raise MalformedMessage(f"beat: {error}") from None


@dataclass(frozen=True)
class LiveProcess:
    """One cell of the process strip."""

    number: int
    phase: str  # one of wire.PHASE_NAMES, or "died"
    mini_batch: int | None
    since_seconds: float  # in this phase
    done: int
    rss_bytes: int | None
    pid: int | None
    gpu: int | None = None


@dataclass(frozen=True)
class LiveNode(Message):
    """What the processes of one node do now; published about twice a second."""

    node_name: str
    node_index: int
    at: float  # seconds since 1970
    processes: tuple[LiveProcess, ...] = ()

    @classmethod
    def from_dict(cls, raw: Any) -> Self:
        live = super().from_dict(raw)
        try:
            processes = tuple(LiveProcess(**one) for one in live.processes)  # type: ignore[arg-type]
        except TypeError as error:
            raise MalformedMessage(f"LiveNode: {error}") from None
        return cls(live.node_name, live.node_index, live.at, processes)


# --- reports: JSON entries of a job's report list, between the blocks ---------


@dataclass(frozen=True)
class Report(Message):
    """Base of what a node reports about an assignment, with its own clock."""

    type: ClassVar[str]
    assignment: int
    node_index: int
    at: float  # seconds since 1970

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type, **asdict(self)}


@dataclass(frozen=True)
class NodeJoined(Report):
    type: ClassVar[str] = "node_joined"
    process_count: int = 0


@dataclass(frozen=True)
class NodeRefused(Report):
    """The node does not take the assignment, or gives it up; it holds nothing."""

    type: ClassVar[str] = "node_refused"
    reason: str = ""
    cause: str = ""  # a cause of the job's page: side_input_missing, environment_failed, …


@dataclass(frozen=True)
class ProcessStarted(Report):
    type: ClassVar[str] = "process_started"
    process: int = 0
    pid: int = 0
    segment: str = ""  # file name below segments/
    gpu: int | None = None


@dataclass(frozen=True)
class ProcessReady(Report):
    """Import and init() are done."""

    type: ClassVar[str] = "process_ready"
    process: int = 0
    init_seconds: float = 0.0


@dataclass(frozen=True)
class InitFailed(Report):
    type: ClassVar[str] = "init_failed"
    process: int = 0
    init_seconds: float = 0.0
    invalid_script: bool = False  # no run(), a syntax error: no further process helps
    error: Mapping[str, Any] = field(default_factory=dict)  # wire.ERROR


@dataclass(frozen=True)
class ProcessEnded(Report):
    """``end`` in words: ``ended``, ``exit code 3``, ``killed by signal 9 (SIGKILL)``."""

    type: ClassVar[str] = "process_ended"
    process: int = 0
    end: str = ""
    exit_code: int | None = None
    signal: int | None = None
    expected: bool = False  # asked to end
    peak_rss_bytes: int | None = None


@dataclass(frozen=True)
class MetricLogged(Report):
    type: ClassVar[str] = "metric"
    process: int = 0
    name: str = ""
    value: Any = None


@dataclass(frozen=True)
class WarningRaised(Report):
    type: ClassVar[str] = "warning"
    process: int = 0
    code: str = ""
    text: str = ""
    mini_batch: int | None = None


@dataclass(frozen=True)
class SamplesTaken(Report):
    """Resource samples of one moment.

    Each row: ``[process or null for the node, cpu percent, rss bytes, own bytes
    or null, threads, read bytes, written bytes, sent bytes, received bytes, open
    files or null]``; what cannot be had is null.
    """

    type: ClassVar[str] = "samples"
    rows: tuple[tuple[Any, ...], ...] = ()


@dataclass(frozen=True)
class CommandStarted(Report):
    """A multi-node job's process exists: exec has succeeded."""

    type: ClassVar[str] = "command_started"
    pid: int = 0


@dataclass(frozen=True)
class CommandEnded(Report):
    """Read from the real process; all that it started is gone too."""

    type: ClassVar[str] = "command_ended"
    exit_code: int | None = None  # 128 + signal when killed; null: never executed
    signal: int | None = None
    reason: str = ""  # "CannotStartContainerError: …" when never executed
    stopped: bool = False  # ended because we asked


@dataclass(frozen=True)
class AssignmentEnded(Report):
    """No process of the assignment is left; nothing more follows."""

    type: ClassVar[str] = "assignment_ended"
    reason: str = ""


REPORT_TYPES: Mapping[str, type[Report]] = {
    kind.type: kind
    for kind in (
        NodeJoined,
        NodeRefused,
        ProcessStarted,
        ProcessReady,
        InitFailed,
        ProcessEnded,
        MetricLogged,
        WarningRaised,
        SamplesTaken,
        CommandStarted,
        CommandEnded,
        AssignmentEnded,
    )
}


def parse_report(line: bytes) -> Report:
    """Return the report that ``line`` holds, or raise MalformedMessage."""
    try:
        raw = json.loads(line)
    except ValueError as error:
        raise MalformedMessage(f"report: {error}") from None
    kind = REPORT_TYPES.get(str(raw.get("type"))) if isinstance(raw, dict) else None
    if kind is None:
        raise MalformedMessage(f"report of unknown type: {line[:80]!r}")
    return kind.from_dict(raw)


# --- orders: JSON entries of an assignment's control list ---------------------------


@dataclass(frozen=True)
class Order(Message):
    """What the master role asks of a node's assignment.

    ``wake``: there may be something to lease; ask now.
    ``end``: the job's work is done: processes run shutdown() and leave.
    ``stop``: processes get SIGTERM, after ``grace_seconds`` SIGKILL.
    """

    action: str  # wake | end | stop
    grace_seconds: float = 10.0
    reason: str = ""
