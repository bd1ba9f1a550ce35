"""Mini-batches: rows for those that have ended, the manifest for the rest."""

from __future__ import annotations

import pytest
from django.utils import timezone

from prsweb.jobs.filters import MiniBatchFilter
from prsweb.jobs.models import ErrorGroup, JobNode, MiniBatch, MiniBatchTry
from prsweb.jobs.models.mini_batch import mini_batch_key, process_key
from prsweb.jobs.selectors import mini_batches as module
from prsweb.jobs.selectors.mini_batches import (
    NoSuchMiniBatch,
    mini_batch,
    mini_batch_page,
)
from prsweb.jobs.selectors.try_logs import try_log_places
from runner.core.manifest import ManifestWriter
from runner.core.states import JobState, MiniBatchState
from runner.core.wire_format import wire

pytestmark = pytest.mark.usefixtures("no_redis")

START_US = 1_700_000_000_000_000


def end_mini_batch(job, index, state=MiniBatchState.SUCCEEDED, **fields):
    defaults = {
        "items": 2,
        "succeeded": 2,
        "results": 2,
        "tries": 1,
        "status": wire.RUN_DONE,
        "process": process_key(0, 3),
        "offset": 0,
        "length": 10,
        "started_us": START_US,
        "wait_us": 1_000,
        "load_us": 2_000,
        "run_us": 3_000_000,
        "total_us": 4_000_000,
    }
    MiniBatch.objects.create(
        key=mini_batch_key(job.pk, index), state=state, **(defaults | fields)
    )


def fail_try(job, index, number=1, **fields):
    MiniBatchTry.objects.create(
        mini_batch=mini_batch_key(job.pk, index),
        number=number,
        status=wire.RUN_EXCEPTION,
        process=process_key(0, 2),
        items=2,
        started_us=START_US,
        wait_us=0,
        load_us=0,
        run_us=0,
        total_us=1_000_000,
        **fields,
    )


@pytest.fixture
def job(make_job, home):
    """10 mini-batches: 0-4 ended (3 failed, 4 partial), 5 to be tried again, 6-9 wait."""
    job = make_job(
        state=JobState.RUNNING,
        mini_batches_created=10,
        items_created=20,
        succeeded_count=3,
        failed_count=1,
        partial_count=1,
        retrying_count=1,
    )
    JobNode.objects.create(
        job=job,
        assignment=1,
        index=0,
        node_name="n1",
        boot_id="b",
        address="127.0.1.1",
        granted_at=timezone.now(),
    )
    manifest = ManifestWriter(home.job(job.job_id))
    for index in range(10):
        manifest.append_paths([f"/data/{index}-{item}.txt".encode() for item in (0, 1)], 0)
    manifest.close()
    now = timezone.now()
    group = ErrorGroup.objects.create(
        job=job, fingerprint="v1:bad", kind="exception", title="E", first_at=now, last_at=now
    )
    for index in range(3):
        end_mini_batch(job, index, run_us=1_000_000 * (index + 1))
    end_mini_batch(job, 3, MiniBatchState.FAILED, succeeded=0, results=0, tries=2)
    fail_try(job, 3, 1, error="first", error_group=group)
    fail_try(job, 3, 2, error="ValueError: bad", error_group=group)
    end_mini_batch(job, 4, MiniBatchState.PARTIAL, succeeded=1, results=1)
    fail_try(job, 5, error="once", error_group=group)
    return job


def pages(job, **query):
    """Every index and state, page after page."""
    seen, after = [], ""
    while after is not None:
        wanted = MiniBatchFilter.model_validate({**query, "after": after, "limit": 3})
        page = mini_batch_page(job, wanted)
        assert len(page.mini_batches) <= 3
        seen += [(one.index, one.state) for one in page.mini_batches]
        after = page.next
    return seen


WHOLE = [
    (0, "succeeded"),
    (1, "succeeded"),
    (2, "succeeded"),
    (3, "failed"),
    (4, "partial"),
    (5, "retrying"),
    (6, "waiting"),
    (7, "waiting"),
    (8, "waiting"),
    (9, "waiting"),
]


def test_without_filter_every_mini_batch_is_there_in_both_directions(job):
    assert pages(job) == WHOLE
    assert pages(job, sort="-number") == WHOLE[::-1]


@pytest.mark.parametrize(
    ("state", "indexes"),
    [
        ("succeeded", [0, 1, 2]),
        ("failed", [3]),
        ("partial", [4]),
        ("retrying", [5]),
        ("waiting", [6, 7, 8, 9]),
        ("running", []),
        ("not_run", []),
        ("unfinished", [5, 6, 7, 8, 9]),
    ],
)
def test_a_state_gives_its_mini_batches(job, monkeypatch, state, indexes):
    monkeypatch.setattr(module, "WINDOW", 4)

    assert [index for index, _ in pages(job, state=state)] == indexes
    assert [index for index, _ in pages(job, state=state, sort="-number")] == indexes[::-1]


