"""The one part that ends by itself: it makes the database ready."""

from __future__ import annotations

import json
import signal
import subprocess
import time

from prsweb.cli.failure import CommandFailed
from prsweb.cli.up.part import Part
from prsweb.cli.up.supervisor import POLL_SECONDS, describe_end, signal_group, tail
from prsweb.paths import CHECKOUT


class PreparationFailed(CommandFailed):
    """The database could not be made ready."""

    def __init__(self, part: Part, return_code: int) -> None:
        said = tail(part.log)
        # Status 2 is a refusal that the part has put in words.
        message = (
            said.splitlines()[-1]
            if return_code == 2 and said
            else (
                f"preparing the database {describe_end(return_code)}. "
                f"The end of {part.log}:\n{said}"
            )
        )
        super().__init__(message, code="unavailable")


class Preparation:
    def __init__(self, part: Part) -> None:
        self._part = part
        with part.log.open("wb") as log:
            self._process = subprocess.Popen(
                part.argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=dict(part.environment),
                cwd=CHECKOUT,
                start_new_session=True,
            )

    def sign_in_path(self) -> str | None:
        """Return the path of a one-time link; None while it is still at work.

        Raises PreparationFailed.
        """
        return_code = self._process.poll()
        if return_code is None:
            return None
        assert self._process.stdout is not None
        said = self._process.stdout.read()
        if return_code != 0:
            raise PreparationFailed(self._part, return_code)
        return str(json.loads(said)["sign_in_path"])

    def stop(self) -> None:
        """End it; a migration that is cut off is rolled back by the database."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            deadline = time.monotonic() + self._part.grace_seconds
            while self._process.poll() is None and time.monotonic() < deadline:
                signal_group(self._process.pid, number)
                time.sleep(POLL_SECONDS)
