"""Submitting: all problems at once, and nothing stored when there is one."""

from __future__ import annotations

import io
import json
import os
import tarfile
import warnings
import zipfile

import pytest

from prsweb.accounts.models import AuditEntry
from prsweb.accounts.permissions import Actor, NotAllowed
from prsweb.jobs.models import Job, JobQueue
from prsweb.jobs.services.snapshot import SourceArchive
from prsweb.jobs.services.submission import InvalidJob, Submission, check_job, submit_job
from runner.core.states import JobState
from runner.core.task_names import SCHEDULE_TASK

pytestmark = pytest.mark.django_db


def submit(spec, user, **options):
    return submit_job(submission=Submission(spec, **options), actor=Actor(user))


def problems_of(spec, user, **options):
    with pytest.raises(InvalidJob) as caught:
        submit(spec, user, **options)
    return {problem.path: str(problem) for problem in caught.value.problems}


def left_behind(home):
    return [path.name for path in home.jobs.iterdir()]


def archive(members: dict[str, bytes | tarfile.TarInfo]) -> SourceArchive:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        for name, content in members.items():
            if isinstance(content, tarfile.TarInfo):
                tar.addfile(content)
                continue
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    file.seek(0)
    return SourceArchive(file, "code.tar.gz")


def test_a_job_is_stored_with_its_code_and_the_scheduler_is_woken(
    step_spec, alice, home, sent, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        job = submit(step_spec, alice)

    stored = Job.objects.get()
    folder = home.job(job.job_id)
    assert (stored.state, stored.owner) == (JobState.SUBMITTED, alice)
    assert stored.state_reason
    assert [event.to_state for event in stored.events.all()] == [JobState.SUBMITTED]
    assert (folder.snapshot / "score.py").read_text().startswith("def run")
    assert json.loads(folder.spec.read_text()) == stored.spec
    assert stored.spec["run_max_try"] == 3
    assert left_behind(home) == [job.job_id]
    assert AuditEntry.objects.get(action="submit job").target == job.job_id
    assert sent == [SCHEDULE_TASK]


def test_all_problems_come_at_once_and_nothing_is_stored(step_spec, alice, home, sent):
    step_spec["queue"] = "defualt"
    step_spec["inputs"][0]["path"] = "/nowhere"
    step_spec["entry_script"] = "scor.py"
    step_spec["node_count"] = 9

    found = problems_of(step_spec, alice)

    assert set(found) == {"queue", "inputs[0].path", "entry_script"}
    assert "did you mean default?" in found["queue"]
    assert "score.py" in found["entry_script"]
    assert not Job.objects.exists()
    assert left_behind(home) == []
    assert sent == []


def test_more_nodes_than_exist_are_refused_with_both_numbers(step_spec, alice):
    step_spec["node_count"] = 9

    assert (
        "only 0 nodes exist in queue default (found: 9)"
        in problems_of(step_spec, alice)["node_count"]
    )


@pytest.mark.parametrize(
    ("key", "value", "path"),
    [
        ("partition_keys", ["day"], "partition_keys"),
        ("resume_from", "5b8c1c2e-0000-4000-8000-000000000001", "resume_from"),
        ("inputs.0.partition_format", "{day}.txt", "inputs[0].partition_format"),
        ("output.format", "parquet", "output.format"),
    ],
)
def test_what_is_not_carried_out_yet_is_refused_not_left_out(
    step_spec, alice, key, value, path
):
    if key == "partition_keys":
        step_spec["inputs"][0]["partition_format"] = "{day}.txt"

    assert " yet" in problems_of(step_spec, alice, set_values={key: value})[path]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("array", {"size": 3}),
        ("depends_on", [{"job": "5b8c1c2e-0000-4000-8000-000000000001"}]),
    ],
)
def test_a_command_that_would_run_otherwise_than_asked_is_refused(alice, home, key, value):
    spec = {"kind": "command", "name": "c", "command": ["true"], key: value}

    assert "not offered yet" in problems_of(spec, alice)[key]


def test_a_disabled_queue_is_refused(step_spec, alice):
    JobQueue.objects.update(enabled=False)

    assert "disabled" in problems_of(step_spec, alice)["queue"]


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("data", "absolute"),
        ("/etc", "server allows"),
        ("/etc/passwd", "server allows"),
        ("{data}/../../../../../../etc/passwd", "server allows"),
        ("{data}/missing.txt", "No such file"),
        ("{data}/link", "server allows"),
        ("dataset:mnist@1", "no dataset"),
        ("s3://bucket/x", "only paths of this server"),
        ("{home}/private", "server allows"),
        ("{home}/private/*", "server allows"),
        ("{home}/jobs", "server allows"),
    ],
)
def test_an_input_that_cannot_be_used_says_why(step_spec, alice, tmp_path, home, path, rule):
    (tmp_path / "data" / "link").symlink_to("/etc/passwd")
    path = path.format(data=tmp_path / "data", home=home.root)
    step_spec["inputs"][0]["path"] = path

    assert rule in problems_of(step_spec, alice)["inputs[0].path"]


