"""References to inputs, side inputs, models and outputs are paths on the node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from runner.node.references import fill_arguments, fill_variables, find_reference_paths
from runner.node.step_spec import StepSpec

OUTPUT = Path("/jobs/1/output")


def spec(**members: Any) -> StepSpec:
    return StepSpec(members)


def test_each_group_gives_its_path() -> None:
    paths = find_reference_paths(
        spec(
            inputs=[{"name": "scans", "path": "/data/scans"}],
            side_inputs={"labels": {"path": "/data/labels"}},
            models={"mnist": {"path": "/models/mnist"}},
            outputs={"report": {"path": None}, "elsewhere": {"path": "/out/there"}},
        ),
        OUTPUT,
    )

    filled = fill_arguments(
        [
            "--in=${{inputs.scans}}",
            "${{side_inputs.labels}}",
            "${{models.mnist}}/best.bin",
            "${{outputs.report}}",
            "${{outputs.elsewhere}}",
        ],
        paths,
    )

    assert filled == [
        "--in=/data/scans",
        "/data/labels",
        "/models/mnist/best.bin",
        "/jobs/1/output/report",
        "/out/there",
    ]


def test_an_input_of_several_paths_gives_all_of_them() -> None:
    paths = find_reference_paths(spec(inputs=[{"name": "a", "path": ["/x", "/y"]}]), OUTPUT)

    assert fill_variables({"A": "${{inputs.a}}"}, paths) == {"A": "/x /y"}


def test_text_without_references_stays_as_it_is() -> None:
    assert fill_arguments(["--limit", "0.5", "$HOME"], {}) == ["--limit", "0.5", "$HOME"]
