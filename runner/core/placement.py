"""Which job gets which nodes, and why the others wait. Pure.

Order: queue priority, then submission. A multi-node job starts on all its
nodes at once; a ParallelRunStep job with the first free one, and grows. A job
that must wait keeps its place: the free nodes that it will need are held back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class PlacedNode:
    """A node as placement sees it; those that are lost are not among them."""

    name: str
    environment: str | None  # None: every one
    holder: str | None = None  # "job NAME" that holds it
    is_taking: bool = True  # false while it is draining or late


@dataclass(frozen=True)
class Demand:
    """A job that waits, or that may grow."""

    number: int
    name: str
    queue: str
    priority: int
    order: tuple[float, int]  # submission, number
    wanted: int  # nodes in all
    held: int = 0  # nodes it has
    is_gang: bool = False
    is_started: bool = False  # it grows; nobody waits for it
    environments: tuple[str, ...] = ()
    refused_by: frozenset[str] = frozenset()  # nodes it is not placed on again

    @property
    def missing(self) -> int:
        return max(0, self.wanted - self.held)

    def may_use(self, node: PlacedNode) -> bool:
        if node.name in self.refused_by:
            return False
        return node.environment is None or node.environment in self.environments


@dataclass
class Placement:
    grants: dict[int, list[str]] = field(default_factory=dict)  # job number -> node names
    reasons: dict[int, str] = field(default_factory=dict)  # of those that wait


def place_jobs(demands: Sequence[Demand], nodes: Sequence[PlacedNode]) -> Placement:
    """Return what each job is granted now; every job that starts nowhere has a reason."""
    placement = Placement()
    free = [node for node in nodes if node.holder is None and node.is_taking]
    positions: dict[str, int] = {}
    for demand in sorted(demands, key=lambda one: (-one.priority, one.order)):
        usable = [node for node in free if demand.may_use(node)]
        enough = demand.missing if demand.is_gang else 1
        reachable = sum(demand.may_use(node) for node in nodes)
        can_start = len(usable) >= enough and demand.missing > 0
        if can_start:
            taken = usable[: demand.missing]
            names = [node.name for node in taken]
            placement.grants[demand.number] = names
            free = [node for node in free if node not in taken]
            nodes = [_held(node, demand) if node.name in names else node for node in nodes]
            continue
        if demand.is_started:
            continue
        positions[demand.queue] = positions.get(demand.queue, 0) + 1
        placement.reasons[demand.number] = _reason(
            demand, nodes, len(usable), reachable, positions[demand.queue]
        )
        if reachable >= enough:  # else it would hold back nodes for ever
            free = [node for node in free if node not in usable[: demand.missing]]
    return placement


def _held(node: PlacedNode, demand: Demand) -> PlacedNode:
    return replace(node, holder=f"job {demand.name}")


def _reason(
    demand: Demand, nodes: Sequence[PlacedNode], free: int, reachable: int, position: int
) -> str:
    if not demand.is_gang and reachable == 0:
        if not nodes:
            return (
                f"waiting for a node: no node is online; place {position} in {_queue(demand)}"
            )
        return (
            f"waiting for a node: none of the {len(nodes)} nodes online may run it;"
            f" place {position} in {_queue(demand)}"
        )
    if demand.is_gang and reachable < demand.wanted:
        return (
            f"cannot start as it is: it asks for {_nodes(demand.wanted)} at once and"
            f" {_queue(demand)} can reach {reachable}"
        )
    need = (
        f"it needs {_nodes(demand.wanted)} at once"
        if demand.is_gang
        else f"it asks for {_nodes(demand.wanted)} and starts with the first"
    )
    holders = _holders(demand, nodes)
    held = f"; held by {holders}" if holders else ""
    return (
        f"waiting for nodes: {need}, {free} {'is' if free == 1 else 'are'} free;"
        f" place {position} in {_queue(demand)}{held}"
    )


def _holders(demand: Demand, nodes: Sequence[PlacedNode]) -> str:
    counts: dict[str, int] = {}
    for node in nodes:
        if node.holder is not None and demand.may_use(node):
            counts[node.holder] = counts.get(node.holder, 0) + 1
    shown = [f"{holder} ({_nodes(count)})" for holder, count in list(counts.items())[:3]]
    more = len(counts) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _queue(demand: Demand) -> str:
    return f"queue {demand.queue}"


def _nodes(count: int) -> str:
    return f"{count} node{'' if count == 1 else 's'}"
