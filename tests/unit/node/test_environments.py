from __future__ import annotations

from pathlib import Path

import pytest

from runner.node import environments
from runner.node.environments import EnvironmentFailed, Environments, Wanted


def interpreter(folder: Path, body: str) -> str:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("true", "is no Python: asked for its version it said ''"),
        ("echo hello world", "is no Python: asked for its version it said 'hello world'"),
        ("echo broken >&2; exit 3", "ended with exit code 3: broken"),
        ("echo 2.7.18 2 7", "is 2.7, older than 3.8"),
        ("sleep 20", "did not say its version in 0.2 s"),
    ],
)
def test_what_is_no_interpreter_is_told_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, said: str
) -> None:
    monkeypatch.setattr(environments, "PROBE_SECONDS", 0.2 if "sleep" in body else 20.0)
    python = interpreter(tmp_path, body)
    builder = Environments(
        tmp_path / "cache", python, log=tmp_path / "log", marks={}, is_stopped=lambda: False
    )

    with pytest.raises(EnvironmentFailed) as failed:
        builder.find_python(Wanted(python=python, requirements=(), build_seconds=5.0))

    assert said in str(failed.value)
