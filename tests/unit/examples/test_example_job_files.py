from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

KINDS = {
    "digits": "parallel_run_step",
    "faulty": "parallel_run_step",
    "iris": "parallel_run_step",
    "ring": "multi_node",
}


def read_job_file(folder: Path) -> dict[str, Any]:
    return yaml.safe_load((folder / "job.yml").read_text("utf-8"))


def test_every_example_has_a_job_file_and_a_readme(examples: Path) -> None:
    folders = {path.name for path in examples.iterdir() if path.is_dir()}

    assert folders == set(KINDS)
    for name in folders:
        assert (examples / name / "job.yml").is_file()
        assert f"./prs submit examples/{name}/job.yml" in (
            examples / name / "README.md"
        ).read_text("utf-8")


@pytest.mark.parametrize(("name", "kind"), KINDS.items())
def test_a_job_has_the_name_of_its_folder(examples: Path, name: str, kind: str) -> None:
    job = read_job_file(examples / name)

    assert (job["name"], job["kind"]) == (name, kind)


@pytest.mark.parametrize("name", ["digits", "faulty", "iris"])
def test_the_files_that_a_job_names_are_there(examples: Path, name: str) -> None:
    folder = examples / name

    job = read_job_file(folder)

    assert (folder / job["source_directory"] / job["entry_script"]).is_file()
    for one in job["inputs"]:
        is_written_at_first_use = name == "digits"
        assert is_written_at_first_use or list(folder.glob(one["path"]))


def test_the_command_of_the_ring_is_in_its_working_directory(examples: Path) -> None:
    job = read_job_file(examples / "ring")

    (group,) = job["node_groups"]
    assert group["command"][:2] == ["python3", "ring.py"]
    assert (examples / "ring" / job["working_directory"] / "ring.py").is_file()
