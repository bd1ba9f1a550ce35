"""Nodes: what there is, and taking them out of use."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Query, Router

from prsweb.accounts.permissions import Actor
from prsweb.api.access import caller
from prsweb.api.documents import NodeDocument, NodePageDocument
from prsweb.jobs.filters import NodeFilter
from prsweb.jobs.selectors.nodes import get_node, list_nodes, node_view
from prsweb.jobs.services.nodes import drain_node, undrain_node

router = Router(tags=["nodes"])


@router.get("", response=NodePageDocument, summary="List nodes")
def list_all(request: HttpRequest, wanted: Query[NodeFilter]) -> dict[str, Any]:
    page = list_nodes(caller(request).user, wanted)
    items = [NodeDocument.model_validate(view) for view in page.nodes]
    return {"items": items, "next": page.next}


@router.get("/{name}", response=NodeDocument, summary="Show a node")
def show(request: HttpRequest, name: str) -> NodeDocument:
    return _document(caller(request), name)


@router.post("/{name}/drain", response=NodeDocument, summary="Give it no further job")
def drain(request: HttpRequest, name: str) -> NodeDocument:
    drain_node(node=get_node(name), actor=caller(request))
    return _document(caller(request), name)


@router.post("/{name}/undrain", response=NodeDocument, summary="Give it jobs again")
def undrain(request: HttpRequest, name: str) -> NodeDocument:
    undrain_node(node=get_node(name), actor=caller(request))
    return _document(caller(request), name)


def _document(actor: Actor, name: str) -> NodeDocument:
    return NodeDocument.model_validate(node_view(actor.user, name))
