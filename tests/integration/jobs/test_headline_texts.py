"""The sentences, as people read them."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from prsweb.jobs.headline_texts import (
    duration_words,
    exit_words,
    headline_of,
    list_headline,
)
from prsweb.jobs.models import ErrorGroup, JobNode, JobProcess
from runner.core.states import JobKind, JobNodeState, JobState

KEY_ERROR = {"title": "KeyError: 'label'", "kind": "exception", "place": "", "count": 39}


def running_since(seconds):
    return {"running_at": timezone.now() - timedelta(seconds=seconds)}


def start_parts(job, *, nodes, processes):
    for index in range(nodes):
        JobNode.objects.create(
            job=job,
            assignment=index + 1,
            index=index,
            node_name=f"n{index + 1}",
            boot_id="b",
            address="127.0.1.1",
            granted_at=timezone.now(),
        )
    for number in range(processes):
        JobProcess.objects.create(
            job=job,
            assignment=1,
            node_index=0,
            node_name="n1",
            number=number,
            pid=1,
            segment="s",
            started_at=timezone.now(),
        )


def test_running(make_job):
    job = make_job(
        state=JobState.RUNNING,
        attempt=1,
        spec={"mini_batch_error_threshold": 10},
        mini_batches_created=1000,
        succeeded_count=809,
        failed_count=3,
        remaining_seconds_low=240,
        remaining_seconds_high=360,
    )
    start_parts(job, nodes=2, processes=8)

    headline = headline_of(job)

    assert headline.text == (
        "Running: 812 of 1,000 mini-batches done on 2 nodes (8 processes), about 4–6 min left; "
        "3 failed so far, mini_batch_error_threshold allows 10."
    )
    assert headline.actions[0].text == "Show the errors"


def test_running_while_the_input_is_listed(make_job):
    job = make_job(
        state=JobState.RUNNING,
        is_listing=True,
        mini_batches_created=212_000,
        succeeded_count=40_000,
    )

    assert list_headline(job).text == (
        "Running: 40,000 mini-batches done, 212,000 created so far; the input is still being "
        "listed, so there is no end time yet."
    )


def test_running_early(make_job):
    job = make_job(state=JobState.RUNNING, mini_batches_created=1000, succeeded_count=6)

    assert list_headline(job).text == (
        "Running: 6 of 1,000 mini-batches done; a time left is shown after 10."
    )


@pytest.mark.parametrize(
    ("cause", "facts", "text"),
    [
        (
            "error_threshold / run_exception",
            {
                "setting": "error_threshold",
                "limit": 2000,
                "value": 2050,
                "dominant": KEY_ERROR,
                "failed_tries": 41,
            },
            "Failed: 2,050 items failed and error_threshold allows 2,000; 39 of 41 failed "
            "tries: KeyError: 'label'; stopped by error_threshold with 641 of 1,000 "
            "mini-batches done.",
        ),
        (
            "mini_batch_error_threshold",
            {
                "setting": "mini_batch_error_threshold",
                "limit": 10,
                "value": 11,
                "group_count": 3,
            },
            "Failed: 11 mini-batches failed and mini_batch_error_threshold allows 10; the "
            "cause is 3 different errors; stopped by that threshold.",
        ),
        (
            "allowed_failed_percent",
            {
                "setting": "allowed_failed_percent",
                "limit": 5.0,
                "value": 6.2,
                "failed_mini_batches": 62,
            },
            "Failed: 62 of 1,000 mini-batches failed (6.2%) and allowed_failed_percent allows "
            "5; decided when all had run.",
        ),
        (
            "nothing_succeeded",
            {"results": 0},
            "Failed: all 1,000 mini-batches ran but run() returned no item, so append_row has "
            "nothing to write; decided by the outcome rule, not by a threshold.",
        ),
        (
            "init_failed / run_exception",
            {
                "init_failures": 16,
                "node_count": 2,
                "dominant": {**KEY_ERROR, "title": "FileNotFoundError: model.pkl"},
            },
            "Failed: init() failed 16 times on 2 nodes and never succeeded, with "
            "FileNotFoundError: model.pkl; decided by the init limit (2 × nodes × processes).",
        ),
        (
            "no_input",
            {"path": "/data/in"},
            "Failed: the input has no item: /data/in; decided by the master role.",
        ),
    ],
)
def test_failed_by_each_cause(make_job, cause, facts, text):
    job = make_job(
        state=JobState.FAILED,
        state_reason="the input has no item: /data/in",
        attempt=1,
        cause=cause,
        decided_by="master role",
        outcome_facts=facts,
        mini_batches_created=1000,
        succeeded_count=600,
        failed_count=41,
        failed_items=2050,
    )

    assert headline_of(job).text == text
    assert list_headline(job).text == text


def test_init_failing(make_job):
    job = make_job(state=JobState.STARTING, attempt=1, error_group_count=1)
    now = timezone.now()
    ErrorGroup.objects.create(
        job=job,
        fingerprint="v1:a",
        kind="init_failed",
        title="FileNotFoundError: model.pkl",
        count=5,
        nodes=["n1"],
        first_at=now,
        last_at=now,
    )

    assert headline_of(job).text == (
        "Starting, with a problem: init() has failed 5 times on node n1 "
        "(FileNotFoundError: model.pkl); the init limit decides when it is too often."
    )


def test_the_main_nodes_exit_has_a_meaning(make_job):
    job = make_job(
        kind="multi_node",
        state=JobState.FAILED,
        attempt=1,
        exit_code=139,
        main_node=0,
        node_count=8,
        ended_at=timezone.now(),
        running_at=timezone.now() - timedelta(minutes=12),
    )

    assert headline_of(job).text == (
        "Failed: the main node (node 0) exited with code 139 (segmentation fault) after "
        "12 min; it decides the outcome, so the 7 child nodes were stopped."
    )


def test_a_child_that_failed_before_a_good_end_is_named(make_job):
    now = timezone.now()
    job = make_job(
        kind="multi_node",
        state=JobState.SUCCEEDED,
        attempt=1,
        main_node=0,
        node_count=3,
        ended_at=now,
        running_at=now - timedelta(minutes=34),
    )
    start_parts(job, nodes=3, processes=0)
    ended = {
        0: (JobNodeState.SUCCEEDED, 0, now),
        1: (JobNodeState.FAILED, 139, now - timedelta(minutes=5)),
        2: (JobNodeState.FAILED, 143, now + timedelta(seconds=1)),  # stopped with the main
    }
    for index, (state, code, at) in ended.items():
        JobNode.objects.filter(job=job, index=index).update(
            state=state, exit_code=code, ended_at=at, is_main=index == 0
        )

    assert headline_of(job).text == (
        "Succeeded: the main node exited with 0 after 34 min; child node 1 had failed "
        "(code 139), which does not change the outcome."
    )


def test_what_a_job_waits_for_is_said_once(make_job):
    job = make_job(state=JobState.RUNNABLE, state_reason="waiting for nodes: 0 are free")

    assert headline_of(job).text == ("Waiting for nodes: 0 are free; decided by the scheduler.")


def test_cancelling_and_cancelled(make_job):
    at = timezone.now().replace(hour=11, minute=2)
    asked = {
        "cancel_requested_at": at,
        "cancel_requested_by": "token nightly of maria",
        "cancel_reason": "wrong model",
    }
    running = make_job(state=JobState.RUNNING, attempt=1, **asked)
    start_parts(running, nodes=1, processes=3)
    JobProcess.objects.filter(number=0).update(ended_at=at)
    ended = make_job(
        state=JobState.CANCELLED,
        attempt=1,
        mini_batches_created=1000,
        succeeded_count=640,
        **asked,
    )

    assert headline_of(running).text == (
        'Cancelling, asked by token nightly of maria at 11:02 ("wrong model"): 1 of 3 '
        "processes have ended."
    )
    assert headline_of(ended).text == (
        'Cancelled by token nightly of maria at 11:02 ("wrong model") after 640 of 1,000 '
        "mini-batches; no process is left."
    )


def test_succeeded(make_job):
    job = make_job(
        state=JobState.SUCCEEDED,
        attempt=1,
        mini_batches_created=90,
        items_created=1797,
        succeeded_count=90,
        succeeded_items=1797,
        ended_at=timezone.now(),
        running_at=timezone.now() - timedelta(seconds=724),
    )

    assert headline_of(job).text == (
        "Succeeded: 1,797 of 1,797 items in 90 mini-batches in 12 min 4 s."
    )


@pytest.mark.parametrize("state", list(JobState))
@pytest.mark.parametrize("kind", list(JobKind))
def test_every_state_of_every_kind_has_a_whole_sentence(make_job, state, kind):
    job = make_job(state=state, kind=kind, state_reason="waiting for nodes")

    for headline in (headline_of(job), list_headline(job)):
        assert headline.text.endswith(".")
        assert not re.search(r"None|\{|  |\.\.", headline.text)


def test_a_list_costs_no_query(make_job, django_assert_num_queries):
    job = make_job(state=JobState.RUNNING, error_group_count=1)

    with django_assert_num_queries(0):
        list_headline(job)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.35, "0.3 s"),
        (42.4, "42 s"),
        (270, "4 min 30 s"),
        (600, "10 min"),
        (7260, "2 h 1 min"),
        (90_000, "1 d 1 h"),
        (None, "an unknown time"),
    ],
)
def test_durations_have_two_units_at_most(seconds, words):
    assert duration_words(seconds) == words


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (1, "1"),
        (127, "127 (command not found)"),
        (137, "137 (killed)"),
        (139, "139 (segmentation fault)"),
        (255, "255"),
    ],
)
def test_an_exit_code_has_its_meaning(code, words):
    assert exit_words(code) == words
