"""Exit statuses, JSON and refusals of the command line, and the doors of the server."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.live_system import CHECKOUT, PRS, STOP_SECONDS, LiveSystem, wait_for
from tests.acceptance.processes_of_home import processes_of
from tests.acceptance.step_jobs import ECHO_NAMES, MakeStep

ERROR_MEMBERS = {"code", "message", "problems"}


def test_wait_gives_the_outcome_as_exit_status(system: LiveSystem, make_step: MakeStep):
    fails = "def run(mini_batch):\n    raise ValueError('bad header')\n"

    good = system.prs("submit", make_step(ECHO_NAMES), "--wait")
    bad = system.prs("submit", make_step(fails), "--wait")

    assert (good.status, bad.status) == (0, 1)
    assert "Succeeded" in good.output
    assert "Failed" in bad.output and "ValueError" in bad.output and "score.py:2" in bad.output


def test_a_dry_run_stores_nothing(system: LiveSystem, make_step: MakeStep):
    answer = system.prs(
        "submit", make_step(ECHO_NAMES, name="never-run"), "--dry-run", "--json"
    )

    assert answer.status == 0
    assert set(answer.json) == {"spec", "warnings", "problems"}
    assert answer.json["spec"]["run_max_try"] == 3
    assert system.get("/jobs", q="never-run")["items"] == []


def test_all_problems_of_a_job_are_told_at_once(system: LiveSystem, make_step: MakeStep):
    job_file = make_step(
        ECHO_NAMES, run_max_try=0, error_threshold="5", logging_level="TRACE", run_max_trys=3
    )

    answer = system.prs("submit", job_file, "--json")
    plain = system.prs("submit", job_file)

    assert answer.status == plain.status == 2
    error = answer.json["error"]
    assert set(error) == ERROR_MEMBERS
    assert error["code"] == "invalid"
    paths = {problem["path"] for problem in error["problems"]}
    assert paths == {"run_max_try", "error_threshold", "logging_level", "run_max_trys"}
    rules = {problem["path"]: problem["rule"] for problem in error["problems"]}
    assert "did you mean run_max_try?" in rules["run_max_trys"]
    assert all(path in plain.errors for path in paths)
    assert "Traceback" not in plain.errors + plain.output


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("show", "no-such-job"), "not_found"),
        (("cancel", "ffff"), "not_found"),
        (("submit", "/no/such/job.yml"), None),
        (("jobs", "--state", "HAPPY"), None),
        (("show",), None),
        (("frobnicate",), None),
    ],
)
def test_what_cannot_be_done_ends_with_status_2_and_an_error_object(
    system: LiveSystem, arguments: tuple[str, ...], code: str | None
):
    answer = system.prs(*arguments, "--json")

    assert answer.status == 2, answer
    assert set(answer.json["error"]) == ERROR_MEMBERS
    assert code is None or answer.json["error"]["code"] == code
    assert "Traceback" not in answer.errors


def test_a_command_without_a_server_says_how_to_start_one(tmp_path: Path):
    nowhere = LiveSystem(tmp_path / "home", nodes=1)

    answer = nowhere.prs("jobs", "--json")

    assert answer.status == 2
    assert answer.json["error"]["code"] == "unavailable"
    assert "./prs up" in answer.json["error"]["message"]


def test_a_job_is_named_by_its_id_a_beginning_or_its_name(
    system: LiveSystem, faulty: dict[str, Any]
):
    found = [
        system.prs_json("show", name)["id"]
        for name in (faulty["id"], faulty["id"][:8], "faulty")
    ]

    assert found == [faulty["id"]] * 3


def test_lists_have_items_and_a_cursor(system: LiveSystem, faulty: dict[str, Any]):
    jobs = system.prs_json("jobs")
    nodes = system.prs_json("nodes")

    assert set(jobs) == set(nodes) == {"items", "next"}
    assert faulty["id"] in [job["id"] for job in system.pages("/jobs", q="faulty")]
    assert not {"spec", "metrics", "top_errors"} & set(jobs["items"][0])
    assert [node["name"] for node in nodes["items"]] == ["n1", "n2", "n3"]
    assert {node["state"] for node in nodes["items"]} == {"online"}
    assert [node["address"] for node in nodes["items"]] == [f"127.0.1.{n}" for n in (1, 2, 3)]


def test_a_second_up_on_one_home_says_who_holds_it(system: LiveSystem):
    second = system.prs("up", "--port", "0")

    assert second.status == 2
    assert f"pid {system.up_pid}" in second.errors
    assert str(system.home.root) in second.errors
    assert system.is_ready()


def test_pages_want_a_sign_in_and_the_api_a_token(system: LiveSystem):
    page = httpx.get(f"{system.url}/", follow_redirects=False)
    api = httpx.get(f"{system.url}/api/v1/jobs")
    health = httpx.get(f"{system.url}/healthz")
    ready = httpx.get(f"{system.url}/readyz")

    assert page.status_code == 302
    assert page.headers["location"].startswith("/sign-in/?next=")
    assert api.status_code == 401
    assert api.json()["error"]["code"] == "sign_in"
    assert health.json() == {"ok": True}
    assert ready.json() == {
        "ready": True, "database": "ok", "redis": "ok", "disk": "ok", "orchestrator": "ok",
        "nodes": "ok",
    }  # fmt: skip


def test_a_token_of_scope_read_reads_and_does_nothing_else(
    system: LiveSystem, faulty: dict[str, Any]
):
    token = system.prs_json("token", "create", "--name", "reader", "--scope", "read")
    headers = {"Authorization": f"Bearer {token['token']}"}
    url = f"{system.url}/api/v1/jobs/{faulty['id']}"

    shown = httpx.get(url, headers=headers)
    refused = httpx.post(f"{url}/resubmit", headers=headers, json={})

    assert shown.json()["id"] == faulty["id"]
    assert refused.status_code == 403
    assert refused.json()["error"]["code"] == "forbidden"


def test_secrets_are_for_their_owner_only(system: LiveSystem):
    home = system.home

    for path in (home.token, home.server_file, home.secret_key, home.database):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    for folder in (home.private, home.run, home.logs):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder
    assert stat.S_IMODE(home.root.stat().st_mode) == 0o711


def test_a_stopped_system_leaves_nothing_and_its_job_goes_on_at_the_next_start(
    tmp_path: Path, make_step: MakeStep
):
    script = """
        import time
        from pathlib import Path

        def run(mini_batch):
            time.sleep(0.1)
            return [Path(path).name for path in mini_batch]
    """
    home = tmp_path / "home"
    system = LiveSystem(home, nodes=1)
    with system:
        job_id = system.submit(make_step(script, files=30, mini_batch_size=1, node_count=1))
        system.wait_until_done(job_id, 10)
        os.kill(system.up_pid, signal.SIGINT)
        assert system.wait_for_end() == 0
        assert processes_of(home) == []
        assert list(system.home.run.iterdir()) == []

    with LiveSystem(home, nodes=1) as again:
        job = again.ended(job_id)

    assert job["state"] == "SUCCEEDED", job["reason"]
    rows = Path(job["output"]).read_text().splitlines()
    assert rows == [f"f{number:02d}.txt" for number in range(30)]


def test_ctrl_c_leaves_a_job_that_is_waited_for(system: LiveSystem, make_step: MakeStep):
    sleeps = (
        "import time\ndef run(mini_batch):\n    time.sleep(1)\n    return list(mini_batch)\n"
    )
    waiting = subprocess.Popen(
        [*PRS, "submit", str(make_step(sleeps, name="goes-on")), "--wait"],
        env=system.environment(),
        cwd=CHECKOUT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    jobs = wait_for(lambda: system.get("/jobs", q="goes-on")["items"], "the submitted job")
    wait_for(lambda: system.job(jobs[0]["id"])["state"] == "RUNNING", "a running job")

    waiting.send_signal(signal.SIGINT)

    _, errors = waiting.communicate(timeout=STOP_SECONDS)
    assert waiting.returncode == 130
    assert "Traceback" not in errors
    assert system.ended(jobs[0]["id"])["state"] == "SUCCEEDED"


def test_the_sign_in_link_opens_the_pages_once(system: LiveSystem):
    link = system.prs_json("sign-in")["url"]

    first = httpx.Client(follow_redirects=True, base_url=system.url)
    opened = first.get(link)
    second = httpx.Client(follow_redirects=True, base_url=system.url).get(link)

    assert opened.status_code == 200
    assert first.get("/").status_code == 200
    assert "/sign-in/" in str(second.url)
    assert json.loads((system.home.server_file).read_text())["url"].rstrip("/") in link
