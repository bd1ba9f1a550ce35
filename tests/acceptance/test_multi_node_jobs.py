"""Multi-node jobs: the main node decides, the nodes find each other."""

from __future__ import annotations

import re
from typing import Any

from tests.acceptance.live_system import LiveSystem, wait_for
from tests.acceptance.processes_of_home import environment_of, part, processes_of_job
from tests.acceptance.step_jobs import MakeGang
from tests.acceptance.test_killed_parts import kill_part


def test_nodes_exchange_addresses_through_the_shared_directory(
    system: LiveSystem, make_gang: MakeGang
):
    share = """
        echo "$PRSWEB_NODE_ADDRESS" > "$PRSWEB_SHARED_DIR/$AWS_BATCH_JOB_NODE_INDEX.tmp"
        cd "$PRSWEB_SHARED_DIR"
        mv $AWS_BATCH_JOB_NODE_INDEX.tmp $AWS_BATCH_JOB_NODE_INDEX
    """
    main = f"""
        cut -d' ' -f1 "$PRSWEB_HOSTFILE" > hosts
        {share}
        while [ ! -e 0 ] || [ ! -e 1 ] || [ ! -e 2 ]; do sleep 0.05; done
        echo seen $(cat 0 1 2); echo hosts $(cat "$OLDPWD/hosts")
    """

    job = system.run(make_gang({"0": main, "1:": share}))

    assert job["state"] == "SUCCEEDED", job["reason"]
    seen, hosts = log_of(system, job, 0).splitlines()
    addresses = seen.removeprefix("seen ").split()
    assert hosts == "hosts " + " ".join(addresses)
    assert len(set(addresses)) == 3
    assert all(address.startswith("127.0.1.") for address in addresses)
    nodes = nodes_of(system, job)
    assert [node["address"] for node in nodes] == addresses


def test_each_node_has_its_own_log_and_variables(system: LiveSystem, make_gang: MakeGang):
    tell = """
        echo "n$AWS_BATCH_JOB_NODE_INDEX of $AWS_BATCH_JOB_NUM_NODES"
        echo "main $AWS_BATCH_JOB_MAIN_NODE_INDEX"
        echo "id $AWS_BATCH_JOB_ID"
        echo "main address ${AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS-unset}"
    """
    main = tell + "\n        sleep 1.5"

    job = system.run(make_gang({"0": main, "1:": tell}))

    main_address = nodes_of(system, job)[0]["address"]
    for index in range(3):
        address = "unset" if index == 0 else main_address
        assert log_of(system, job, index).splitlines() == [
            f"n{index} of 3",
            "main 0",
            f"id {job['id']}#{index}",
            f"main address {address}",
        ]


def test_children_are_told_to_end_and_may_say_their_last_words(
    system: LiveSystem, make_gang: MakeGang
):
    saves = "trap 'echo saved; exit 0' TERM; echo up; while :; do sleep 0.05; done"
    ignores = "trap '' TERM; echo up; while :; do sleep 0.05; done"
    job_file = make_gang({"0": "sleep 2", "1": saves, "2": ignores}, stop_grace_seconds=2)

    job = system.run(job_file)

    assert job["state"] == "SUCCEEDED", job["reason"]
    assert job["exit_code"] == 0
    _, saver, ignorer = nodes_of(system, job)
    last_words = log_of(system, job, 1).splitlines()
    assert (last_words[0], last_words[-1]) == ("up", "saved")
    assert (saver["state"], saver["exit_code"]) == ("SUCCEEDED", 0)
    assert (ignorer["state"], ignorer["exit_code"]) == ("FAILED", 137)
    for child in (saver, ignorer):
        assert "main node exited" in child["reason"]
    wait_for(
        lambda: not processes_of_job(system.home.root, job["id"]), "the end of all processes"
    )


def test_a_child_is_stopped_because_the_main_node_exited_and_says_so(
    system: LiveSystem, make_gang: MakeGang
):
    job = system.run(make_gang({"0": "sleep 1; exit 0", "1:": "sleep 60"}, nodes=2))

    assert job["state"] == "SUCCEEDED", job["reason"]
    main, child = nodes_of(system, job)
    assert (main["main"], main["state"], main["exit_code"]) == (True, "SUCCEEDED", 0)
    assert "Stopped because the main node exited" in child["reason"]
    assert child["exit_code"] == 143


