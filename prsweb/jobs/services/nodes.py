"""Taking nodes out of use and back."""

from __future__ import annotations

from django.db import transaction

from prsweb.accounts.audit import audit
from prsweb.accounts.models import Role
from prsweb.accounts.permissions import Actor, require_role
from prsweb.jobs.dispatch import wake_scheduler
from prsweb.jobs.models import Node
from prsweb.jobs.transitions import StaleState, move_node
from runner.core.states import InvalidTransition, NodeState

DRAINS = (NodeState.DRAINING, NodeState.DRAINED)


class CannotDrain(Exception):
    """The node is not in a state for that. Fit to show."""


def drain_node(*, node: Node, actor: Actor) -> Node:
    """Let the node end the job it has and take no other. Twice changes nothing.

    A free node is drained at once. Raises CannotDrain for a lost node, NotAllowed.
    """
    require_role(actor, Role.OPERATOR, "drain a node")
    if NodeState(node.state) in DRAINS:
        return node
    try:
        with transaction.atomic():
            move_node(node, NodeState.DRAINING)
            # Read after the move: a grant that came before it holds the node.
            node.refresh_from_db(fields=["job"])
            if node.job_id is None:
                move_node(node, NodeState.DRAINED)
            audit(actor, "drain node", node.name)
            wake_scheduler()
    except StaleState as error:
        raise CannotDrain(f"Node {node.name} has just changed: {error}.") from error
    except InvalidTransition as error:
        raise CannotDrain(f"Node {node.name} is {node.state}: {error}.") from error
    return node


def undrain_node(*, node: Node, actor: Actor) -> Node:
    """Let the node take jobs again. Raises CannotDrain for one that is not drained."""
    require_role(actor, Role.OPERATOR, "undrain a node")
    if NodeState(node.state) not in DRAINS:
        raise CannotDrain(f"Node {node.name} is {node.state}, not drained.")
    try:
        with transaction.atomic():
            move_node(node, NodeState.ONLINE)
            audit(actor, "undrain node", node.name)
            wake_scheduler()
    except StaleState as error:
        raise CannotDrain(f"Node {node.name} has just changed: {error}.") from error
    return node
