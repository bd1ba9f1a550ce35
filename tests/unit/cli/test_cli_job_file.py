"""A job file becomes a job that does not depend on where the file lies."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from prsweb.cli.archive import pack, source_files
from prsweb.cli.failure import CommandFailed
from prsweb.cli.job_file import BadJobFile, read_job_file
from prsweb.cli.submission import read_settings


def write(folder: Path, text: str) -> Path:
    path = folder / "job.yml"
    path.write_text(text)
    return path


def test_paths_are_made_absolute_from_the_folder_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    path = write(
        tmp_path,
        """
kind: parallel_run_step
inputs:
  - {name: scans, type: files, path: [scans/, "/data/*.png", "dataset:digits@3"]}
side_inputs: {labels: {path: labels.csv}, more: "${{parameters.more}}"}
models: {mnist: ./models/mnist, remote: "https://models.example/mnist"}
source_directory: ./src
entry_script: score.py
environment: {python: ./env/bin/python}
""",
    )

    job = read_job_file(path)

    assert job.spec["inputs"][0]["path"] == [
        str(tmp_path / "scans"),
        "/data/*.png",
        "dataset:digits@3",
    ]
    assert job.spec["side_inputs"] == {
        "labels": {"path": str(tmp_path / "labels.csv")},
        "more": "${{parameters.more}}",
    }
    assert job.spec["models"] == {
        "mnist": str(tmp_path / "models/mnist"),
        "remote": "https://models.example/mnist",
    }
    assert job.spec["entry_script"] == "score.py"
    assert job.spec["environment"] == {"python": str(tmp_path / "env/bin/python")}
    assert job.source == tmp_path / "src"


def test_without_a_source_directory_it_is_the_folder_of_the_entry_script(
    tmp_path: Path,
) -> None:
    (tmp_path / "code").mkdir()
    path = write(tmp_path, "kind: parallel_run_step\nentry_script: ./code/add.py\n")

    job = read_job_file(path)

    assert job.source == tmp_path / "code"
    assert job.spec["entry_script"] == "add.py"


def test_a_multi_node_job_brings_its_working_directory_or_nothing(tmp_path: Path) -> None:
    with_folder = read_job_file(write(tmp_path, "kind: multi_node\nworking_directory: .\n"))
    without = read_job_file(write(tmp_path, "kind: multi_node\n"))

    assert with_folder.source == tmp_path
    assert without.source is None


def test_the_requirements_file_travels_as_its_lines(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("# ours\npillow==11.0.0\n\nnumpy\n")
    path = write(tmp_path, "environment: {python: '3.11', requirements_file: requirements.txt}")

    job = read_job_file(path)

    assert job.spec["environment"] == {
        "python": "3.11",
        "requirements": ["pillow==11.0.0", "numpy"],
    }


def test_a_date_stays_text(tmp_path: Path) -> None:
    job = read_job_file(write(tmp_path, "tags: {day: 2026-01-31, yes_or_no: true}"))

    assert job.spec["tags"] == {"day": "2026-01-31", "yes_or_no": True}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1", r"line \d+, column \d+: is no YAML"),
        ("name: a\nname: b", "line 2, column 1: .*the key name stands twice"),
        ("just words", "must be a map of keys to values"),
        ("", "must be a map of keys to values"),
        ("a: !!python/object:os.system x", "line 1, column 4"),
    ],
)
def test_a_bad_file_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadJobFile, match=message) as refused:
        read_job_file(write(tmp_path, text))

    assert "\n" not in refused.value.message


def test_a_missing_source_directory_is_a_problem_of_that_key(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed) as refused:
        read_job_file(write(tmp_path, "source_directory: nowhere\nentry_script: a.py"))

    [problem] = refused.value.problems
    assert problem.path == "source_directory"
    assert problem.found == str(tmp_path / "nowhere")


def test_the_archive_holds_the_code_without_what_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "__pycache__").mkdir()
    for name in ("score.py", "pkg/model.py", "data/big.bin", "__pycache__/score.pyc"):
        (tmp_path / name).write_text(name)
    (tmp_path / ".amlignore").write_text("data/\n")
    (tmp_path / "link.py").symlink_to(tmp_path / "score.py")

    with pack(tmp_path) as archive, tarfile.open(fileobj=archive) as tar:
        members = {member.name: member for member in tar}

    assert sorted(members) == [".amlignore", "link.py", "pkg/model.py", "score.py"]
    assert all(member.isreg() for member in members.values())


def test_a_link_to_a_folder_is_left_out_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)

    assert list(source_files(tmp_path)) == []
    assert "is a link to a folder" in capsys.readouterr().err


def test_settings_are_put_in_before_paths_are_resolved(tmp_path: Path) -> None:
    path = write(tmp_path, "kind: parallel_run_step\ninputs: [{name: a, path: old}]\n")

    job = read_job_file(path, {"inputs.0.path": "new", "run_max_try": "5"})

    assert job.spec["inputs"][0]["path"] == str(tmp_path / "new")
    assert job.spec["run_max_try"] == 5


def test_a_setting_with_an_unknown_key_names_the_nearest(tmp_path: Path) -> None:
    path = write(tmp_path, "kind: parallel_run_step\n")

    with pytest.raises(CommandFailed) as refused:
        read_job_file(path, {"run_max_trys": "5"})

    [problem] = refused.value.problems
    assert "did you mean run_max_try?" in problem.rule


def test_settings_are_key_and_value() -> None:
    assert read_settings(["run_max_try=5", "arguments=[a=b]", "name="]) == {
        "run_max_try": "5",
        "arguments": "[a=b]",
        "name": "",
    }
    with pytest.raises(CommandFailed, match="must be KEY=VALUE"):
        read_settings(["run_max_try"])
