"""The life of a worker process: start, init(), leases, shutdown()."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import time
import traceback

from . import wire
from .config import Config, ConfigInvalid, read_config
from .errors import ErrorBook
from .guard import Guard, end_group
from .loading import InputMissing, Loading
from .profiling import Profiler
from .rendering import FormatUnsupported, make_rows
from .reporting import Reporter, leave, leave_unwritable
from .script import Script, ScriptInvalid, entry_path, load_script, prepare_interpreter
from .segment import Segment, SegmentNotWritable
from .status_words import StatusWords
from .streams import Streams
from .system_log import SystemLog
from .table import TableOptionInvalid
from .tries import OutOfMemory, TryRunner

READ_BYTES = 4096
ARGPARSE_NOTE = (
    "the command line also holds the job's settings: use parse_known_args(), "
    "or set script_sees_settings: false"
)


def main(config_path: str, control_fd: int, report_fd: int) -> int:
    """Run the process. Returns its exit code, see wire."""
    guard = Guard(control_fd)
    guard.start()
    for descriptor in (control_fd, report_fd):
        os.set_inheritable(descriptor, False)  # not for the script's children
    try:
        config = read_config(config_path)
    except ConfigInvalid as error:
        leave("configuration invalid: {}".format(error), wire.EXIT_CONFIG_INVALID)
        raise
    try:
        segment = Segment(config.segment)
    except SegmentNotWritable as error:
        leave_unwritable(error)
        raise
    return WorkerProcess(config, segment, guard, control_fd, report_fd).live()


class WorkerProcess:
    """What the pieces of one process share."""

    def __init__(
        self, config: Config, segment: Segment, guard: Guard, control_fd: int, report_fd: int
    ) -> None:
        self._config = config
        self._guard = guard
        self._control_fd = control_fd
        self._status = StatusWords(config.status_file)
        self._status.enter(wire.PHASE_STARTING)
        self._log = SystemLog(config.system_log)
        source = (config.assignment, config.node_index, config.process)
        self._reporter = Reporter(report_fd, segment, self._log, source)
        self._streams = Streams(config.user_stdout, config.user_stderr)
        self._errors = ErrorBook(config.user_error, config.work_dir, self._streams)
        self._profiler: Profiler | None = None
        self._began = time.monotonic()
        self._stage = "import"  # or "init": what an error came from

    def live(self) -> int:
        """Return the exit code."""
        self._prepare()
        try:
            script, runner = self._init()
        except BaseException as error:  # SystemExit and KeyboardInterrupt too
            return self._end_without_init(error)
        self._status.enter(wire.PHASE_IDLE)
        try:
            self._serve(runner)
        except OutOfMemory:
            self._end_streams()
            return wire.EXIT_OUT_OF_MEMORY
        self._shut_down(script)
        return wire.EXIT_ENDED

    # --- start ---

    def _prepare(self) -> None:
        config = self._config
        faulthandler.enable(2)
        faulthandler.register(signal.SIGUSR2, self._errors.descriptor, all_threads=True)
        self._streams.install(config.logging_level)
        shim_dir = config.shim_dir or os.path.join(os.path.dirname(__file__), "shim")
        prepare_interpreter(config, shim_dir)
        _tell_entry_script(config)
        for line in _first_lines(config):
            self._reporter.say(line)
        self._reporter.start()
        _keep_from_children(self._control_fd, *self._reporter.descriptors())

    # --- init ---

    def _init(self) -> tuple[Script, TryRunner]:
        config = self._config
        self._began = time.monotonic()
        self._status.enter(wire.PHASE_INIT)
        rows = make_rows(config.output_action, config.output)
        loading = Loading(config)
        script = self._profiled(load_script(config))
        self._stage = "init"
        if script.init is not None:
            script.init()
        seconds = time.monotonic() - self._began
        self._reporter.say("import and init() done in {:.3f} s".format(seconds))
        self._reporter.send(wire.FRAME_READY, {"init_seconds": seconds})
        return script, TryRunner(
            config,
            script,
            loading,
            rows,
            self._reporter,
            self._status,
            self._errors,
            self._streams,
        )

    def _profiled(self, script: Script) -> Script:
        config = self._config
        if config.profiling_module:
            self._profiler = Profiler(config.profiling_module, config.profile_file)
            script.run = self._profiler.wrap(script.run)
            script.init = script.init and self._profiler.wrap(script.init)
            script.shutdown = script.shutdown and self._profiler.wrap(script.shutdown)
        return script

    def _end_without_init(self, error: BaseException) -> int:
        """Report why this process cannot work. Returns the exit code."""
        seconds = time.monotonic() - self._began
        told = self._errors.describe(error, self._stage, note=_note_on(error))
        self._reporter.say(
            "{} failed after {:.3f} s: {}: {}".format(
                self._stage, seconds, told["types"][0], told["message"]
            ),
            "ERROR",
        )
        body = {
            "error": told,
            "invalid_script": _is_hopeless(error, self._errors),
            "init_seconds": seconds,
        }
        self._reporter.send(wire.FRAME_INIT_FAILED, body)
        self._end_streams()
        return wire.EXIT_INIT_FAILED

    # --- leases ---

    def _serve(self, runner: TryRunner) -> None:
        """Run lease after lease until the agent says "end"."""
        rest = b""
        while True:
            data = os.read(self._control_fd, READ_BYTES)
            if not data:  # without an "end" there is no agent any more
                end_group()
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                word, *numbers = line.split()
                if word == b"end":
                    self._guard.expect_end()
                    return
                lease_id, first, count, try_number = map(int, numbers)
                runner.run_lease(lease_id, first, count, try_number)

    # --- end ---

    def _shut_down(self, script: Script) -> None:
        self._status.enter(wire.PHASE_SHUTDOWN)
        told = None
        try:
            if script.shutdown is not None:
                script.shutdown()
        except BaseException as error:  # SystemExit and KeyboardInterrupt too
            told = self._errors.describe(error, "shutdown")
        if told is None:
            self._reporter.say("ended")
        else:
            message = "{}: {}".format(told["types"][0], told["message"])
            self._reporter.say("ended; shutdown() failed: " + message, "ERROR")
        self._end_streams()
        self._reporter.send(wire.FRAME_ENDED, {"error": told})
        self._status.enter(wire.PHASE_ENDED)

    def _end_streams(self) -> None:
        self._streams.flush()
        if self._profiler is not None:
            self._profiler.save()


def _keep_from_children(*descriptors: int) -> None:
    """Close them in a child made by fork(): it must not report, nor hold the agent's pipes.

    The hook holds numbers only: what it holds is freed after everything else, and Python 3.9
    crashes when that is mapped memory.
    """

    def close() -> None:
        for descriptor in descriptors:
            os.close(descriptor)

    os.register_at_fork(after_in_child=close)


def _tell_entry_script(config: Config) -> None:
    """Set what EntryScript reads, for this process and the script's children."""
    os.environ.setdefault("AZUREML_BI_OUTPUT_PATH", config.output_folder)
    os.environ.update(
        {
            "PRSWEB_PROCESS": "process{:03d}".format(config.process),
            "PRSWEB_WORK_DIR": config.work_dir,
            "PRSWEB_LOG_DIR": config.log_dir,
            "PRSWEB_ENTRY_SCRIPT_LOG": config.entry_script_log,
            "PRSWEB_ENTRY_SCRIPT_DIR": os.path.dirname(entry_path(config)),
            "PRSWEB_LOGGING_LEVEL": config.logging_level,
        }
    )