def test_only_the_exit_of_the_main_node_decides(system: LiveSystem, make_gang: MakeGang):
    good = system.run(make_gang({"0": "sleep 1.5; exit 0", "1": "exit 1", "2": "exit 0"}))
    bad = system.run(make_gang({"0": "sleep 1.5; exit 1", "1:": "exit 0"}))

    assert good["state"] == "SUCCEEDED", good["reason"]
    assert [(one["state"], one["exit_code"]) for one in nodes_of(system, good)] == [
        ("SUCCEEDED", 0),
        ("FAILED", 1),
        ("SUCCEEDED", 0),
    ]
    assert (bad["state"], bad["exit_code"]) == ("FAILED", 1)
    assert bad["status_reason"] == "Essential container in task exited"
    assert [one["state"] for one in nodes_of(system, bad)] == [
        "FAILED",
        "SUCCEEDED",
        "SUCCEEDED",
    ]


def test_a_command_that_does_not_exist_fails_the_job_and_says_where(
    system: LiveSystem, make_gang: MakeGang
):
    job_file = make_gang({"0:": "true"}, nodes=1)
    spec = job_file.read_text().replace('"sh"', '"no-such-program"')
    job_file.write_text(spec)

    job = system.run(job_file)

    assert job["state"] == "FAILED"
    assert "no-such-program" in job["reason"]
    assert job["nodes"][0] in job["reason"]


def test_a_cancelled_gang_leaves_no_process(system: LiveSystem, make_gang: MakeGang):
    holds = "sleep 600 & setsid sleep 601 & echo up; sleep 602"
    job_id = system.submit(make_gang({"0:": holds}, stop_grace_seconds=2))
    wait_for(lambda: len(processes_of_job(system.home.root, job_id)) >= 9, "all processes")

    system.prs_json("cancel", job_id, "--reason", "not needed")

    job = system.ended(job_id)
    assert (job["state"], job["cancel_reason"]) == ("CANCELLED", "not needed")
    wait_for(lambda: not processes_of_job(system.home.root, job_id), "the end of all processes")


def test_an_exit_of_the_main_node_counts_though_the_orchestrator_was_killed(
    own_system: LiveSystem, make_gang: MakeGang
):
    job_id = own_system.submit(make_gang({"0": "sleep 2", "1": "sleep 60"}, nodes=2))
    wait_for(lambda: own_system.job(job_id)["state"] == "RUNNING", "a running gang")

    kill_part(own_system, "orchestrator")

    job = own_system.ended(job_id)
    assert (job["state"], job["exit_code"]) == ("SUCCEEDED", 0), job["reason"]


def test_a_child_whose_node_is_lost_does_not_end_the_job(
    own_system: LiveSystem, make_gang: MakeGang
):
    job_id = own_system.submit(make_gang({"0": "sleep 4", "1": "sleep 60"}, nodes=2))
    child = wait_for(lambda: running_node(own_system, job_id, 1), "a running child")

    take_away_node(own_system, job_id, child["name"])

    job = own_system.ended(job_id)
    assert (job["state"], job["exit_code"]) == ("SUCCEEDED", 0), job["reason"]
    lost = nodes_of(own_system, job)[1]
    assert lost["state"] in ("FAILED", "LOST") and lost["exit_code"] is None


def test_the_loss_of_the_main_node_fails_the_job_and_stops_the_children(
    own_system: LiveSystem, make_gang: MakeGang
):
    job_id = own_system.submit(make_gang({"0": "sleep 60", "1": "sleep 61"}, nodes=2))
    wait_for(lambda: running_node(own_system, job_id, 1), "a running child")
    main = running_node(own_system, job_id, 0)
    assert main is not None

    take_away_node(own_system, job_id, main["name"])

    job = own_system.ended(job_id)
    assert (job["state"], job["exit_code"]) == ("FAILED", None)
    assert re.fullmatch(r"Host EC2 \(instance i-\w{17}\) terminated\.", job["status_reason"])
    assert main["name"] in job["reason"]
    wait_for(
        lambda: not processes_of_job(own_system.home.root, job_id), "the end of all processes"
    )


def running_node(system: LiveSystem, job_id: str, index: int) -> dict[str, Any] | None:
    nodes = system.pages(f"/jobs/{job_id}/nodes")
    wanted = (one for one in nodes if one["index"] == index and one["state"] == "RUNNING")
    return next(wanted, None)


def take_away_node(system: LiveSystem, job_id: str, name: str) -> None:
    """Kill a node as the loss of a machine does: with everything that runs there."""
    there = [
        process
        for process in processes_of_job(system.home.root, job_id)
        if environment_of(process).get("PRSWEB_NODE_NAME") == name
    ]
    for process in [part(system.up_pid, "node", name), *there]:
        process.kill()


def nodes_of(system: LiveSystem, job: dict[str, Any]) -> list[dict[str, Any]]:
    """A job's nodes by index."""
    nodes = list(system.pages(f"/jobs/{job['id']}/nodes"))
    return sorted(nodes, key=lambda one: one["index"])


def log_of(system: LiveSystem, job: dict[str, Any], index: int) -> str:
    return system.folder(job["id"]).attempt_log(index, 1).read_text()
