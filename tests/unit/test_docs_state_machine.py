"""The diagrams of ``docs/state_machine.md`` are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

from runner.core.states import (
    JOB_MOVES,
    JOB_NODE_MOVES,
    NODE_MOVES,
    TERMINAL_STATES,
    JobNodeState,
    JobState,
    NodeState,
    mermaid,
)

PAGE = Path(__file__).resolve().parents[2] / "docs" / "state_machine.md"
DIAGRAM = re.compile(r"```mermaid\n(.*?)\n```", re.DOTALL)


def test_the_page_draws_exactly_the_moves_of_the_code():
    diagrams = DIAGRAM.findall(PAGE.read_text())

    assert diagrams == [
        mermaid(JOB_MOVES, JobState.SUBMITTED),
        mermaid(JOB_NODE_MOVES, JobNodeState.STARTING),
        mermaid(NODE_MOVES, NodeState.ONLINE),
    ]


def test_the_page_names_every_state_that_is_never_left():
    text = PAGE.read_text()

    for state in TERMINAL_STATES:
        assert f"`{state}`" in text
