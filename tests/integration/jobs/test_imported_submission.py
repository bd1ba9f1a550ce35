"""Files of Azure through the one way in: warnings are kept, problems in the file's words."""

from __future__ import annotations

from typing import Any

import pytest

from prsweb.accounts.permissions import Actor
from prsweb.jobs.services.submission import InvalidJob, Submission, check_job, submit_job
from runner.core.specs import import_document, with_notes

pytestmark = pytest.mark.django_db


@pytest.fixture
def azure_job(step_spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "parallel",
        "name": "Count Lines",
        "compute": "azureml:cpu-cluster",
        "inputs": {"texts": {"type": "uri_folder", "path": step_spec["inputs"][0]["path"]}},
        "outputs": {"result": {"type": "uri_file"}},
        "input_data": "${{inputs.texts}}",
        "mini_batch_size": "2",
        "retry_settings": {"max_retries": 1, "timeout": 5},
        "task": {
            "type": "run_function",
            "code": step_spec["source_directory"],
            "entry_script": "score.py",
            "append_row_to": "${{outputs.result}}",
        },
    }


def test_an_azure_job_is_stored_with_its_warnings(azure_job, alice, home, sent):
    job = submit_job(submission=Submission(azure_job), actor=Actor(alice))

    assert (job.name, job.queue.name) == ("count-lines", "default")
    assert (job.spec["mini_batch_size"], job.spec["run_max_try"]) == (2, 2)
    assert job.spec["tags"] == {"display_name": "Count Lines"}
    assert (
        "compute: cpu-cluster is no queue here; the job goes to the queue default."
        in job.warnings
    )
    assert any(one.startswith("task.environment: there is none") for one in job.warnings)


def test_what_the_command_line_read_is_told_and_kept_the_same_way(azure_job, alice, home, sent):
    document = import_document(azure_job)
    sent_document = with_notes(dict(document), document.notes())

    job = submit_job(submission=Submission(sent_document), actor=Actor(alice))

    assert job.queue.name == "default"
    assert any(one.startswith("name: 'Count Lines' is no name") for one in job.warnings)


def test_problems_of_this_machine_stand_at_the_files_own_paths(azure_job, alice, home, sent):
    azure_job["inputs"]["texts"]["path"] = "/nowhere"
    azure_job["task"]["entry_script"] = "scor.py"
    azure_job["resources"] = {"instance_count": 99}

    checked = check_job(submission=Submission(azure_job), actor=Actor(alice))

    assert {problem.path for problem in checked.problems} == {
        "inputs.texts.path",
        "task.entry_script",
        "resources.instance_count",
    }


def test_a_queue_that_was_set_is_no_compute_of_azure(azure_job, alice, home, sent):
    submission = Submission(azure_job, set_values={"queue": "nowhere", "run_max_try": 0})

    with pytest.raises(InvalidJob) as refused:
        submit_job(submission=submission, actor=Actor(alice))
    assert [problem.path for problem in refused.value.problems] == ["run_max_try"]

    submission = Submission(azure_job, set_values={"queue": "nowhere"})
    with pytest.raises(InvalidJob) as refused:
        submit_job(submission=submission, actor=Actor(alice))
    assert [problem.path for problem in refused.value.problems] == ["queue"]


def test_files_beside_a_job_are_never_read_on_the_server(
    azure_job, alice, home, sent, tmp_path
):
    (tmp_path / "conda.yml").write_text("dependencies: [numpy]")
    azure_job["task"]["environment"] = str(tmp_path / "conda.yml")

    checked = check_job(submission=Submission(azure_job), actor=Actor(alice))

    [problem] = checked.problems
    assert problem.path == "task.environment"
    assert "which ./prs submit reads" in problem.rule
