"""The strip of processes: one cell each, grouped by node."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.utils import timezone

from prsweb.jobs.models import Job
from prsweb.jobs.selectors.processes import STRIP_CELLS, ProcessView, job_processes

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
class NodeRow:
    """The processes of one node."""

    node: str
    cells: tuple[Cell, ...]  # none when folded
    counts: tuple[tuple[str, str, int], ...]  # look, word, how many


@dataclass(frozen=True)
class Strip:
    rows: tuple[NodeRow, ...]
    counts: tuple[tuple[str, str, int], ...]  # over all nodes: the legend
    process_count: int
    is_folded: bool  # more than 400: counts per node instead of cells


def strip_of(job: Job) -> Strip:
    """Return the processes of a job by node; nodes without a process have no row."""
    processes = job_processes(job)
    is_folded = len(processes) > STRIP_CELLS
    by_node: dict[str, list[Cell]] = {}
    for process in processes:
        look, phase = PHASES.get(process.state, ("waiting", process.state))
        by_node.setdefault(process.node, []).append(Cell(process, look, phase))
    rows = tuple(
        NodeRow(node, () if is_folded else tuple(cells), _counts(cells))
        for node, cells in by_node.items()
    )
    everything = [cell for cells in by_node.values() for cell in cells]
    return Strip(rows, _counts(everything), len(processes), is_folded)


def _counts(cells: list[Cell]) -> tuple[tuple[str, str, int], ...]:
    found = Counter((cell.look, cell.phase) for cell in cells)
    order = dict.fromkeys(PHASES.values())
    return tuple((*kind, found[kind]) for kind in order if kind in found)
