"""The strip of processes: one cell each, grouped by node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from django.utils import timezone

from prsweb.jobs.models import Job
from prsweb.jobs.selectors.process_counts import ProcessCounts, process_count, process_counts
from prsweb.jobs.selectors.processes import STRIP_CELLS, ProcessView, job_processes

NODE_ROWS = 100

# Phase of a worker process -> (style of its cell, word).
PHASES: dict[str, tuple[str, str]] = {
    "starting": ("starting", "starting"),
    "init": ("starting", "in init()"),
    "idle": ("idle", "waiting for work"),
    "load": ("running", "loading"),
    "run": ("running", "in run()"),
    "write": ("running", "writing"),
    "written": ("running", "writing"),
    "shutdown": ("ended", "shutting down"),
    "ended": ("ended", "ended"),
    "died": ("failed", "died"),
    "lost": ("lost", "lost"),
}


@dataclass(frozen=True)
class Cell:
    """One process."""

    process: ProcessView
    look: str
    phase: str

    @property
    def element_id(self) -> str:
        return f"cell-{self.process.node_index}-{self.process.number}"

    @property
    def short_name(self) -> str:
        return f"{self.process.node}/p{self.process.number:02d}"

    @property
    def log_path(self) -> str:
        name = self.process.name.rpartition("/")[2]
        return f"sys/node/{self.process.node}/{name}.txt"

    @property
    def seconds_in_phase(self) -> float | None:
        if self.process.since_at is None or self.process.ended_at is not None:
            return None
        return max(0.0, (timezone.now() - self.process.since_at).total_seconds())


@dataclass(frozen=True)
class PhaseCount:
    look: str
    word: str
    count: int


@dataclass(frozen=True)
class NodeRow:
    """The processes of one node."""

    node: str
    cells: tuple[Cell, ...]  # none when folded
    counts: tuple[PhaseCount, ...]


@dataclass(frozen=True)
class Strip:
    rows: tuple[NodeRow, ...]
    counts: tuple[PhaseCount, ...]  # over all nodes: the legend
    is_folded: bool  # more than 400 processes: counts per node instead of cells
    more_nodes: int = 0  # beyond the rows


def strip_of(job: Job) -> Strip:
    """Return the processes of a job by node; nodes without a process have no row.

    Two queries when folded, four else.
    """
    if process_count(job) > STRIP_CELLS:
        return _folded_strip(process_counts(job))
    by_node: dict[str, list[Cell]] = {}
    for process in job_processes(job):
        look, phase = PHASES.get(process.state, ("waiting", process.state))
        by_node.setdefault(process.node, []).append(Cell(process, look, phase))
    rows = tuple(
        NodeRow(node, tuple(cells), _counts_of(cells)) for node, cells in by_node.items()
    )
    return Strip(rows, _counts_of(cell for row in rows for cell in row.cells), False)


def _folded_strip(counts: list[ProcessCounts]) -> Strip:
    rows = tuple(NodeRow(one.node, (), _folded_counts([one])) for one in counts[:NODE_ROWS])
    return Strip(rows, _folded_counts(counts), True, len(counts) - len(rows))


def _folded_counts(counts: Iterable[ProcessCounts]) -> tuple[PhaseCount, ...]:
    found: Counter[tuple[str, str]] = Counter()
    for one in counts:
        found["starting", "in init()"] += one.starting
        found["running", "working"] += one.working
        found["ended", "ended"] += one.ended
        found["failed", "died"] += one.died
    return tuple(PhaseCount(*kind, count) for kind, count in found.items() if count)


def _counts_of(cells: Iterable[Cell]) -> tuple[PhaseCount, ...]:
    found = Counter((cell.look, cell.phase) for cell in cells)
    order = dict.fromkeys(PHASES.values())
    return tuple(PhaseCount(*kind, found[kind]) for kind in order if kind in found)
