"""What template tags make of values."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from prsweb.dashboard.templatetags import job_tags, page_tags
from runner.core.states import JobNodeState, JobState, MiniBatchState, NodeState


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "–"),
        (0, "0 ms"),
        (0.0004, "0.4 ms"),
        (0.25, "250 ms"),
        (4.26, "4.3 s"),
        (59.6, "60 s"),
        (270, "4 min 30 s"),
        (3600, "1 h 0 min"),
        (timedelta(days=3, hours=2), "3 d 2 h"),
    ],
)
def test_durations_have_two_units_at_most(seconds, words):
    assert page_tags.duration(seconds) == words


@pytest.mark.parametrize(
    ("count", "words"), [(None, "–"), (0, "0 B"), (1536, "1.5 KiB"), (5 << 40, "5120.0 GiB")]
)
def test_sizes_are_in_powers_of_1024(count, words):
    assert page_tags.byte_size(count) == words


def test_a_time_carries_its_whole_value():
    html = page_tags.moment(timezone.now())

    assert 'datetime="' in html
    assert html.count("Z") >= 2
    assert page_tags.moment(None) == "–"


def test_names_of_settings_become_code_and_all_else_is_escaped():
    html = job_tags.setting_names("<b> error_threshold allows 3; my_error_threshold_x & co")

    assert (
        html == "&lt;b&gt; <code>error_threshold</code> allows 3; my_error_threshold_x &amp; co"
    )


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[32mgreen\x1b[0m", "green"),
        ("10%\r50%\r\x1b[Kdone\r", "done"),
        ("bell\x07", "bell"),
        ("\r", ""),
    ],
)
def test_a_log_line_is_shown_as_it_stood_last(line, shown):
    assert job_tags.last_state(line) == shown


@pytest.mark.parametrize("machine", [JobState, JobNodeState, NodeState, MiniBatchState])
def test_every_state_has_a_look_of_its_own(machine):
    codes = [getattr(state, "word", state.value) for state in machine]

    assert [code for code in codes if code not in page_tags.STATE_LOOKS] == []


def test_an_unknown_state_shows_its_code():
    assert "Odd one" in page_tags.state_badge("odd_one")
