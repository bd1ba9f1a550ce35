"""P24: what ``prs try`` shows of a script is what a job would have shown."""

from __future__ import annotations

from tests.acceptance.live_system import LiveSystem
from tests.acceptance.step_jobs import MakeStep

TELLS_AND_FAILS = """
    import os
    import sys

    def run(mini_batch, context):
        print("argv", sys.argv[1:])
        print("types", type(mini_batch).__mro__, type(mini_batch[0]), type(context))
        print("context", context.minibatch_index, context.try_number, context.dataset)
        print("beside the script", sorted(os.listdir()))
        check(mini_batch[0])

    def check(path):
        raise ValueError("bad header in " + os.path.basename(path))
"""


def test_a_trial_shows_the_argv_types_prints_and_traceback_of_a_job(
    system: LiveSystem, make_step: MakeStep
):
    job_file = make_step(
        TELLS_AND_FAILS,
        files=1,
        mini_batch_size=1,
        run_max_try=1,
        node_count=1,
        process_count_per_node=1,
        arguments=["--mode", "quick"],
    )

    job = system.run(job_file)
    trial = system.prs("try", job_file, "--mini-batches", "1", "--json")

    assert (job["state"], trial.status) == ("FAILED", 1)
    (tried,) = trial.json["mini_batches"]
    (node,) = (system.folder(job["id"]).user_logs / "stdout").iterdir()
    printed = (node / "process000.stdout.txt").read_text()
    assert "'--mode', 'quick', '--mini_batch_size', '1'" in printed
    assert tried["printed"]["stdout"] == printed
    (group,) = system.prs_json("errors", job["id"])["items"]
    work = str(system.folder(job["id"]).node_work(node.name))
    in_source = group["traceback"].replace(work, str(job_file.parent / "code"))
    assert tried["error"]["traceback"] == in_source
    assert (tried["error"]["kind"], tried["error"]["title"]) == (group["kind"], group["title"])
