"""The name of a master lease's owner tells whether its process still lives."""

from __future__ import annotations

import subprocess
import sys

import pytest

from prsweb.jobs.services.lease_owner import SEPARATOR, draw_owner, is_gone

DRAW = "from prsweb.jobs.services.lease_owner import draw_owner; print(draw_owner())"


def test_the_owner_in_this_process_is_not_gone() -> None:
    assert not is_gone(draw_owner())


def test_the_owner_in_a_process_that_has_ended_is_gone() -> None:
    owner = subprocess.check_output([sys.executable, "-c", DRAW], text=True).strip()

    assert is_gone(owner)


def test_a_number_that_another_process_has_by_now_does_not_count_as_alive() -> None:
    machine, pid, started, drawn = draw_owner().split(SEPARATOR)

    assert is_gone(SEPARATOR.join((machine, pid, str(int(started) - 100), drawn)))


def test_the_owner_on_another_machine_is_not_known_to_be_gone() -> None:
    _, *rest = draw_owner().split(SEPARATOR)

    assert not is_gone(SEPARATOR.join(("0123456789ab", *rest)))


@pytest.mark.parametrize("owner", [None, "", "x", "a-b-c-d", "0" * 32])
def test_a_name_of_another_form_is_not_known_to_be_gone(owner: str | None) -> None:
    assert not is_gone(owner)
