from __future__ import annotations

import pytest

from runner.node.process_exit import ProcessExit


@pytest.mark.parametrize(
    ("code", "words", "shell_code", "kind"),
    [
        (0, "exit code 0", 0, "exit:0"),
        (3, "exit code 3", 3, "exit:3"),
        (-9, "killed by signal 9 (SIGKILL)", 137, "signal:9"),
        (-11, "killed by signal 11 (SIGSEGV)", 139, "signal:11"),
    ],
)
def test_an_end_is_told_in_words_and_as_a_shell_tells_it(code, words, shell_code, kind):
    process_exit = ProcessExit.from_return_code(code)

    assert str(process_exit) == words
    assert process_exit.shell_code == shell_code
    assert process_exit.error_kind == kind
