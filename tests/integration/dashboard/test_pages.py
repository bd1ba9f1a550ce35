"""Every page: with data and without, for those who may see and those who may not."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest

from prsweb.accounts.models import User
from runner.core.states import JobState
from tests.integration.dashboard.conftest import HOSTILE

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_redis")]

JOB_PAGES = (
    "",
    "mini-batches/",
    "nodes/",
    "resources/",
    "logs/",
    "errors/",
    "config/",
    "outputs/",
    "history/",
)
PARTS = (
    "mini-batches/1/",
    "mini-batches/9/",
    "mini-batches/?state=failed",
    "mini-batches/?state=waiting",
    "mini-batches/?error=v1:5d0e77ab",
    "mini-batches/?sort=-run",
    "errors/v1:5d0e77ab/",
    "logs/sys/master_role.txt",
    "logs/sys/master_role.txt?first=1",
    "logs/empty.txt",
    "logs/?q=line",
    "logs/?q=nowhere",
    "outputs/?path=parallel_run_step.txt&separator=;",
)
OTHER_PAGES = ("/jobs/", "/jobs/new/", "/nodes/", "/nodes/n2/", "/f/nodes/")


def job_url(job, page=""):
    return f"/jobs/{job.job_id}/{page}"


@pytest.fixture
def as_alice(client, alice):
    client.force_login(alice)
    return client


@pytest.mark.parametrize("page", [*JOB_PAGES, *PARTS])
def test_every_page_of_a_full_job_is_there(as_alice, full_job, page):
    answer = as_alice.get(job_url(full_job(), page), follow=True)

    assert answer.status_code == 200
    assert "score" in answer.text


@pytest.mark.parametrize("page", JOB_PAGES)
@pytest.mark.parametrize("state", [JobState.SUBMITTED, JobState.RUNNING, JobState.FAILED])
def test_every_page_of_an_empty_job_is_there(as_alice, make_job, page, state):
    answer = as_alice.get(job_url(make_job(state=state), page), follow=True)

    assert answer.status_code == 200


@pytest.mark.parametrize("page", JOB_PAGES)
def test_every_page_of_a_multi_node_job_is_there(as_alice, full_job, page):
    spec = {"kind": "multi_node", "name": "ring", "nodes": 2, "bindings": {}}
    job = full_job(kind="multi_node", spec=spec, main_node=0)

    if page == "mini-batches/":
        assert 'id="tab-mini-batches"' not in as_alice.get(job_url(job)).text
    else:
        assert as_alice.get(job_url(job, page), follow=True).status_code == 200


@pytest.mark.parametrize("url", OTHER_PAGES)
def test_pages_outside_of_jobs_are_there(as_alice, full_job, url):
    full_job()

    assert as_alice.get(url).status_code == 200


@pytest.mark.parametrize("url", ["/jobs/", "/nodes/"])
def test_lists_without_rows_say_what_to_do(as_alice, url):
    text = as_alice.get(url).text

    assert "./prs demo" in text or "./prs node" in text


def test_a_filter_that_hits_nothing_counts_what_it_hides(as_alice, make_job):
    make_job()

    text = as_alice.get("/jobs/?state=failed").text

    assert "1 exist without this filter" in text


@pytest.mark.parametrize("url", ["/jobs/?state=faild", "/nodes/?state=odd", "/jobs/?after=x"])
def test_a_wrong_member_of_the_query_is_left_out_and_told(as_alice, full_job, url):
    full_job()

    answer = as_alice.get(url)

    assert answer.status_code == 200
    assert "was left out" in answer.text


def test_a_wrong_cursor_of_mini_batches_is_left_out_and_told(as_alice, full_job):
    answer = as_alice.get(job_url(full_job(), "mini-batches/?after=garbage"))

    assert answer.status_code == 200
    assert "after=garbage was left out" in answer.text


@pytest.mark.parametrize("page", [*JOB_PAGES, *PARTS, "logs/?q=KeyError"])
def test_hostile_text_is_escaped_everywhere(as_alice, full_job, page):
    job = full_job(HOSTILE)

    text = as_alice.get(job_url(job, page), follow=True).text

    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text


def test_hostile_text_is_escaped_in_lists_and_forms(as_alice, full_job):
    job = full_job(HOSTILE, state=JobState.FAILED)
    again = f"/jobs/new/?from={job.job_id}"

    for url in ("/jobs/", "/nodes/", f"/nodes/{quote('n1' + HOSTILE, safe='')}/", again):
        text = as_alice.get(url).text
        assert "<script>alert" not in text, url


def test_pages_hold_no_inline_script(as_alice, full_job):
    job = full_job()

    for url in (*OTHER_PAGES, *(job_url(job, page) for page in JOB_PAGES)):
        text = as_alice.get(url, follow=True).text
        scripts = re.findall(r"<script(?![^>]*\bsrc=)[^>]*>", text)
        handlers = re.findall(r"<[^>]+\son[a-z]+=", text)
        assert not scripts + handlers, url


def test_secrets_are_masked_in_the_configuration(as_alice, full_job):
    text = as_alice.get(job_url(full_job(), "config/")).text

    assert "do-not-show-me" not in text
    assert "API_TOKEN" in text


@pytest.mark.parametrize("page", [*JOB_PAGES, "mini-batches/1/", "errors/v1:5d0e77ab/"])
def test_somebody_elses_private_job_is_not_there(client, bob, full_job, page):
    client.force_login(bob)

    answer = client.get(job_url(full_job(private=True), page))

    assert answer.status_code == 404
    assert "score" not in answer.text


@pytest.mark.parametrize(
    "url",
    [
        "/f/jobs/{id}/charts/?metric=cpu",
        "/f/jobs/{id}/log-range/?path=empty.txt",
        "/f/jobs/{id}/log-search/?path=empty.txt&q=x",
        "/f/jobs/{id}/log-raw/?path=empty.txt",
        "/jobs/{id}/outputs/raw/?path=parallel_run_step.txt",
    ],
)
def test_data_of_somebody_elses_private_job_is_not_there(client, bob, alice, full_job, url):
    job = full_job(private=True)

    client.force_login(bob)
    assert client.get(url.format(id=job.job_id)).status_code == 404
    client.force_login(alice)
    assert client.get(url.format(id=job.job_id)).status_code == 200


@pytest.mark.parametrize("url", ["/", "/jobs/", "/nodes/", "/jobs/new/"])
def test_pages_lead_to_the_sign_in(client, url):
    answer = client.get(url)

    assert answer.status_code == 302
    assert answer.url == f"/sign-in/?next={url}"


def test_data_for_scripts_answers_401_without_a_session(client, full_job):
    job = full_job()

    for part in ("charts/", "log-range/?path=empty.txt", "log-search/?path=empty.txt&q=x"):
        assert client.get(f"/f/jobs/{job.job_id}/{part}").status_code == 401
    assert client.get("/f/nodes/").status_code == 401


def test_paths_that_lead_out_of_the_logs_are_not_there(as_alice, full_job):
    job = full_job()

    for path in ("../spec.json", "%2e%2e/spec.json", "/etc/passwd", "a%00b"):
        assert as_alice.get(job_url(job, f"logs/{path}")).status_code == 404, path
        answer = as_alice.get(f"/f/jobs/{job.job_id}/log-raw/?path={path}")
        assert answer.status_code == 404, path


def test_downloads_are_attachments_of_no_type(as_alice, full_job):
    job = full_job()

    for url in (
        f"/f/jobs/{job.job_id}/log-raw/?path=sys/master_role.txt",
        job_url(job, "outputs/raw/?path=parallel_run_step.txt"),
    ):
        answer = as_alice.get(url)
        assert answer["Content-Disposition"].startswith("attachment")
        assert answer["Content-Type"] == "application/octet-stream"
        assert answer["X-Content-Type-Options"] == "nosniff"


def test_the_theme_is_kept_in_a_cookie_and_leads_back_to_our_pages_only(as_alice):
    answer = as_alice.post("/theme/", {"theme": "dark", "next": "https://evil.test/"})

    assert answer.url == "/"
    assert answer.cookies["theme"].value == "dark"
    assert 'data-bs-theme="dark"' in as_alice.get("/jobs/").text


def test_home_leads_to_ones_own_jobs_or_to_all(client, alice, bob, make_job):
    make_job()

    client.force_login(alice)
    assert client.get("/").url == "/jobs/?owner=me&since=7d"
    client.force_login(bob)
    assert client.get("/").url == "/jobs/"


def test_a_job_of_400_and_more_processes_is_folded_to_nodes(as_alice, full_job):
    from prsweb.jobs.models import JobProcess

    job = full_job()
    first = JobProcess.objects.filter(job=job).first()
    JobProcess.objects.bulk_create(
        JobProcess(
            job=job,
            assignment=1,
            node_index=0,
            node_name=first.node_name,
            number=number,
            pid=number,
            segment="s",
            started_at=first.started_at,
        )
        for number in range(10, 420)
    )

    text = as_alice.get(job_url(job)).text

    assert "prs-cell-name" not in text
    assert "410 in init()" in text
    assert "2 working" in text


def test_a_page_holds_at_most_a_hundred_nodes_of_a_job(as_alice, full_job):
    from prsweb.jobs.models import JobNode

    job = full_job()
    first = JobNode.objects.filter(job=job).first()
    JobNode.objects.bulk_create(
        JobNode(
            job=job,
            assignment=number,
            index=number,
            node_name=f"m{number}",
            boot_id="b",
            address="127.0.2.1",
            granted_at=first.granted_at,
        )
        for number in range(3, 153)
    )

    overview = as_alice.get(job_url(job)).text
    nodes = as_alice.get(job_url(job, "nodes/")).text
    rest = as_alice.get(job_url(job, "nodes/?first=100")).text

    assert overview.count('id="job-node-') == 20
    assert nodes.count('id="job-node-') == 100
    assert rest.count('id="job-node-') == 52
    assert "?first=200" not in rest


def test_staff_pages_of_the_framework_are_not_there(client):
    user = User.objects.create_user("root", role="admin", is_staff=True, is_superuser=True)
    client.force_login(user)

    assert client.get("/admin/").status_code == 404