def test_a_glob_and_several_paths_are_inputs(step_spec, alice, tmp_path):
    step_spec["inputs"][0]["path"] = [f"{tmp_path}/data/*.txt", f"{tmp_path}/data/1.txt"]

    assert submit(step_spec, alice).state == JobState.SUBMITTED


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_input_without_the_right_to_read_it_is_refused(step_spec, alice, tmp_path):
    (tmp_path / "data").chmod(0)

    assert "Permission denied" in problems_of(step_spec, alice)["inputs[0].path"]


def test_the_output_of_a_job_that_one_may_see_is_an_input_and_no_other(
    step_spec, make_job, bob, home
):
    private, open_job = make_job(private=True), make_job(private=False)
    for job in (private, open_job):
        (home.job(job.job_id).output / "rows.txt").write_text("row")

    step_spec["inputs"][0]["path"] = str(home.job(open_job.job_id).output)
    assert submit(step_spec, bob)

    step_spec["inputs"][0]["path"] = str(home.job(private.job_id).output)
    assert "server allows" in problems_of(step_spec, bob)["inputs[0].path"]


def test_a_file_in_the_way_of_the_output_is_named(step_spec, alice, tmp_path):
    (tmp_path / "parallel_run_step.txt").write_text("old")
    step_spec["output"] = {"path": str(tmp_path)}
    assert "parallel_run_step.txt already" in problems_of(step_spec, alice)["output.path"]

    step_spec["output"]["overwrite"] = True
    assert submit(step_spec, alice)


def test_an_output_that_another_job_will_write_is_refused(step_spec, alice, bob, tmp_path):
    step_spec["output"] = {"path": str(tmp_path)}
    (tmp_path / "link").symlink_to(tmp_path)
    first = submit(step_spec, alice, private=True)

    step_spec["output"] = {"path": str(tmp_path / "link")}
    found = problems_of(step_spec, bob)
    Job.objects.filter(pk=first.pk).update(state="FAILED")

    assert "another job that has not ended will write" in found["output.path"]
    assert submit(step_spec, bob)


def test_ignored_files_are_not_copied(step_spec, alice, tmp_path, home):
    code = tmp_path / "code"
    (code / ".gitignore").write_text("*.bin\n")
    (code / ".amlignore").write_text("data/\n")
    (code / "data").mkdir()
    (code / "data" / "large.csv").write_text("x")
    (code / "model.bin").write_text("x")

    snapshot = home.job(submit(step_spec, alice).job_id).snapshot

    assert not (snapshot / "data").exists()
    assert (snapshot / "model.bin").exists(), ".amlignore counts alone"


def test_a_link_that_leaves_the_code_is_refused_and_one_inside_is_copied(
    step_spec, alice, tmp_path, home
):
    (tmp_path / "code" / "again.py").symlink_to("score.py")
    snapshot = home.job(submit(step_spec, alice).job_id).snapshot
    assert (snapshot / "again.py").read_text().startswith("def run")

    (tmp_path / "code" / "passwd").symlink_to("/etc/passwd")
    assert "leaves the folder" in problems_of(step_spec, alice)["source_directory"]


def test_a_pipe_in_the_code_is_refused_and_waits_for_nobody(step_spec, alice, tmp_path):
    os.mkfifo(tmp_path / "code" / "pipe")

    assert "pipe" in problems_of(step_spec, alice)["source_directory"]


def test_without_source_directory_the_folder_of_the_script_is_taken_and_said(
    step_spec, alice, tmp_path
):
    del step_spec["source_directory"]
    step_spec["entry_script"] = f"{tmp_path}/code/score.py"

    job = submit(step_spec, alice)

    assert job.spec["entry_script"] == "score.py"
    assert any("1 files" in warning for warning in job.warnings)


def test_a_script_without_run_is_a_warning(step_spec, alice, tmp_path):
    (tmp_path / "code" / "score.py").write_text("def init(): pass\n")

    assert any("no run()" in warning for warning in submit(step_spec, alice).warnings)


def test_an_uploaded_archive_is_the_code(step_spec, alice, home):
    step_spec["source_directory"] = "/on/another/machine"

    job = submit(step_spec, alice, source=archive({"score.py": b"def run(b): return b"}))

    assert (home.job(job.job_id).snapshot / "score.py").read_bytes() == b"def run(b): return b"


def test_a_zip_is_code_too(step_spec, alice, home):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("pkg/score.py", "def run(b): return b")
    step_spec["entry_script"] = "pkg.score"

    job = submit(step_spec, alice, source=SourceArchive(file, "code.zip"))

    assert job.spec["entry_script"] == "pkg/score.py"


