"""What a script can learn about the process it runs in.

A job's process sets the PRSWEB_ variables read here, and its children inherit them.
Outside a job each attribute has a value that lets the same script work.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path

LINE = "%(asctime)s|%(levelname)s|%(process)d|%(thread)d|%(filename)s:%(lineno)d|%(message)s"


class EntryScript:
    """One object per process, whichever way it is made or unpickled."""

    _only: EntryScript | None = None
    _logger: logging.Logger | None = None

    def __new__(cls) -> EntryScript:
        if cls._only is None:
            cls._only = super().__new__(cls)
        return cls._only

    def __reduce__(self):  # type: ignore[no-untyped-def]
        return EntryScript, ()

    @property
    def agent_name(self) -> str:
        """Name of this process, to keep the file names of processes apart."""
        return os.environ.get("PRSWEB_PROCESS", "process000")

    @property
    def log_dir(self) -> Path:
        """Folder for log files of the script's own, made."""
        return _made(os.environ.get("PRSWEB_LOG_DIR", "./logs/user/entry_script_log/local"))

    @property
    def output_dir(self) -> Path:
        """The job's output folder, made."""
        return _made(os.environ.get("AZUREML_BI_OUTPUT_PATH", "."))

    @property
    def working_dir(self) -> Path:
        return Path(os.environ.get("PRSWEB_WORK_DIR") or os.getcwd())

    @property
    def dir(self) -> Path:
        """Folder of the entry script."""
        folder = os.environ.get("PRSWEB_ENTRY_SCRIPT_DIR")
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        return Path(folder or (os.path.dirname(os.path.abspath(main)) if main else os.getcwd()))

    @property
    def logging_level(self) -> str:
        return os.environ.get("PRSWEB_LOGGING_LEVEL", "INFO")

    @property
    def logger(self) -> logging.Logger:
        """Writes to a file of this process in ``log_dir``; outside a job to stderr too."""
        if EntryScript._logger is None:
            EntryScript._logger = self._make_logger()
        return EntryScript._logger

    def _make_logger(self) -> logging.Logger:
        logger = logging.getLogger("azureml_user.parallel_run")
        logger.setLevel(getattr(logging, self.logging_level))
        logger.propagate = False  # the root logger writes to the script's stdout
        path = os.environ.get("PRSWEB_ENTRY_SCRIPT_LOG")
        default = self.log_dir / "{}.log.txt".format(self.agent_name)
        _add_handler(logger, logging.FileHandler(path or str(default), encoding="utf-8"))
        if path is None:
            _add_handler(logger, logging.StreamHandler())
        return logger


def _add_handler(logger: logging.Logger, handler: logging.Handler) -> None:
    formatter = logging.Formatter(LINE)
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    logger.addHandler(handler)


def _made(folder: str) -> Path:
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    return path
