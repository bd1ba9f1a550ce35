"""The commands against the real API: what they send, and what they say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from prsweb.cli.main import main
from runner.core.layout import Home


class Ended(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Prs = Callable[..., Ended]


@pytest.fixture
def prs(
    transactional_db: None,
    live_server: Any,
    home: Home,
    ada: Any,
    sent: list[str],
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Prs:
    """Return ``prs("jobs", "--json")``: the command of an admin, against a live server."""
    from prsweb.accounts.models import Scope
    from prsweb.accounts.services import create_token
    from prsweb.jobs.models import ComputeEnvironment, JobQueue

    # A test that really commits begins with empty tables, the migrations' rows too.
    ComputeEnvironment.objects.get_or_create(name="default")
    JobQueue.objects.get_or_create(name="default", defaults={"environments": ["default"]})
    settings.PRSWEB_PUBLIC_URL = live_server.url
    token = create_token(user=ada, name="test", scope=Scope.ADMIN)
    monkeypatch.setenv("PRSWEB_HOME", str(home.root))
    monkeypatch.setenv("PRSWEB_SERVER", live_server.url)
    monkeypatch.setenv("PRSWEB_TOKEN", token.text)

    def run(*arguments: str) -> Ended:
        capsys.readouterr()
        status = main(arguments)
        said = capsys.readouterr()
        return Ended(status, said.out, said.err)

    return run


@pytest.fixture
def job_file(tmp_path: Path) -> Path:
    (tmp_path / "scans").mkdir()
    (tmp_path / "scans" / "a.txt").write_text("1")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "score.py").write_text("def run(items):\n    return list(items)\n")
    path = tmp_path / "job.yml"
    path.write_text(
        """
kind: parallel_run_step
name: score
inputs: [{name: scans, type: files, path: scans}]
source_directory: src
entry_script: score.py
output_action: append_row
"""
    )
    return path


def test_a_job_is_sent_with_its_code(prs: Prs, job_file: Path, home: Home) -> None:
    ended = prs("submit", str(job_file), "--json", "--set", "run_max_try=5", "--private")

    job = ended.json
    assert ended.status == 0
    assert (job["name"], job["state"], job["private"]) == ("score", "SUBMITTED", True)
    assert job["spec"]["run_max_try"] == 5
    assert job["spec"]["inputs"][0]["path"] == str(job_file.parent / "scans")
    assert (home.job(job["id"]).snapshot / "score.py").exists()


def test_a_dry_run_stores_nothing(prs: Prs, job_file: Path) -> None:
    plain = prs("submit", str(job_file), "--dry-run")
    as_json = prs("submit", str(job_file), "--dry-run", "--json")

    assert plain.status == as_json.status == 0
    assert "run_max_try: 3" in plain.out
    assert as_json.json["problems"] == []
    assert prs("jobs", "--json").json == {"items": [], "next": None}


def test_all_problems_are_named_a_line_each_with_status_2(prs: Prs, job_file: Path) -> None:
    wrong = ("--set", "run_max_try=0", "--set", "mini_batch_size=0")
    refused = prs("submit", str(job_file), *wrong)
    as_json = prs("submit", str(job_file), *wrong, "--json")

    assert refused.status == as_json.status == 2
    assert refused.err.splitlines()[0] == "prs: The job has 2 problems."
    assert "  run_max_try: must be a whole number of at least 1 (found: 0)" in refused.err
    assert refused.out == ""
    error = as_json.json["error"]
    assert error["code"] == "invalid"
    assert {problem["path"] for problem in error["problems"]} == {
        "run_max_try",
        "mini_batch_size",
    }


def test_a_file_of_azure_is_shown_and_sent_as_our_own(prs: Prs, job_file: Path) -> None:
    path = job_file.parent / "azure.yml"
    path.write_text(
        """