def test_after_the_end_what_has_no_row_was_not_run(job):
    job.state = JobState.FAILED

    assert [index for index, _ in pages(job, state="not_run")] == [5, 6, 7, 8, 9]


@pytest.mark.parametrize(
    ("query", "indexes"),
    [
        ({"node": "n1"}, [0, 1, 2, 3, 4]),
        ({"node": "n9"}, []),
        ({"node": "n1", "process": "process003"}, [0, 1, 2, 3, 4]),
        ({"process": "process004"}, []),
        ({"error": "v1:bad"}, [3]),
        ({"min_tries": 2}, [3]),
        ({"sort": "-run", "state": "succeeded"}, [2, 1, 0]),
        ({"sort": "run", "state": "succeeded"}, [0, 1, 2]),
        ({"sort": "-tries"}, [3, 0, 1, 2, 4]),
    ],
)
def test_filters_and_sorts(job, query, indexes):
    assert [index for index, _ in pages(job, **query)] == indexes


def test_a_walk_without_time_says_how_far_it_came_and_goes_on(job, monkeypatch):
    monkeypatch.setattr(module, "WINDOW", 2)
    monkeypatch.setattr(module, "WALK_SECONDS", -1)

    first = mini_batch_page(job, MiniBatchFilter.model_validate({"state": "waiting"}))

    assert first.searched_to == 1
    assert [index for index, _ in pages(job, state="waiting")] == [6, 7, 8, 9]


def test_a_mini_batch_tells_items_tries_and_why(job):
    failed = mini_batch(job, 3)

    assert failed.item_names == ("/data/3-0.txt", "/data/3-1.txt")
    assert (failed.items, failed.succeeded, failed.failed) == (2, 0, 2)
    assert (failed.reason, failed.error) == ("ValueError: bad", "v1:bad")
    assert [(one.number, one.status) for one in failed.try_list] == [
        (2, "RUN_EXCEPTION"),
        (1, "RUN_EXCEPTION"),
    ]
    assert (failed.node, failed.process) == ("n1", "process003")


def test_a_success_at_the_first_go_has_its_one_try(job):
    (only,) = mini_batch(job, 0).try_list

    assert (only.number, only.status, only.error) == (1, "RUN_DONE", None)
    assert only.duration_seconds == 4.0


def test_a_partial_one_says_what_was_returned(job):
    assert mini_batch(job, 4).reason == "run() returned 1 results for 2 items"


def test_one_that_is_to_be_tried_again_shows_its_failed_try(job):
    found = mini_batch(job, 5)

    assert found.state == "retrying"
    assert found.items == 2
    assert [one.error for one in found.try_list] == ["once"]


@pytest.mark.parametrize("index", [-1, 10])
def test_a_number_that_does_not_exist_says_so(job, index):
    with pytest.raises(NoSuchMiniBatch):
        mini_batch(job, index)


def test_without_manifest_the_page_still_answers(job, home):
    home.job(job.job_id).manifest_index.unlink()

    assert pages(job) == WHOLE


def test_the_number_of_queries_is_pinned(job, django_assert_max_num_queries):
    with django_assert_max_num_queries(6):
        mini_batch_page(job, MiniBatchFilter.model_validate({}))


def test_neighbouring_jobs_do_not_mix(job, make_job):
    other = make_job(mini_batches_created=2)
    end_mini_batch(other, 0)

    assert [state for _, state in pages(other)] == ["succeeded", "waiting"]
    assert len(pages(job)) == 10


def test_the_lines_of_a_try_are_found_in_the_logs(job, home):
    logs = home.job(job.job_id).logs
    errors, system = logs / "user/error/n1", logs / "sys/node/n1"
    for folder in (errors, system):
        folder.mkdir(parents=True)
    (errors / "process002.txt").write_text(
        "t|mini-batch 33 try 1|Traceback\n  x\n"
        "t|mini-batch 3 try 1|Traceback\n  File\nValueError: first\n"
        "t|mini-batch 3 try 2|Traceback\nValueError: bad\n"
    )
    (system / "process002.txt").write_text(
        "start\nt|picked mini-batch 3 try 1 of 2: 2 items\nt|note\n"
        "t|done mini-batch 3 try 1: status RUN_EXCEPTION\n"
    )

    places = try_log_places(job, 3, mini_batch(job, 3).try_list)

    assert [(one.path, one.first, one.last) for one in places[1]] == [
        ("user/error/n1/process002.txt", 3, 5),
        ("sys/node/n1/process002.txt", 2, 4),
    ]
    assert [(one.path, one.first, one.last) for one in places[2]] == [
        ("user/error/n1/process002.txt", 6, 7),
    ]
