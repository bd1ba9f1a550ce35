"""How many nodes are online, late, lost, and free."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prsweb.accounts.models import User
from prsweb.jobs.selectors.nodes import NodeView, node_views
from runner.core.states import NodeState


@dataclass(frozen=True)
class NodeCounts:
    online: int
    late: int
    lost: int
    drained: int  # and draining
    free: int

    @property
    def all(self) -> int:
        return self.online + self.late + self.lost + self.drained


def node_counts(user: User) -> NodeCounts:
    return counts_of(node_views(user))


def counts_of(views: Iterable[NodeView]) -> NodeCounts:
    views = list(views)
    states = [view.state for view in views]
    return NodeCounts(
        online=states.count(NodeState.ONLINE),
        late=states.count(NodeState.LATE),
        lost=states.count(NodeState.LOST),
        drained=states.count(NodeState.DRAINED) + states.count(NodeState.DRAINING),
        free=sum(view.is_free for view in views),
    )
