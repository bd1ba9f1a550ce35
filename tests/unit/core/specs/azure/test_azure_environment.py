"""Environments of Azure: conda files, definitions, folders."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.core.specs.azure.azure_jobs import problems_of, read, v1, v2_task, warnings_of

CONDA = """
name: env
channels: [conda-forge]
dependencies:
  - python=3.8.5
  - pip=21
  - conda-forge::numpy=1.21=py38_0
  - scipy>=1.5
  - pip: [azureml-defaults, "pillow==11.0.0", "azureml-dataset-runtime[pandas]"]
"""
REQUIREMENTS = ["numpy==1.21.*", "scipy>=1.5", "pillow==11.0.0"]


def environment_of(raw: dict[str, Any], files: dict[str, str] | None = None) -> Any:
    environment = read(raw, files).environment
    return environment.model_dump(exclude_none=True, exclude={"build_timeout"})


@pytest.mark.parametrize(
    ("environment", "files"),
    [
        (
            {"conda_file": "./conda.yml", "image": "x"},
            {"conda.yml": CONDA, "./conda.yml": CONDA},
        ),
        ("env/e.yml", {"env/e.yml": "conda_file: c.yml", "env/c.yml": CONDA}),
        ("file:env/c.yml", {"env/c.yml": CONDA}),
    ],
)
def test_a_v2_environment_is_its_conda_file(environment: Any, files: dict[str, str]) -> None:
    raw = v2_task(environment=environment)

    assert environment_of(raw, files) == {"python": "3.8.5", "requirements": REQUIREMENTS}
    assert "azureml-defaults, azureml-dataset-runtime[pandas] is left out" in warnings_of(
        raw, files
    )
    assert "conda packages are installed by pip: numpy==1.21.*, scipy>=1.5." in warnings_of(
        raw, files
    )


def test_a_v1_definition_is_read_and_its_variables_are_merged() -> None:
    environment = {
        "name": "e",
        "environmentVariables": {"A": "1", "B": 2},
        "python": {"interpreterPath": "/opt/python", "userManagedDependencies": True},
        "docker": {"baseImage": "x"},
    }
    raw = v1(environment=environment, environment_variables={"A": "own"})

    assert environment_of(raw) == {"python": "/opt/python"}
    assert read(raw).environment_variables == {"A": "own", "B": "2"}
    assert "environment.docker: has no effect here" in warnings_of(raw)
    assert "environment.environmentVariables: is merged" in warnings_of(raw)


def test_a_v1_folder_holds_a_conda_file() -> None:
    raw = v1(environment=..., environment_dir_path="./env/")

    files = {"./env/conda_dependencies.yml": CONDA}
    assert environment_of(raw, files)["python"] == "3.8.5"
    assert "the folder holds none of" in problems_of(raw, {})[0]
    assert "which ./prs submit reads" in problems_of(raw)[0]


def test_a_requirements_file_is_taken_from_where_the_conda_file_lies() -> None:
    conda = "dependencies: [{pip: [-r requirements.txt]}]"

    found = environment_of(v2_task(environment="env/conda.yml"), {"env/conda.yml": conda})

    assert found == {"requirements_file": "env/requirements.txt"}


def test_an_environment_of_an_image_alone_is_the_nodes_own_python() -> None:
    raw = v2_task(environment={"image": "mcr.example/x"})

    assert read(raw).environment is None
    assert "task.environment.image: has no effect here" in warnings_of(raw)


@pytest.mark.parametrize(
    ("environment", "problem"),
    [
        (
            {"conda_file": "none.yml"},
            "task.environment.conda_file: cannot be read: no such file",
        ),
        ({"conda_file": {"dependencys": []}}, "did you mean dependencies?"),
        ({"conda_file": {"dependencies": [5]}}, "task.environment.conda_file.dependencies[0]:"),
        ({"conda_file": {"dependencies": [{"pip": "x"}]}}, "pip: must be a list of text"),
        ("bad.yml", "task.environment: bad.yml: line 1, column"),
        (5, "task.environment: must be a map, or the path of a YAML file (found: 5)"),
    ],
)
def test_a_wrong_environment_is_refused(environment: Any, problem: str) -> None:
    found = problems_of(v2_task(environment=environment), {"bad.yml": "a: \t*x"})

    assert any(problem in one for one in found)
