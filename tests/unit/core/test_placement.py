"""Who gets nodes, and what those are told who do not."""

from __future__ import annotations

from typing import Any

from runner.core.placement import Demand, PlacedNode, place_jobs


def nodes(*holders: str | None) -> list[PlacedNode]:
    return [PlacedNode(f"n{number}", None, holder) for number, holder in enumerate(holders, 1)]


def demand(number: int, wanted: int, **more: Any) -> Demand:
    fields: dict[str, Any] = {
        "name": f"job-{number}",
        "queue": "default",
        "priority": 1,
        "order": (float(number), number),
    }
    return Demand(number=number, wanted=wanted, **(fields | more))


def test_a_parallel_run_step_job_starts_with_what_is_free() -> None:
    placement = place_jobs([demand(1, 4)], nodes(None, "job x", None))

    assert placement.grants == {1: ["n1", "n3"]}


def test_a_multi_node_job_starts_on_all_its_nodes_or_on_none() -> None:
    gang = demand(1, 3, is_gang=True)

    assert place_jobs([gang], nodes(None, None, None)).grants == {1: ["n1", "n2", "n3"]}
    waiting = place_jobs([gang], nodes(None, None, "job x"))
    assert waiting.grants == {}
    assert waiting.reasons[1] == (
        "waiting for nodes: it needs 3 nodes at once, 2 are free;"
        " place 1 in queue default; held by job x (1 node)"
    )


def test_nodes_are_held_back_for_a_job_that_must_wait() -> None:
    placement = place_jobs(
        [demand(1, 3, is_gang=True), demand(2, 1)], nodes(None, None, "job x")
    )

    assert placement.grants == {}
    assert "place 2 in queue default" in placement.reasons[2]


def test_a_job_that_can_never_be_placed_says_so_and_holds_nothing_back() -> None:
    placement = place_jobs([demand(1, 9, is_gang=True), demand(2, 1)], nodes(None, None))

    assert placement.grants == {2: ["n1"]}
    assert placement.reasons[1] == (
        "cannot start as it is: it asks for 9 nodes at once and queue default can reach 2"
    )


def test_priority_goes_before_submission() -> None:
    placement = place_jobs([demand(1, 1), demand(2, 1, priority=5)], nodes(None))

    assert placement.grants == {2: ["n1"]}


def test_a_started_job_grows_and_is_never_told_to_wait() -> None:
    growing = demand(1, 3, held=1, is_started=True)

    assert place_jobs([growing], nodes("job-1", None)).grants == {1: ["n2"]}
    assert place_jobs([growing], nodes("job-1")).reasons == {}


def test_a_node_that_gave_the_job_up_is_not_granted_again() -> None:
    refused = demand(1, 1, refused_by=frozenset({"n1"}))

    assert place_jobs([refused], nodes(None, None)).grants == {1: ["n2"]}


def test_a_node_of_another_environment_is_not_used() -> None:
    other = [PlacedNode("n1", "gpu")]

    placement = place_jobs([demand(1, 1, environments=("cpu",))], other)

    assert "none of the 1 nodes online may run it" in placement.reasons[1]


def test_without_any_node_the_reason_says_so() -> None:
    assert "no node is online" in place_jobs([demand(1, 1)], []).reasons[1]