def _first_lines(config: Config) -> list[str]:
    argv = ["***" if argument in config.masked else argument for argument in sys.argv]
    lines = [
        "process{:03d} of job {} on node {}, address {}, pid {}".format(
            config.process, config.job_id, config.node_name, config.node_address, os.getpid()
        ),
        "interpreter {}, Python {}".format(sys.executable, sys.version.split()[0]),
        "working directory {}".format(config.work_dir),
        "sys.path {}".format(sys.path),
        "argv {}".format(argv),
        "GPU index {}".format("none" if config.gpu is None else config.gpu),
    ]
    return lines + ["{} {}".format(name, text) for name, text in config.environment.items()]


def _is_hopeless(error: BaseException, errors: ErrorBook) -> bool:
    """Whether no other process could do better: the script or the job must be changed."""
    if isinstance(error, SyntaxError):
        return errors.is_user_file(error.filename or "")
    return isinstance(
        error, (ScriptInvalid, InputMissing, FormatUnsupported, TableOptionInvalid)
    )


def _note_on(error: BaseException) -> str:
    """Return a hint when argparse has ended the script over arguments it does not know."""
    if not isinstance(error, SystemExit):
        return ""
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    return ARGPARSE_NOTE if any(file.endswith("argparse.py") for file in files) else ""
