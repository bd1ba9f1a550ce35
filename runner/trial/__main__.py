"""Start of a trial: ``python -m runner.trial FOLDER COUNT``.

FOLDER holds ``job/spec.json`` and ``job/snapshot``; COUNT is the number of mini-batches.
Events go to standard output, a line each (``runner.core.trial_events``). The end of
standard input stops it: nothing of it then stays, FOLDER included.
"""

from __future__ import annotations

import os
import select
import shutil
import sys
import traceback
from pathlib import Path

from runner.core.layout import JobFolder
from runner.core.run_settings import StepSettings
from runner.core.trial_events import JOB_FOLDER, TrialEvent, TrialRefused
from runner.node.environments import BuildStopped, EnvironmentFailed
from runner.node.interpreter import NoInterpreter
from runner.node.leftovers import Leftovers
from runner.node.process_tree import become_subreaper
from runner.node.step_spec import SpecUnreadable, read_members
from runner.node.worker_process import CannotStartProcess, Launch
from runner.orchestrator.input_files import InputUnreadable
from runner.trial.first_mini_batches import write_first_mini_batches
from runner.trial.place import prepare_launch
from runner.trial.trial import Trial
from runner.trial.watched_process import TrialStopped

STANDARD_INPUT = 0
HOW_TO_SEE_WHERE = "with PRSWEB_TRACEBACK=1 it shows where"


class NothingToTry(Exception):
    """The input holds no item."""


def main(root: Path, count: int) -> int:
    become_subreaper()
    try:
        _run(root, count)
    except (TrialStopped, BuildStopped, BrokenPipeError):
        shutil.rmtree(root, ignore_errors=True)
        return 1
    except (
        CannotStartProcess,
        EnvironmentFailed,
        InputUnreadable,
        NoInterpreter,
        NothingToTry,
        OSError,
        SpecUnreadable,
    ) as error:
        _tell(TrialRefused(str(error)))
    except Exception as error:  # a fault of ours, told in one line like any other
        if os.environ.get("PRSWEB_TRACEBACK"):
            traceback.print_exc()
        _tell(TrialRefused(f"unexpected {type(error).__name__}: {error}; {HOW_TO_SEE_WHERE}"))
    return 0


def _run(root: Path, count: int) -> None:
    folder = JobFolder(root / JOB_FOLDER)
    settings = StepSettings.from_spec(read_members(folder.spec))
    found = write_first_mini_batches(settings, folder, count)
    if not found:
        names = ", ".join(path for one in settings.inputs for path in one.paths)
        raise NothingToTry(f"{names or 'the input'}: there is no item in it")
    launch = prepare_launch(folder, temporary=root / "tmp", is_stopped=_is_stopped)
    _try(launch, found)


def _try(launch: Launch, count: int) -> None:
    leftovers = Leftovers(launch.place.assignment)
    trial = Trial(launch, _tell, stop_descriptor=STANDARD_INPUT)
    try:
        trial.run(count)
    finally:
        trial.close()
        leftovers.end()


def _tell(event: TrialEvent) -> None:
    line = event.to_json() + b"\n"
    while line:
        line = line[os.write(1, line) :]


def _is_stopped() -> bool:
    return bool(select.select([STANDARD_INPUT], [], [], 0)[0])


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2])))
