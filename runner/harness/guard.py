"""Nothing that runs here outlives the node agent, however that one ends."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time

CHECK_SECONDS = 1.0
PR_SET_PDEATHSIG = 1


def end_group() -> None:
    """Kill this process and all that the script has started. Does not return."""
    os.killpg(os.getpgrp(), signal.SIGKILL)


class Guard:
    """Watches the agent's end of the control pipe, and whose child this process is."""

    def __init__(self, control_fd: int) -> None:
        self._control_fd = control_fd
        self._parent = os.getppid()
        self._is_end_expected = False

    def start(self) -> None:
        """Become the leader of a group of our own and watch from a thread."""
        if os.getpgrp() != os.getpid():
            os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _end_soon_after_parent()
        threading.Thread(target=self._watch, name="prs-guard", daemon=True).start()

    def expect_end(self) -> None:
        """From now on the agent may close its pipe: it has asked us to leave."""
        self._is_end_expected = True

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._control_fd, 0)  # hang-up and error are reported unasked
        while os.getppid() == self._parent:
            if not poll.poll(CHECK_SECONDS * 1000):
                continue
            if not self._is_end_expected:
                break
            time.sleep(CHECK_SECONDS)
        end_group()


def _end_soon_after_parent() -> None:
    """Let the kernel end us a second after the parent, for when C code keeps the watching
    thread from running.

    Not with SIGKILL at once: that would reach only this process, before the thread could
    take the script's own children along. SIGHUP has the number 1, and its handler is the C
    function alarm(seconds), so no Python has to run for SIGALRM to follow.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        import ctypes

        libc = ctypes.CDLL(None)
        libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
        libc.signal.restype = ctypes.c_void_p
        libc.signal(signal.SIGHUP, ctypes.cast(libc.alarm, ctypes.c_void_p))
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGHUP, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return  # an interpreter built without ctypes: the thread alone watches
