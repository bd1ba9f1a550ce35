"""A file of Azure becomes a job as our own does: its paths, and the files it names."""

from __future__ import annotations

from pathlib import Path

import pytest

from prsweb.cli.failure import CommandFailed
from prsweb.cli.job_file import read_job_file
from runner.core.specs import ImportedDocument

JOB = """
type: parallel
component: parts/score.yml
name: nightly
inputs:
  data: {type: uri_folder, path: ./scans}
"""
COMPONENT = """
type: parallel
inputs: {data: {type: uri_folder}}
outputs: {result: {type: uri_file}}
input_data: ${{inputs.data}}
retry_settings: {max_retries: 0}
task:
  type: run_function
  code: ../src
  entry_script: score.py
  append_row_to: ${{outputs.result}}
  environment: {conda_file: conda.yml}
"""
CONDA = "dependencies: [{pip: [-r requirements.txt]}]"


@pytest.fixture
def job_file(tmp_path: Path) -> Path:
    for name, text in {
        "job.yml": JOB,
        "parts/score.yml": COMPONENT,
        "parts/conda.yml": CONDA,
        "parts/requirements.txt": "# ours\npillow\n",
        "src/score.py": "def run(items):\n    return list(items)\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path / "job.yml"


def test_files_that_it_names_are_read_and_paths_are_made_absolute(job_file: Path) -> None:
    job = read_job_file(job_file)

    assert job.spec["kind"] == "parallel_run_step"
    assert job.spec["inputs"][0]["path"] == str(job_file.parent / "scans")
    assert job.spec["run_max_try"] == 1
    assert job.spec["environment"] == {"requirements": ["pillow"]}
    assert job.source == job_file.parent / "src"
    assert isinstance(job.spec, ImportedDocument)
    assert job.spec.notes()["spelled"]["run_max_try"] == "retry_settings.max_retries"


def test_settings_are_those_of_our_job_file(job_file: Path) -> None:
    job = read_job_file(job_file, {"inputs.0.path": "other", "run_max_try": "4"})

    assert job.spec["inputs"][0]["path"] == str(job_file.parent / "other")
    assert job.spec["run_max_try"] == 4
    assert isinstance(job.spec, ImportedDocument)
    assert job.spec.notes()["spelled"]["run_max_try"] == "run_max_try"


def test_all_that_is_wrong_is_told_in_the_words_of_the_file(job_file: Path) -> None:
    (job_file.parent / "parts" / "conda.yml").unlink()
    job_file.write_text(JOB + "error_threshold: 1.5\nretry_settings: {timout: 5}\n")

    with pytest.raises(CommandFailed) as refused:
        read_job_file(job_file)

    assert {problem.path for problem in refused.value.problems} == {
        "task.environment.conda_file",
        "error_threshold",
        "retry_settings.timout",
    }


def test_a_missing_code_folder_is_named_as_the_file_does(tmp_path: Path) -> None:
    path = tmp_path / "job.yml"
    path.write_text(
        "{type: parallel, task: {code: nowhere, entry_script: a.py}, input_data: x}"
    )

    with pytest.raises(CommandFailed) as refused:
        read_job_file(path, {"inputs.0.path": "d", "inputs.0.name": "d"})

    assert [problem.path for problem in refused.value.problems] == ["task.code"]


def test_a_pipeline_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "job.yml"
    path.write_text("{type: pipeline, jobs: {}}")

    with pytest.raises(CommandFailed) as refused:
        read_job_file(path)

    assert "pipelines are not read yet" in str(refused.value.problems[0].rule)
