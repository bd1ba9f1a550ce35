"""Start a trial in a process of its own, in a folder that goes with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from prsweb.cli.archive import pack
from prsweb.cli.console import say
from prsweb.cli.failure import CommandFailed, Problem
from prsweb.cli.job_file import invalid_job
from prsweb.cli.trial_job import TrialJob
from prsweb.jobs.services.code_checks import FoundScript, find_script
from prsweb.jobs.services.snapshot import (
    BadSource,
    SourceArchive,
    list_folder,
    unpack_archive,
)
from prsweb.paths import CHECKOUT, prsweb_home
from runner.core.layout import JobFolder
from runner.core.trial_events import (
    JOB_FOLDER,
    TRIAL_NODE,
    InitTried,
    MiniBatchTried,
    TrialEnded,
    TrialEvent,
    TrialRefused,
    parse_trial_event,
)

STOP_SECONDS = 10.0
END_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def started_trial(job: TrialJob, count: int) -> Iterator[Iterator[TrialEvent]]:
    """Give the events as they come, at most ``count`` mini-batches, then TrialEnded.

    However it is left, nothing of the trial stays. Raises CommandFailed when it cannot
    be run, also on the way.
    """
    with (
        _signals_as_interrupt(),
        tempfile.TemporaryDirectory(prefix="prs-try-", ignore_cleanup_errors=True) as name,
    ):
        root = Path(name).resolve()
        folder = JobFolder(root / JOB_FOLDER)
        _prepare(folder, job)
        process = subprocess.Popen(
            [sys.executable, "-m", "runner.trial", str(root), str(count)],
            cwd=CHECKOUT,
            env={**os.environ, "PRSWEB_HOME": str(prsweb_home().root)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C reaches this process, which ends that one
        )
        try:
            yield _read_events(process, folder, job.source)
        finally:
            _end(process)


@contextmanager
def _signals_as_interrupt() -> Iterator[None]:
    """Let SIGTERM and a closed terminal end a command as Ctrl-C does, clearing up."""
    before = {number: signal.getsignal(number) for number in END_SIGNALS}
    for number, handler in before.items():
        if handler != signal.SIG_IGN:  # nohup
            signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _prepare(folder: JobFolder, job: TrialJob) -> None:
    """Take the code as ``prs submit`` does: packed here, unpacked there."""
    try:
        with pack(job.source) as archive:
            unpack_archive(SourceArchive(archive, "source.tar.gz"), folder.snapshot)  # type: ignore[arg-type]
    except BadSource as error:
        raise invalid_job([Problem("source_directory", str(error), "")]) from error
    script = find_script(
        job.spec["entry_script"], folder.snapshot, list_folder(folder.snapshot)
    )
    if not isinstance(script, FoundScript):
        raise invalid_job([Problem(script.path, script.rule, script.found or "")])
    for warning in script.warnings:
        say(f"warning: {warning}")
    spec = {**job.spec, "entry_script": script.path}
    folder.spec.write_text(json.dumps(spec, ensure_ascii=False))


def _read_events(
    process: subprocess.Popen[bytes], folder: JobFolder, source: Path
) -> Iterator[TrialEvent]:
    assert process.stdout is not None
    work_dir = str(folder.node_work(TRIAL_NODE))
    for line in process.stdout:
        event = parse_trial_event(line)
        if isinstance(event, TrialRefused):
            raise CommandFailed(event.text)
        yield _in_source(event, work_dir, str(source))
        if isinstance(event, TrialEnded):
            return
    raise CommandFailed(
        f"the trial was ended from outside (exit code {process.wait()}); run it again",
        code="unavailable",
    )


def _in_source(event: TrialEvent, work_dir: str, source: str) -> TrialEvent:
    """Return the event with places in the user's own files: the copy is about to go."""
    if not isinstance(event, InitTried | MiniBatchTried) or event.error is None:
        return event
    traceback = event.error.traceback.replace(work_dir + os.sep, source + os.sep)
    return replace(event, error=replace(event.error, traceback=traceback))


def _end(process: subprocess.Popen[bytes]) -> None:
    """The end of its standard input ends it, and all that it has started."""
    assert process.stdin is not None and process.stdout is not None
    with suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    finally:
        process.stdout.close()
