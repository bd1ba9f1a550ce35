"""The lines of the files that the master role writes below ``logs/``. Pure.

Programs read these files: names, order and form are kept as the pages of
``docs/`` say. Times are UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from runner.core.estimate import Remaining
from runner.core.thresholds import Tally

RULE = "-" * 72


def hour_stamp(at: datetime) -> str:
    """``2026013109``, in file names whose largest stamp is the newest."""
    return at.strftime("%Y%m%d%H")


def overview_line(at: datetime, text: str) -> str:
    return f"{at.strftime('%Y-%m-%dT%H:%M:%S.%f')} {text}\n"


def clock(seconds: float) -> str:
    """``5:02:14``; hours as many as there are."""
    whole = int(max(0.0, seconds))
    return f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"


def system_line(at: datetime, level: str, pid: int, thread: int, text: str) -> str:
    stamp = at.strftime("%Y-%m-%d %H:%M:%S") + f",{at.microsecond // 1000:03d}"
    return f"{stamp}|{level}|{pid}|{thread}|{text}\n"


# --- overview ---------------------------------------------------------------------


def created_so_far(mini_batches: int, items: int) -> str:
    return f"{mini_batches} mini-batches with {items} items created so far."


def listing_ended(mini_batches: int, items: int, seconds: float) -> str:
    return f"Listing ended: {mini_batches} mini-batches with {items} items in {seconds:.3g} s."


def process_count(number: int) -> str:
    return f"{number} process{'' if number == 1 else 'es'}"


def node_joined(node: str, processes: int) -> str:
    return f"Node {node} joined with {process_count(processes)}."


def node_lost(node: str, gone_back: int) -> str:
    return f"Node {node} lost, {gone_back} mini-batches go back."


def node_gave_up(node: str, reason: str) -> str:
    return f"Node {node} gave up: {reason.rstrip('.')}."


def nothing_picked(reason: str) -> str:
    return f"No mini-batch picked yet: {reason}."


def nothing_ended(seconds: float, limit: float, busy: str) -> str:
    return f"Nothing has ended for {seconds:.0f} s of {limit:g} s: {busy}."


def progress(
    tally: Tally, *, items: int, seconds: float, remaining: Remaining | None, repeated: int
) -> str:
    left = "not known" if remaining is None else f"about {clock(remaining.middle)}"
    return (
        f"Processed {tally.ended} of {tally.created} mini-batches ({tally.failed} failed), "
        f"{tally.succeeded_items + tally.failed_items} of {items} items, in {clock(seconds)}; "
        f"remaining {left}; repeated tries {repeated}."
    )


def output_progress(done_percent: float, size_bytes: int) -> str:
    return f"Output: {done_percent:.0f} % of {size_bytes} bytes assembled."


# --- job_result.txt -----------------------------------------------------------------


@dataclass(frozen=True)
class FirstError:
    title: str
    mini_batch: int | None  # None: in init()
    try_number: int | None
    run_max_try: int
    node: str
    process: str  # process003
    has_user_log: bool = True  # the script's own error file tells it

    def __str__(self) -> str:
        where = "init()"
        if self.mini_batch is not None:
            where = f"mini-batch {self.mini_batch}, try {self.try_number} of {self.run_max_try}"
        return f"{self.title}; {where}, {self.process} on {self.node}"

    @property
    def log(self) -> str:
        folder = "user/error" if self.has_user_log else "sys/node"
        return f"logs/{folder}/{self.node}/{self.process}.txt"


@dataclass(frozen=True)
class OutputFacts:
    path: str  # as shown: output/parallel_run_step.txt
    rows: int
    size_bytes: int
    sha256: str

    def __str__(self) -> str:
        return f"{self.path}, {self.rows} rows, {self.size_bytes} bytes, sha256 {self.sha256}"


@dataclass(frozen=True)
class JobResult:
    """What ``job_result.txt`` says; None or "" leaves a line out."""

    status: str
    reason: str
    cause: str | None
    decided_by: str
    decided_at: datetime
    next_step: str
    first_error: FirstError | None
    look_at: str
    tally: Tally
    items: int
    tries: int
    repeated: int
    output: OutputFacts | None
    seconds: float
    listing_seconds: float
    warnings: Sequence[str] = ()

    def lines(self) -> list[str]:
        """Return ``Key: value`` a line, in the order that programs expect."""
        tally = self.tally
        not_run = max(0, tally.created - tally.ended)
        items_left = max(0, self.items - tally.succeeded_items - tally.failed_items)
        decided = self.decided_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        pairs = [
            ("Status", self.status),
            ("Reason", self.reason),
            ("Cause", self.cause),
            ("Decided by", f"{self.decided_by} at {decided}"),
            ("What to do next", self.next_step),
            ("First error", self.first_error and str(self.first_error)),
            ("Look at", self.look_at),
            (
                "Mini-batches",
                f"total {tally.created}, succeeded {tally.succeeded}, partial {tally.partial}, "
                f"failed {tally.failed}, not run {not_run}",
            ),
            (
                "Items",
                f"total {self.items}, succeeded {tally.succeeded_items}, "
                f"failed {tally.failed_items}, not run {items_left}",
            ),
            ("Tries", f"{self.tries} ({self.repeated} repeated)"),
            ("Output", self.output and str(self.output)),
            (
                "Duration",
                f"{clock(self.seconds)} (listing {clock(self.listing_seconds)})",
            ),
            ("Warnings", str(len(self.warnings)) if self.warnings else ""),
        ]
        lines = [f"{key}: {_one_line(value)}" for key, value in pairs if value]
        return lines + [f"- {_one_line(warning)}" for warning in self.warnings]

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines())

    def last_words(self) -> str:
        """Return the line that ends ``70_driver_log.txt``: status, reason, first error."""
        parts = [f"Status: {self.status}", f"Reason: {_one_line(self.reason)}"]
        if self.first_error is not None:
            parts.append(f"First error: {_one_line(str(self.first_error))}")
        return "; ".join(parts)


def _one_line(text: str) -> str:
    return " ".join(str(text).split())


# --- errors as text -------------------------------------------------------------------


@dataclass(frozen=True)
class GroupSummary:
    """One error group, as ``job_error.*.txt`` and ``user/error.txt`` show it."""

    title: str
    fingerprint: str
    place: str
    count: int
    mini_batch_count: int
    nodes: Sequence[str]
    first_at: datetime
    last_at: datetime
    traceback: str
    sample_mini_batches: Sequence[int]


def error_summary(groups: Iterable[GroupSummary], *, at: datetime) -> str:
    """Return the groups, largest first as given; empty text without any."""
    parts = []
    for number, group in enumerate(groups, 1):
        place = f" at {group.place}" if group.place else ""
        samples = ", ".join(str(index) for index in group.sample_mini_batches) or "none"
        parts.append(
            f"{RULE}\n{number}. {group.title}{place}\n"
            f"   {group.count} tries of {group.mini_batch_count} mini-batches on "
            f"{', '.join(group.nodes) or 'no node'}, group {group.fingerprint}\n"
            f"   first {_seconds(group.first_at)}, last {_seconds(group.last_at)}, "
            f"mini-batches: {samples}\n\n"
            f"{group.traceback.rstrip() or '(no traceback)'}\n"
        )
    if not parts:
        return ""
    return f"Errors by cause, as of {_seconds(at)}\n{''.join(parts)}"


def _seconds(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# --- reports as CSV --------------------------------------------------------------------

MINI_BATCH_COLUMNS = (
    "Mini-batch Id,Picked Count,Process,Process Start Time,Total,Succeeded,Failed,"
    "Elapsed Seconds,Process Seconds,Run Method Seconds,Status,Error Category,"
    "Error Message,Mini-batch Detail\n"
)
_ROW_HEAD = "Process,Pid,Start Time,End Time,End,"
_ROW_TAIL = (
    "Picked,Succeeded,Partial,Failed,Items,Items Succeeded,Items Failed,"
    "Process Seconds,Run Method Seconds\n"
)
PROCESS_COLUMNS = "Node," + _ROW_HEAD + _ROW_TAIL
NODE_COLUMNS = "Node,Processes,Start Time,End Time,End," + _ROW_TAIL
PROGRESS_COLUMNS = (
    "Datetime,Total Tasks,Scheduled Tasks,Completed Tasks,Failed Tasks,"
    "Elapsed Time,Estimated Remaining Time\n"
)


def csv_field(value: object) -> str:
    """Return one field, in quotes where it needs them; None is ``N/A``."""
    if value is None:
        return "N/A"
    text = str(value)
    if any(mark in text for mark in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def csv_line(values: Iterable[object]) -> str:
    return ",".join(map(csv_field, values)) + "\n"


def report_time(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")


def readme(job_id: str, name: str) -> str:
    rows = "".join(f"{path:<44} {what}\n" for path, what in LOG_TREE.items())
    return f"Logs of job {name} ({job_id}). Times are UTC.\n\n{rows}"


LOG_TREE: Mapping[str, str] = {
    "job_result.txt": "how the job ended, and what to do next",
    "job_progress_overview.<YYYYMMDDHH>.txt": "progress, the largest stamp is the newest",
    "job_error.<YYYYMMDDHH>.txt": "errors by cause, only when there are any",
    "azureml/70_driver_log.txt": "start: specification, nodes, every launch",
    "sys/master_role.txt": "listing, progress and decisions of the master role",
    "sys/error/<node or master>.txt": "exceptions of prsweb itself",
    "sys/node/<node>/<process>.txt": "each mini-batch picked and done by a process",
    "sys/node/<node>/<process>.stdout.txt": "file descriptor 1, also .stderr.txt",
    "sys/job_report/*.csv": "every try, every process, every node",
    "sys/metrics/<YYYYMMDDHH>/progress.csv": "progress as numbers",
    "user/error.txt": "summary of the script's errors",
    "user/error/<node>/<process>.txt": "every traceback of the script",
    "user/stdout/<node>/<process>.stdout.txt": "what the script printed",
    "user/stderr/<node>/<process>.stderr.txt": "what the script wrote to sys.stderr",
    "user/entry_script_log/<node>/<process>.log.txt": "EntryScript().logger",
    "perf/<node>/": "resources, every resource_monitor_interval seconds",
}
