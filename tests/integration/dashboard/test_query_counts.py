"""How many queries a page may cost, whatever the number of its rows."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_redis")]

# Page of a job -> most queries, those for session and user among them.
LIMITS = {
    "": 12,
    "mini-batches/": 10,
    "mini-batches/?state=failed": 10,
    "nodes/": 10,
    "resources/": 8,
    "logs/sys/master_role.txt": 9,
    "errors/": 9,
    "config/": 8,
    "outputs/": 8,
    "history/": 10,
}


def _short(sql):
    """The query without the names of its columns."""
    return re.sub(r"^SELECT .*? FROM", "SELECT … FROM", sql)[:300]


def queries_of(client, url):
    with CaptureQueriesContext(connection) as captured:
        assert client.get(url).status_code == 200
    return len(captured), "\n".join(_short(query["sql"]) for query in captured)


def test_the_job_list_costs_six_queries_whatever_its_length(client, alice, full_job):
    client.force_login(alice)
    for _ in range(5):
        full_job()

    count, sql = queries_of(client, "/jobs/")

    assert count <= 6, sql


@pytest.mark.parametrize("page", LIMITS)
def test_a_page_of_a_job_costs_few_queries(client, alice, full_job, page):
    client.force_login(alice)
    job = full_job()

    count, sql = queries_of(client, f"/jobs/{job.job_id}/{page}")

    assert count <= LIMITS[page], sql


@pytest.mark.parametrize(
    "part",
    ["charts/?metric=memory&process=all", "log-range/?path=sys/master_role.txt&first=1"],
)
def test_data_for_scripts_costs_few_queries(client, alice, full_job, part):
    client.force_login(alice)
    job = full_job()

    count, sql = queries_of(client, f"/f/jobs/{job.job_id}/{part}")

    assert count <= 6, sql
