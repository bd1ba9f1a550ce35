"""A job whose pages move for as long as a test looks at them."""

from __future__ import annotations

import json
from pathlib import Path

FILES = 600
SCRIPT = """
import time
from pathlib import Path


def run(mini_batch):
    number = int(Path(mini_batch[0]).stem)
    print(f"looking at {number}", flush=True)
    time.sleep(0.2)
    if number % 10 == 3:
        raise KeyError("label")
    return [f"{number}: good"]
"""


def write_slow_job(folder: Path) -> Path:
    """Return the path of the job file; the job takes half a minute on two nodes."""
    code, data = folder / "code", folder / "data"
    code.mkdir()
    data.mkdir()
    (code / "slow.py").write_text(SCRIPT)
    for number in range(FILES):
        (data / f"{number}.txt").write_text("")
    spec = {
        "kind": "parallel_run_step",
        "name": "slow",
        "inputs": [{"name": "texts", "type": "files", "path": str(data)}],
        "source_directory": str(code),
        "entry_script": "slow.py",
        "mini_batch_size": 1,
        "node_count": 2,
        "process_count_per_node": 2,
        "run_max_try": 1,
        "error_threshold": -1,
        "output_action": "append_row",
    }
    path = folder / "job.json"
    path.write_text(json.dumps(spec))
    return path
