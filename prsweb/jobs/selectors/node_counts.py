"""How many nodes are online, late, lost, and free."""

from __future__ import annotations

from dataclasses import dataclass

from prsweb.accounts.models import User
from prsweb.jobs.selectors.nodes import node_views
from runner.core.states import NodeState


@dataclass(frozen=True)
class NodeCounts:
    online: int
    late: int
    lost: int
    drained: int  # and draining
    free: int


def node_counts(user: User) -> NodeCounts:
    views = node_views(user)
    states = [view.state for view in views]
    return NodeCounts(
        online=states.count(NodeState.ONLINE),
        late=states.count(NodeState.LATE),
        lost=states.count(NodeState.LOST),
        drained=states.count(NodeState.DRAINED) + states.count(NodeState.DRAINING),
        free=sum(view.is_free for view in views),
    )
