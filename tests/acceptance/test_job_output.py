"""The output file of a job: where it is, its rows in input order, its format."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from tests.acceptance.live_system import LiveSystem
from tests.acceptance.step_jobs import ECHO_NAMES, MakeStep

TABLE = """
    from pathlib import Path
    import pandas as pd

    def run(mini_batch):
        names = [Path(path).stem + " b" for path in mini_batch]
        return pd.DataFrame({"name": names, "n": range(len(names))})
"""


def test_the_result_is_found_by_page_command_and_result_file(
    system: LiveSystem, make_step: MakeStep
):
    job = system.run(make_step(ECHO_NAMES))

    path = Path(job["output"])
    assert path == system.folder(job["id"]).output / "parallel_run_step.txt"
    content = path.read_bytes()
    assert content.decode().splitlines() == [f"f{number:02d}.txt" for number in range(20)]
    assert system.prs("output", job["id"]).output == f"{path}\n"
    answer = system.prs_json("output", job["id"])
    digest = hashlib.sha256(content).hexdigest()
    assert (answer["output"], answer["rows"]) == (str(path), 20)
    assert (answer["bytes"], answer["sha256"]) == (len(content), digest)
    assert answer["files"] == [{"path": "parallel_run_step.txt", "bytes": len(content)}]
    line = (
        f"Output: output/parallel_run_step.txt, 20 rows, {len(content)} bytes, sha256 {digest}"
    )
    assert line in system.log_text(job["id"], "job_result.txt").splitlines()
    raw = system.call(
        "GET", f"/jobs/{job['id']}/outputs/raw", params={"path": "parallel_run_step.txt"}
    )
    assert raw.content == content


def test_the_output_can_be_downloaded(
    system: LiveSystem, faulty: dict[str, Any], tmp_path: Path
):
    system.prs_json("output", faulty["id"], "--download", tmp_path / "copy")

    copy = tmp_path / "copy" / "parallel_run_step.txt"
    assert copy.read_bytes() == Path(faulty["output"]).read_bytes()


def test_a_header_stands_once_on_top_and_only_when_asked_for(
    system: LiveSystem, make_step: MakeStep
):
    asked = system.run(make_step(TABLE, arguments=["--append_row_dataframe_header", "True"]))
    silent = system.run(make_step(TABLE))

    lines = Path(asked["output"]).read_text().splitlines()
    assert lines[0] == "name n"
    assert lines[1:] == Path(silent["output"]).read_text().splitlines()
    assert len(lines) == 21
    assert lines[1] == '"f00 b" 0'


def test_csv_output_has_commas_and_a_header(system: LiveSystem, make_step: MakeStep):
    job = system.run(make_step(TABLE, output={"format": "csv"}, append_row_file_name="r.csv"))

    lines = Path(job["output"]).read_text().splitlines()
    assert Path(job["output"]).name == "r.csv"
    assert lines[:3] == ["name,n", "f00 b,0", "f01 b,1"]
    assert lines.count("name,n") == 1
    assert len(lines) == 21


def test_text_output_named_csv_is_warned_of(system: LiveSystem, make_step: MakeStep):
    job_file = make_step(TABLE, append_row_file_name="r.csv")

    answer = system.prs_json("submit", job_file, "--dry-run")

    assert any("r.csv" in warning for warning in answer["warnings"])


def test_a_rank_job_without_rows_has_an_empty_output(system: LiveSystem, make_step: MakeStep):
    job = system.run(
        make_step(
            "def run(mini_batch):\n    return []\n",
            rank_mini_batch_count=4,
            inputs=None,
            mini_batch_size=None,
        )
    )

    assert job["state"] == "SUCCEEDED", job["reason"]
    assert (job["mini_batches"], job["items"], job["succeeded_items"]) == (4, 4, 4)
    assert Path(job["output"]).read_bytes() == b""


def test_summary_only_has_no_output_file_and_keeps_the_scripts_own(
    system: LiveSystem, make_step: MakeStep
):
    script = """
        from pathlib import Path
        from azureml_user.parallel_run import EntryScript

        def run(mini_batch):
            Path("outputs/data").mkdir(parents=True, exist_ok=True)
            for path in map(Path, mini_batch):
                Path("outputs/data", path.name).write_text("done")
                (EntryScript().output_dir / f"{path.stem}.ok").write_text("done")
            return list(mini_batch)
    """

    job = system.run(make_step(script, output_action="summary_only"))

    assert job["state"] == "SUCCEEDED", job["reason"]
    assert job["output"] is None
    answer = system.prs_json("output", job["id"])
    names = {one["path"] for one in answer["files"]}
    assert names == {f"data/f{n:02d}.txt" for n in range(20)} | {
        f"f{n:02d}.ok" for n in range(20)
    }
    assert answer["rows"] is None
    assert system.prs("output", job["id"]).output == f"{job['output_folder']}\n"


def test_rows_of_a_table_in_bytes_come_out_as_they_came_in(
    system: LiveSystem, make_step: MakeStep
):
    job_file = make_step(
        "def run(mini_batch):\n    return mini_batch\n",
        mini_batch_size="20",
        inputs=[{"name": "people", "type": "table", "path": "people.csv"}],
        output={"format": "csv"},
    )
    lines = [f"person {number},{number:030d}" for number in range(100)]
    (job_file.parent / "people.csv").write_text(
        "\n".join(["name,text", *(line.replace(",", ",x") for line in lines)]) + "\n"
    )

    warned = system.prs_json("submit", job_file, "--dry-run")["warnings"]
    job = system.run(job_file)

    assert any("20 bytes" in one and "20rows" in one for one in warned), warned
    assert job["state"] == "SUCCEEDED", job["reason"]
    assert (job["mini_batches"], job["items"]) == (100, 100)
    assert Path(job["output"]).read_text() == (job_file.parent / "people.csv").read_text()