type: parallel
name: score
compute: azureml:cpu-cluster
inputs: {scans: {type: uri_folder, path: scans}}
outputs: {result: {type: uri_file}}
input_data: ${{inputs.scans}}
mini_batch_size: "2"
task: {code: src, entry_script: score.py, append_row_to: "${{outputs.result}}"}
"""
    )

    dry = prs("submit", str(path), "--dry-run")
    done = prs("submit", str(path), "--json")
    wrong = prs("submit", str(path), "--set", "inputs.0.path=nowhere")
    path.write_text(path.read_text().replace("task: {code", "task: {cod"))
    unknown = prs("submit", str(path))

    assert (dry.status, done.status, wrong.status, unknown.status) == (0, 0, 2, 2)
    assert "kind: parallel_run_step" in dry.out
    assert "mini_batch_size: 2" in dry.out
    assert "warning: compute: cpu-cluster is no queue here" in dry.err
    assert done.json["spec"]["queue"] == "default"
    job_id = done.json["id"]
    exported = prs("export", job_id, "--format", "v2")
    path.with_name("again.yml").write_text(exported.out)
    again = prs("submit", str(path.with_name("again.yml")), "--dry-run", "--json")
    assert "type: parallel" in exported.out
    assert again.json["spec"] == {**done.json["spec"], "tags": {}}
    assert "kind: parallel_run_step" in prs("export", job_id).out
    assert "inputs[0].path" in wrong.err
    assert "task.cod: not a known key, did you mean code?" in unknown.err


def test_jobs_are_found_by_name_and_by_the_beginning_of_their_id(
    prs: Prs, make_job: Callable[..., Any]
) -> None:
    older = make_job(uuid="aaaa1111-0000-4000-8000-000000000001", name="digits")
    newer = make_job(uuid="aaaa2222-0000-4000-8000-000000000002", name="digits")
    make_job(uuid="bbbb0000-0000-4000-8000-000000000003", name="digits-old")

    assert prs("show", "digits", "--json").json["id"] == newer.job_id
    assert prs("show", "aaaa1", "--json").json["id"] == older.job_id
    assert prs("show", older.job_id, "--json").json["id"] == older.job_id
    assert "gits-old" in prs("show", "bbbb").out


def test_an_ambiguous_beginning_lists_the_jobs(prs: Prs, make_job: Callable[..., Any]) -> None:
    make_job(uuid="aaaa1111-0000-4000-8000-000000000001", name="digits")
    make_job(uuid="aaaa2222-0000-4000-8000-000000000002", name="iris")

    refused = prs("show", "aaaa")

    assert refused.status == 2
    assert "begins the ids of 2 jobs" in refused.err
    assert "(digits)" in refused.err and "(iris)" in refused.err


def test_no_such_job_is_status_2(prs: Prs) -> None:
    for given in ("nothing", "9f1c", "9f1c2b7e-0000-4000-8000-000000000001"):
        refused = prs("show", given)
        assert refused.status == 2
        assert f"no job {given}" in refused.err


@pytest.mark.parametrize(
    "arguments",
    [["show", "a\udcff"], ["nodes", "drain", "a\udcff"], ["jobs", "--owner", "\udcff"]],
)
def test_what_is_no_text_is_refused_in_words(prs: Prs, arguments: list[str]) -> None:
    ended = prs(*arguments)

    assert ended.status == 2
    assert "unexpected" not in ended.err
    assert len(ended.err.splitlines()) == 1


def test_a_failed_job_is_found_with_grep(prs: Prs, make_job: Callable[..., Any]) -> None:
    make_job(name="digits", state="FAILED", state_reason="12 items failed")
    make_job(name="iris", state="SUCCEEDED")

    lines = [line for line in prs("jobs").out.splitlines() if "Failed" in line]

    assert len(lines) == 1
    assert "digits" in lines[0] and "12 items failed" in lines[0]
    assert [
        job["name"] for job in prs("jobs", "--state", "failed", "--json").json["items"]
    ] == ["digits"]


def test_what_was_found_is_said_once(prs: Prs) -> None:
    assert prs("jobs", "--since", "yesterday").err.count("(found: yesterday)") == 1


def test_a_wrong_filter_is_refused_in_words(prs: Prs) -> None:
    refused = prs("jobs", "--state", "sleeping")

    assert refused.status == 2
    assert "state" in refused.err


def test_a_waiting_job_is_cancelled_with_its_reason(prs: Prs, job_file: Path) -> None:
    job = prs("submit", str(job_file), "--json").json

    cancelled = prs("cancel", job["id"][:8], "--reason", "wrong folder", "--json")

    assert cancelled.status == 0
    assert cancelled.json["cancel_reason"] == "wrong folder"
    again = prs("cancel", job["id"])
    assert again.status == 2
    assert "has ended already" in again.err


def test_a_resubmission_shows_what_has_changed(prs: Prs, job_file: Path) -> None:
    job = prs("submit", str(job_file), "--json").json
    prs("cancel", job["id"])

    new = prs("resubmit", job["id"], "--set", "run_max_try=7", "--json").json

    assert new["resubmitted_from"] == job["id"]
    assert new["spec"]["run_max_try"] == 7
    assert "run_max_try: 3 -> 7" in prs("show", new["id"]).out


def test_the_log_of_a_job_that_never_started_says_why_and_ends_with_1(
    prs: Prs, make_job: Callable[..., Any]
) -> None:
    make_job(name="ring", state="FAILED", state_reason="no node could start it")

    ended = prs("logs", "ring", "--follow")

    assert ended.status == 1
    assert ended.err.splitlines() == [
        "ring: no node could start it",
        "no log: the process never started",
    ]


def test_logs_are_read_and_followed_to_the_end_of_the_job(
    prs: Prs, make_job: Callable[..., Any], home: Home
) -> None:
    from django.utils import timezone

    job = make_job(name="digits", state="SUCCEEDED", started_at=timezone.now())
    logs = home.job(job.job_id).logs
    for node, text in (("n1", "first\nsecond"), ("n2", "third\n")):
        file = logs / "user" / "stdout" / node / "process000.stdout.txt"
        file.parent.mkdir(parents=True)
        file.write_text(text)

    for ended in (prs("logs", "digits"), prs("logs", "digits", "--follow")):
        assert ended.status == 0
        assert [line.split(" | ")[1] for line in ended.out.splitlines()] == [
            "first",
            "second",
            "third",
        ]
    [hit] = prs("logs", "digits", "--search", "second", "--json").json["items"]
    assert (hit["path"], hit["line"]) == ("user/stdout/n1/process000.stdout.txt", 2)
    missing = prs("logs", "digits", "--path", "nothing.txt")
    assert missing.status == 2
    assert "the job has no log nothing.txt" in missing.err


def test_outputs_are_downloaded(
    prs: Prs, make_job: Callable[..., Any], home: Home, tmp_path: Path
) -> None:
    job = make_job(name="digits", state="SUCCEEDED")
    output = home.job(job.job_id).output
    (output / "more").mkdir()
    (output / "more" / "b.bin").write_bytes(b"\0" * 100_000)

    ended = prs("output", "digits", "--download", str(tmp_path / "copy"), "--json")

    assert ended.status == 0
    assert ended.json["output_folder"] == str(output)
    assert (tmp_path / "copy" / "more" / "b.bin").stat().st_size == 100_000


def test_tokens_are_made_listed_and_revoked(prs: Prs, monkeypatch: pytest.MonkeyPatch) -> None:
    new = prs(
        "token", "create", "--name", "ci", "--scope", "read", "--days", "3", "--json"
    ).json

    assert set(new) >= {"id", "name", "scope", "expires_at", "token"}
    assert "ci" in prs("token", "list").out
    assert prs("token", "revoke", str(new["id"])).status == 0
    monkeypatch.setenv("PRSWEB_TOKEN", new["token"])
    refused = prs("jobs")
    assert refused.status == 2
    assert "set PRSWEB_TOKEN to a token of" in refused.err


def test_a_sign_in_link_is_made(prs: Prs) -> None:
    link = prs("sign-in", "--json").json

    assert "/sign-in/link/" in link["url"]
    assert link["expires_at"]


def test_a_server_without_the_batch_api_says_so(prs: Prs) -> None:
    for command in (["create"], ["list"], ["revoke", "1"]):
        refused = prs("key", *command)
        assert refused.status == 2
        assert "has no Batch API yet" in refused.err


def test_an_address_that_is_no_prsweb_is_said(prs: Prs, live_server: Any) -> None:
    refused = prs("jobs", "--server", f"{live_server.url}/sign-in")

    assert refused.status == 2
    assert refused.err.count("\n") == 1
