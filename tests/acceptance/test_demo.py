"""``./prs demo --exit --json`` on an empty home."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.acceptance.live_system import CHECKOUT, EXAMPLES, PRS, LiveSystem
from tests.acceptance.processes_of_home import processes_of

MEMBERS = {
    "id", "name", "kind", "state", "mini_batches", "items", "succeeded_items", "failed_items",
    "output", "folder", "seconds",
}  # fmt: skip


def test_the_demo_runs_three_jobs_on_real_data_and_leaves_nothing_behind(tmp_path: Path):
    home = tmp_path / "home"

    demo = subprocess.run(
        [*PRS, "demo", "--exit", "--json", "--port", "0"],
        env=LiveSystem(home, nodes=2).environment(),
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert demo.returncode == 0, demo.stderr
    answer = json.loads(demo.stdout)
    assert set(answer) == {"url", "jobs"}
    assert answer["url"].startswith("http://127.0.0.1:")
    assert [(job["name"], job["kind"], job["state"]) for job in answer["jobs"]] == [
        ("digits", "parallel_run_step", "SUCCEEDED"),
        ("iris", "parallel_run_step", "SUCCEEDED"),
        ("ring", "multi_node", "SUCCEEDED"),
    ]
    assert all(set(job) == MEMBERS for job in answer["jobs"])
    assert processes_of(home) == []
    assert list((home / "run").iterdir()) == []  # no socket, no lock, no address

    digits, iris, ring = answer["jobs"]
    counts = [
        digits[key] for key in ("mini_batches", "items", "succeeded_items", "failed_items")
    ]
    assert counts == [90, 1797, 1797, 0]
    rows = Path(digits["output"]).read_text().splitlines()
    assert [row.partition(": ")[0] for row in rows] == [
        f"digit-{n:04d}.png" for n in range(1797)
    ]
    assert all(row.partition(": ")[2] in "0123456789" for row in rows)

    assert [iris[key] for key in ("items", "succeeded_items", "failed_items")] == [150, 150, 0]
    table = Path(iris["output"]).read_text().splitlines()
    assert table[0] == "flower,species,nearest_species,distance"
    assert [line.split(",")[0] for line in table[1:]] == flowers_in_input_order()

    assert [ring[key] for key in ("mini_batches", "items", "output")] == [None, None, None]
    main_log = Path(ring["folder"]) / "logs" / "nodes" / "0" / "attempt-1.log"
    assert "sum 1000 after 1000 rounds of 2 nodes" in main_log.read_text()
    assert "Accuracy: 98.2 %" in demo.stderr


def flowers_in_input_order() -> list[str]:
    files = sorted((EXAMPLES / "iris" / "data").glob("*.csv"))
    return [line.split(",")[0] for path in files for line in path.read_text().splitlines()[1:]]
