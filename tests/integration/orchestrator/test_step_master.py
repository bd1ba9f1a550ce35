"""A master role leads a job whose nodes the test plays, on a real Redis and database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from prsweb.jobs.models import ErrorGroup, JobNode, MiniBatch, MiniBatchTry, Node
from prsweb.jobs.services.master_lease import (
    MasterLeaseLost,
    MasterLeaseRefused,
    take_master_lease,
)
from prsweb.jobs.transitions import StaleState
from runner.core.leases import Exchange
from runner.core.messages import InitFailed, NodeRefused
from runner.core.states import JobNodeState, JobState
from runner.harness import wire
from runner.orchestrator.ending import end_job
from runner.orchestrator.node_watch import Lost
from runner.orchestrator.step_master import StepMaster
from tests.integration.orchestrator.conftest import Play, PlayedNode, error_of, record

pytestmark = pytest.mark.django_db(transaction=True)

MakePlay = Callable[..., Play]


def finish(play: Play, master: StepMaster) -> None:
    """Let the nodes leave and the master end the job by what it decides."""
    master.tick()
    decision = master._decide()
    assert decision is not None
    for node in play.nodes:
        node.leave()
    end_job(master, decision)
    play.reload()


def expected_output(play: Play, count: int) -> bytes:
    return b"".join(play.nodes[0].rows_of(index) for index in range(count))


def test_a_job_runs_to_its_end_and_its_output_is_in_order(make_play: MakePlay) -> None:
    play = make_play(mini_batches=40, nodes=2)
    master = play.begin()
    first, second = play.nodes
    for node in play.nodes:
        node.join()
    one = first.lease(3)
    assert one is not None

    second.work()
    first.end_lease(one, first.run(one))
    finish(play, master)

    job = play.job
    assert job.state == JobState.SUCCEEDED
    assert (job.mini_batches_created, job.succeeded_count, job.items_created) == (40, 40, 80)
    assert job.state_reason == "all 40 mini-batches were processed"
    output = play.folder.output / "parallel_run_step.txt"
    assert output.read_bytes() == expected_output(play, 40)
    assert (job.output_path, job.output_rows) == (str(output), 80)
    assert not Node.objects.exclude(job=None).exists()
    assert set(JobNode.objects.values_list("state", flat=True)) == {JobNodeState.SUCCEEDED}
    assert "Status: Completed\n" in play.folder.job_result.read_text()


def test_the_job_runs_once_the_first_process_has_reported(make_play: MakePlay) -> None:
    play = make_play()
    master = play.begin()
    assert play.reload().state == JobState.STARTING

    play.nodes[0].join()
    master.tick()

    assert play.reload().state == JobState.RUNNING
    assert JobNode.objects.get().state == JobNodeState.RUNNING


def test_recording_the_same_reports_again_changes_nothing(make_play: MakePlay) -> None:
    play = make_play()
    master, node = play.begin(), play.nodes[0]
    node.join()
    lease = node.lease(4)
    assert lease is not None
    records = node.run(lease)
    errors = [error_of(9, "row 9")]
    failed = [record(9, status=wire.RUN_EXCEPTION)]
    blocks = [node.block(records), node.block(failed, errors)]
    master.record(blocks)
    before = snapshot(play)
    back = play.client.lrange(node.keys.back, 0, -1)

    for again in (blocks, blocks[::-1], [blocks[1]]):
        master.record(again)

    assert snapshot(play) == before
    assert play.client.lrange(node.keys.back, 0, -1) == back == [b"9 1 2"]


def snapshot(play: Play) -> object:
    job = play.reload()
    return (
        sorted(MiniBatch.objects.values_list()),
        sorted(MiniBatchTry.objects.values_list()),
        list(ErrorGroup.objects.values_list("count", "mini_batch_count")),
        (job.succeeded_count, job.failed_count, job.repeated_tries, job.duplicates),
    )


def test_a_second_success_is_a_duplicate_and_stays_out_of_the_output(
    make_play: MakePlay,
) -> None:
    play = make_play(mini_batches=4, nodes=2)
    master = play.begin()
    first, second = play.nodes
    for node in play.nodes:
        node.join()
    lease = first.lease()
    assert lease is not None

    first.end_lease(lease, first.run(lease))
    late = [record(0, offset=500, length=9, started_us=5), *_run_rest(second)]
    second.exchange(Exchange(reports=[second.block(late)]))
    finish(play, master)

    assert (play.job.succeeded_count, play.job.duplicates) == (4, 1)
    assert MiniBatchTry.objects.get().status == wire.DUPLICATE
    output = play.folder.output / "parallel_run_step.txt"
    assert output.read_bytes() == expected_output(play, 4)


def _run_rest(node: PlayedNode) -> list[tuple[int, ...]]:
    """Lease and run the rest without reporting it."""
    records: list[tuple[int, ...]] = []
    while lease := node.lease(10):
        records += node.run(lease)
    return records


def test_a_failed_try_is_repeated_and_the_last_one_counts(make_play: MakePlay) -> None:
    play = make_play(mini_batches=1, run_max_try=2)
    master, node = play.begin(), play.nodes[0]
    node.join()

    for number in (1, 2):
        lease = node.lease()
        assert lease is not None
        assert lease.range.try_number == number
        failed = [record(0, try_number=number, status=wire.RUN_EXCEPTION)]
        node.end_lease(lease, failed, [error_of(0, f"bad {number}", try_number=number)])
        master.tick()
    finish(play, master)

    job = play.job
    assert job.state == JobState.FAILED
    assert job.cause == "nothing_succeeded / run_exception"
    assert (job.failed_count, job.failed_items, job.repeated_tries) == (1, 2, 1)
    group = ErrorGroup.objects.get()
    assert (group.count, group.mini_batch_count, group.place) == (2, 1, "score.py:42")
    assert group.sample_mini_batches == [0]
    assert not (play.folder.output / "parallel_run_step.txt").exists()
    result = play.folder.job_result.read_text()
    assert (
        "First error: ValueError: bad 1; mini-batch 0, try 1 of 2, process000 on n1" in result
    )
    assert "Tries: 2 (1 repeated)" in result
    assert "ValueError: bad 1" in (play.folder.user_logs / "error.txt").read_text()


def test_a_success_after_a_failed_try_counts_once(make_play: MakePlay) -> None:
    play = make_play(mini_batches=1)
    master, node = play.begin(), play.nodes[0]
    node.join()
    lease = node.lease()
    assert lease is not None
    node.end_lease(lease, [record(0, status=wire.RUN_EXCEPTION)], [error_of(0, "bad")])
    master.tick()

    node.work()
    finish(play, master)

    assert play.job.state == JobState.SUCCEEDED
    assert (play.job.succeeded_count, play.job.repeated_tries) == (1, 1)
    assert MiniBatch.objects.get().tries == 2


def test_an_exceeded_threshold_ends_the_job_and_names_the_numbers(make_play: MakePlay) -> None:
    play = make_play(run_max_try=1, error_threshold=3)
    master, node = play.begin(), play.nodes[0]
    node.join()
    errors = [error_of(index, f"row {index}") for index in (0, 1)]
    failed = [record(index, status=wire.RUN_EXCEPTION) for index in (0, 1)]

    node.exchange(Exchange(reports=[node.block(failed, errors)]))
    finish(play, master)

    assert play.job.state == JobState.FAILED
    assert play.job.cause == "error_threshold / run_exception"
    assert play.job.state_reason == (
        "4 items failed, error_threshold is 3; 2 of 2 failed tries: ValueError at score.py:42."
    )
    assert play.job.outcome_facts["dominant"]["place"] == "score.py:42"
    assert play.client.hget(node.keys.queue, "closed") == b"stop"


def test_missing_results_make_a_partial_mini_batch(make_play: MakePlay) -> None:
    play = make_play(mini_batches=2)
    master, node = play.begin(), play.nodes[0]
    node.join()

    node.exchange(Exchange(reports=[node.block([record(0, succeeded=1), record(1)])]))
    master.tick()

    job = play.reload()
    assert (job.partial_count, job.succeeded_count) == (1, 1)
    assert (job.succeeded_items, job.failed_items) == (3, 1)
    assert ErrorGroup.objects.get().kind == "missing_results"


def test_a_cancel_stops_the_job(make_play: MakePlay) -> None:
    play = make_play()
    master, node = play.begin(), play.nodes[0]
    node.join()
    master.tick()
    job = play.reload()
    job.cancel_requested_at, job.cancel_requested_by = job.submitted_at, "maria"
    job.cancel_reason = "wrong model"
    job.save(update_fields=["cancel_requested_at", "cancel_requested_by", "cancel_reason"])
    master._cancel_look.seconds, master._cancel_look._next = 0, 0

    finish(play, master)

    assert play.job.state == JobState.CANCELLED
    assert play.job.state_reason == 'cancelled by maria ("wrong model")'
    assert "Status: Canceled" in play.folder.job_result.read_text()


def test_an_input_without_a_file_fails_the_job(make_play: MakePlay) -> None:
    play = make_play(mini_batches=0)
    master = play.make_master()
    master._begin()
    assert master._lister is not None
    master._lister.join(20)

    finish(play, master)

    assert play.job.state == JobState.FAILED
    assert play.job.cause == "no_input"


def test_an_invalid_script_fails_the_job_at_once(make_play: MakePlay) -> None:
    play = make_play()
    master, node = play.begin(), play.nodes[0]
    node.join()
    error = {"kind": "import", "types": ["SyntaxError"], "message": "bad (score.py, line 3)"}

    node.report(InitFailed(**node.head, process=1, invalid_script=True, error=error))
    finish(play, master)

    assert play.job.cause == "entry_script_invalid"
    assert "SyntaxError: bad (score.py, line 3)" in play.job.state_reason


def test_when_every_node_gives_up_the_job_fails_with_their_cause(make_play: MakePlay) -> None:
    play = make_play()
    master, node = play.begin(), play.nodes[0]
    node.beat()

    node.exchange(Exchange())
    node.report(NodeRefused(**node.head, reason="no such file: m", cause="side_input_missing"))
    master.tick()
    assert JobNode.objects.get().state == JobNodeState.FAILED
    assert Node.objects.get().job is None
    master._watching._next = 0
    master.tick()
    master.clocks.nodeless_since = 0.0
    Node.objects.update(state="draining")
    finish(play, master)

    assert play.job.state == JobState.FAILED
    assert play.job.cause == "side_input_missing"
    assert "Node n1 gave up: no such file: m." in overview(play)


def overview(play: Play) -> str:
    return (play.folder.logs / "job_progress_overview.txt").read_text()


def test_a_lost_node_gives_back_what_it_held_and_what_it_had_started_counts(
    make_play: MakePlay,
) -> None:
    play = make_play(mini_batches=40, nodes=2)
    master = play.begin()
    lost, other = play.nodes
    for node in play.nodes:
        node.join()
    done, held = lost.lease(5), lost.lease(5)
    assert done is not None
    assert held is not None
    lost._keep([lost.block(lost.run(done))])  # journalled, never sent
    lost.set_status(wire.PHASE_RUN, held.range.first)
    master.tick()

    part = master.participants.parts[lost.job_node.assignment]
    master.lose(Lost(part, "no beat for 15 s"))

    assert MiniBatch.objects.count() == done.range.count
    failed = MiniBatchTry.objects.get()
    assert (failed.number, failed.status) == (1, wire.NODE_LOST)
    assert JobNode.objects.get(node_name="n1").state == JobNodeState.LOST
    assert Node.objects.get(name="n1").job is None
    assert f"Node n1 lost, {held.range.count} mini-batches go back." in overview(play)
    assert lost.exchange(Exchange()).status == "revoked"
    assert other.work() == 40 - done.range.count
    finish_others(play, master, other)
    output = play.folder.output / "parallel_run_step.txt"
    assert output.read_bytes() == expected_output(play, 40)
    assert play.job.repeated_tries == 1


def finish_others(play: Play, master: StepMaster, *nodes: PlayedNode) -> None:
    play.nodes = list(nodes)
    finish(play, master)


def test_a_node_that_was_started_anew_is_noticed(make_play: MakePlay) -> None:
    play = make_play(nodes=2)
    master = play.begin()
    first, second = play.nodes
    for node in play.nodes:
        node.join()
    master.tick()

    first.beat(boot_id="another")
    second.beat()
    master._watching._next = 0
    master.tick()

    assert list(master.participants.parts) == [second.job_node.assignment]
    assert JobNode.objects.get(node_name="n1").state == JobNodeState.LOST


def test_another_master_goes_on_where_the_first_one_died(make_play: MakePlay) -> None:
    play = make_play(mini_batches=40)
    first, node = play.begin(), play.nodes[0]
    node.join()
    recorded = node.lease(3)
    assert recorded is not None
    node.end_lease(recorded, node.run(recorded))
    first.tick()
    journalled = node.lease(3)
    held = node.lease(3)
    assert journalled is not None
    assert held is not None
    node.end_lease(journalled, node.run(journalled))
    let_lapse(play)
    forget_reports(play)
    second = play.make_master()

    adopting(second, node, second._begin)

    assert MiniBatch.objects.count() == recorded.range.count + journalled.range.count
    assert node.work() == 40 - MiniBatch.objects.count() - held.range.count
    node.end_lease(node.held[0], node.run(node.held[0]))
    finish(play, second)
    output = play.folder.output / "parallel_run_step.txt"
    assert output.read_bytes() == expected_output(play, 40)
    assert (play.job.succeeded_count, play.job.duplicates) == (40, 0)
    assert play.job.take_overs == 1


def let_lapse(play: Play) -> None:
    play.reload()
    play.job.master_lease_until = play.job.submitted_at
    play.job.save(update_fields=["master_lease_until"])


def forget_reports(play: Play) -> None:
    """Redis loses what was not recorded; the journal has it."""
    play.client.delete(play.nodes[0].keys.reports)


def adopting(master: StepMaster, node: PlayedNode, act: Callable[[], None]) -> None:
    """Do ``act``; when it makes the queue anew the node tells at once what it holds."""
    make = master.context.queue.make

    def make_and_adopt(*, processes: int, is_paused: bool) -> None:
        make(processes=processes, is_paused=is_paused)
        node.adopt()

    master.context.queue.make = make_and_adopt  # type: ignore[method-assign]
    act()


def test_a_wiped_redis_costs_nothing_but_a_moment(make_play: MakePlay) -> None:
    play = make_play(mini_batches=40)
    master, node = play.begin(), play.nodes[0]
    node.join()
    done, held = node.lease(3), node.lease(3)
    assert done is not None
    assert held is not None
    node.end_lease(done, node.run(done))

    play.client.flushall()
    adopting(master, node, master.tick)

    node.work()
    node.end_lease(node.held[0], node.run(node.held[0]))
    finish(play, master)
    output = play.folder.output / "parallel_run_step.txt"
    assert output.read_bytes() == expected_output(play, 40)
    assert (play.job.duplicates, play.job.repeated_tries) == (0, 0)


def test_a_master_that_lost_its_lease_writes_nothing_more(make_play: MakePlay) -> None:
    play = make_play()
    first, node = play.begin(), play.nodes[0]
    node.join()
    first.tick()
    with pytest.raises(MasterLeaseRefused):
        take_master_lease(play.job.pk)
    let_lapse(play)
    take_master_lease(play.job.pk)
    lease = node.lease(3)
    assert lease is not None

    with pytest.raises(StaleState):
        first.record([node.block(node.run(lease))])

    assert not MiniBatch.objects.exists()


def test_an_output_that_cannot_be_written_fails_the_job_and_keeps_the_rows(
    make_play: MakePlay,
) -> None:
    play = make_play(mini_batches=2)
    master, node = play.begin(), play.nodes[0]
    node.join()
    node.work()
    play.folder.output.rmdir()
    play.folder.output.write_text("a file in its place")

    finish(play, master)

    assert play.job.state == JobState.FAILED
    assert play.job.cause == "output_failed"
    assert (play.folder.segments / node.segment).exists()


def test_a_file_that_another_put_in_place_of_the_output_stays(
    make_play: MakePlay, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    play = make_play(mini_batches=2, output={"path": str(shared)})
    master, node = play.begin(), play.nodes[0]
    node.join()
    node.work()
    (shared / "parallel_run_step.txt").write_text("of another job")

    finish(play, master)

    assert play.job.cause == "output_failed"
    assert "a file of that name was put there" in play.job.state_reason
    assert [file.read_text() for file in shared.iterdir()] == ["of another job"]


@pytest.mark.parametrize("overwrite", [True, False])
def test_the_output_that_a_killed_master_put_in_place_is_taken_for_ours(
    make_play: MakePlay, tmp_path: Path, overwrite: bool
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    play = make_play(mini_batches=2, output={"path": str(shared), "overwrite": overwrite})
    master, node = play.begin(), play.nodes[0]
    node.join()
    node.work()
    file = shared / "parallel_run_step.txt"
    file.write_bytes(b"old" if overwrite else expected_output(play, 2))

    finish(play, master)

    assert play.job.state == JobState.SUCCEEDED
    assert file.read_bytes() == expected_output(play, 2)
    assert play.job.warnings == []


def test_a_file_of_the_script_with_the_name_of_the_output_is_replaced_with_a_warning(
    make_play: MakePlay,
) -> None:
    play = make_play(mini_batches=2, append_row_file_name="x" * 255)
    master, node = play.begin(), play.nodes[0]
    node.join()
    node.work()
    (play.folder.output / ("x" * 255)).write_text("of the script")

    finish(play, master)

    assert (play.folder.output / ("x" * 255)).read_bytes() == expected_output(play, 2)
    assert play.job.warnings == [
        f"the output has replaced {'x' * 255}, which the script had written"
    ]


def test_a_missing_segment_is_named(make_play: MakePlay) -> None:
    play = make_play(mini_batches=2)
    master, node = play.begin(), play.nodes[0]
    node.join()
    node.work()
    segment = play.folder.segments / node.segment
    segment.unlink()

    finish(play, master)

    assert f"{segment}: No such file or directory" in play.job.state_reason


def test_a_master_that_was_replaced_drops_no_report(make_play: MakePlay) -> None:
    play = make_play()
    first, node = play.begin(), play.nodes[0]
    node.join()
    first.tick()
    let_lapse(play)
    second = play.make_master()
    adopting(second, node, second._begin)
    lease = node.lease(3)
    assert lease is not None
    node.end_lease(lease, node.run(lease))

    first.context.queue.drop_reports(1)

    assert play.client.llen(node.keys.reports) == 1


def test_a_master_that_slept_leaves_the_queue_of_its_successor_alone(
    make_play: MakePlay,
) -> None:
    play = make_play()
    first, node = play.begin(), play.nodes[0]
    node.join()
    first.tick()
    let_lapse(play)
    second = play.make_master()
    adopting(second, node, second._begin)

    with pytest.raises(MasterLeaseLost):
        first.tick()

    assert second.context.queue.look().epoch == second.context.queue.epoch


def test_making_the_queue_anew_begins_again_when_it_was_replaced_meanwhile(
    make_play: MakePlay,
) -> None:
    play = make_play(mini_batches=20)
    first, node = play.begin(), play.nodes[0]
    node.join()
    first.tick()
    lease = node.lease(3)
    assert lease is not None
    let_lapse(play)
    second = play.make_master()
    make, makes = second.context.queue.make, []

    def make_and_be_overtaken(*, processes: int, is_paused: bool) -> None:
        make(processes=processes, is_paused=is_paused)
        makes.append(second.context.queue.epoch)
        if len(makes) == 1:
            first.context.queue.make(processes=1, is_paused=False)
            node.end_lease(lease, node.run(lease))  # a report that it must not drop
        node.adopt()

    second.context.queue.make = make_and_be_overtaken  # type: ignore[method-assign]
    second._begin()

    assert len(makes) == 2
    assert second.context.queue.look().epoch == makes[1]
    node.work()
    finish(play, second)
    assert play.job.succeeded_count == 20


def test_mini_batches_that_nobody_holds_are_found(make_play: MakePlay) -> None:
    play = make_play(mini_batches=3)
    master, node = play.begin(), play.nodes[0]
    node.join()
    while node.lease(3):
        pass
    master.tick()

    play.client.delete(node.keys.leases)
    node.held.clear()
    master.clocks.last_end -= 60
    master._watching._next = 0
    adopting(master, node, master.tick)

    assert node.work() == 3