def _link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def _device(name: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type = tarfile.CHRTYPE
    return member


@pytest.mark.parametrize(
    "members",
    [
        {"../escape.py": b"x"},
        {"/abs.py": b"x"},
        {"a/../../escape.py": b"x"},
        {"link": _link("link", "/etc/passwd")},
        {"link": _link("link", "../../outside")},
        {"hard": _link("hard", "../../../etc/passwd", tarfile.LNKTYPE)},
        {"dev": _device("dev")},
        {"back\\..\\slash": b"x"},
    ],
    ids=[
        "dots",
        "absolute",
        "inner dots",
        "link",
        "relative link",
        "hard link",
        "device",
        "\\",
    ],
)
def test_a_hostile_archive_is_refused_and_writes_nothing(
    step_spec, alice, home, tmp_path, members
):
    before = sorted(path for path in tmp_path.rglob("*"))

    found = problems_of(step_spec, alice, source=archive({"score.py": b"x"} | members))

    assert "source_directory" in found
    assert sorted(path for path in tmp_path.rglob("*")) == before


def test_a_link_in_a_zip_is_refused(step_spec, alice):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        link = zipfile.ZipInfo("link")
        link.external_attr = 0o120777 << 16
        packed.writestr(link, "/etc/passwd")

    found = problems_of(step_spec, alice, source=SourceArchive(file, "code.zip"))

    assert "neither a file nor a folder" in found["source_directory"]


@pytest.mark.parametrize("content", [b"", b"no archive at all", b"PK\x03\x04broken"])
def test_what_is_no_archive_says_so(step_spec, alice, content):
    source = SourceArchive(io.BytesIO(content), "code.zip")

    assert ".zip or .tar.gz" in problems_of(step_spec, alice, source=source)["source_directory"]


def _zip(*names: str) -> io.BytesIO:
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w") as packed:
        warnings.simplefilter("ignore")  # of a name that stands in it twice
        for name in names:
            packed.writestr(zipfile.ZipInfo(name), "x")
    return file


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (_zip("score.py", "score.py"), "score.py: stands in it twice"),
        (_zip("score.py", "a", "a/b"), "a: stands in it twice"),
        (_zip("score.py", "x" * 300), "File name too long"),
        (_zip(""), "a member of it cannot be read"),
        (archive({"h": _link("h", "gone", tarfile.LNKTYPE)}).file, "cannot be read"),
    ],
    ids=["twice", "file and folder", "long name", "no name", "hard link to nothing"],
)
def test_a_broken_archive_is_told_in_one_line_without_our_paths(
    step_spec, alice, home, file, said
):
    found = problems_of(step_spec, alice, source=SourceArchive(file, "code.zip"))

    told = found["source_directory"]
    assert said in told
    assert "\n" not in told
    assert str(home) not in told


def test_the_same_key_gives_the_same_job(step_spec, alice, bob, home):
    first = submit(step_spec, alice, idempotency_key="once")
    again = submit(step_spec, alice, idempotency_key="once")
    other = submit(step_spec, bob, idempotency_key="once")

    assert again == first
    assert other != first
    assert len(left_behind(home)) == 2


def test_the_same_key_twice_at_once_gives_one_job(step_spec, alice, home, monkeypatch):
    """Both requests look before either has stored."""
    first = submit(step_spec, alice, idempotency_key="once")
    answers = iter([None, first])
    monkeypatch.setattr("prsweb.jobs.services.submission._known_job", lambda *_: next(answers))

    assert submit(step_spec, alice, idempotency_key="once") == first
    assert left_behind(home) == [first.job_id]


def test_a_viewer_submits_nothing(step_spec, vera):
    with pytest.raises(NotAllowed):
        submit(step_spec, vera)


def test_settings_are_put_into_the_spec(step_spec, alice):
    assert submit(step_spec, alice, set_values={"run_max_try": "5"}).spec["run_max_try"] == 5
    assert "run_max_try" in problems_of(step_spec, alice, set_values={"run_max_try": "0"})


def test_a_check_finds_the_same_and_stores_nothing(step_spec, alice, home):
    good = check_job(submission=Submission(step_spec), actor=Actor(alice))
    step_spec["entry_script"] = "scor.py"
    bad = check_job(submission=Submission(step_spec), actor=Actor(alice))

    assert good.spec["run_max_try"] == 3
    assert not good.problems
    assert [problem.path for problem in bad.problems] == ["entry_script"]
    assert not Job.objects.exists()
    assert left_behind(home) == []


def test_a_multi_node_job_takes_its_working_directory_along(alice, tmp_path, home):
    (tmp_path / "ring").mkdir()
    (tmp_path / "ring" / "ring.py").write_text("print(1)")
    spec = {
        "kind": "multi_node",
        "name": "ring",
        "nodes": 1,
        "node_groups": [{"nodes": "0", "command": ["python3", "ring.py"]}],
        "working_directory": str(tmp_path / "ring"),
        "retry": {"attempts": 2},
    }

    job = submit(spec, alice)

    assert (job.node_count, job.main_node, job.attempt_limit) == (1, 0, 2)
    assert (home.job(job.job_id).snapshot / "ring.py").exists()
