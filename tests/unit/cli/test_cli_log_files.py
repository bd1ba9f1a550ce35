"""Which log files are meant, and how lines are marked and filtered."""

from __future__ import annotations

from prsweb.cli.log_files import LevelFilter, LogChoice, choose_logs, shown_line

FILES = [
    {"path": "job_result.txt", "node": None, "process": None},
    {"path": "sys/node/n1/process000.txt", "node": "n1", "process": "process000"},
    {
        "path": "user/stdout/n10/process000.stdout.txt",
        "node": "n10",
        "process": "process000",
    },
    {"path": "user/stdout/n2/process001.stdout.txt", "node": "n2", "process": "process001"},
    {"path": "user/stderr/n2/process001.stderr.txt", "node": "n2", "process": "process001"},
    {
        "path": "user/entry_script_log/n2/process001.log.txt",
        "node": "n2",
        "process": "process001",
    },
]
ATTEMPTS = [
    {"path": "nodes/0/attempt-1.log", "node": "n1"},
    {"path": "nodes/0/attempt-2.log", "node": "n3"},
    {"path": "nodes/1/attempt-1.log", "node": "n2"},
]


def marks(files: list[dict[str, str | None]], choice: LogChoice) -> list[str]:
    return [source.mark for source in choose_logs(files, choice)]


def test_without_a_choice_it_is_what_the_script_printed_in_order_of_nodes() -> None:
    assert marks(FILES, LogChoice()) == [
        "n2/process001 stderr",
        "n2/process001",
        "n10/process000",
    ]


def test_a_process_may_be_a_number_or_either_spelling() -> None:
    for spelling in ("1", "p01", "process001"):
        assert marks(FILES, LogChoice(process=spelling, stream="stdout")) == ["n2/process001"]


def test_a_level_means_the_scripts_own_logger() -> None:
    [source] = choose_logs(FILES, LogChoice(level="WARNING"))

    assert source.path == "user/entry_script_log/n2/process001.log.txt"


def test_a_path_is_that_file_alone() -> None:
    [source] = choose_logs(FILES, LogChoice(path="job_result.txt"))

    assert source.mark == "job_result.txt"


def test_each_node_shows_its_newest_attempt_unless_one_is_named() -> None:
    assert marks(ATTEMPTS, LogChoice()) == ["n3", "n2"]
    assert marks(ATTEMPTS, LogChoice(attempt=1)) == ["n1", "n2"]
    assert marks(ATTEMPTS, LogChoice(node="1")) == ["n2"]
    assert marks(ATTEMPTS, LogChoice(node="n3")) == ["n3"]


def test_a_traceback_goes_with_the_line_it_belongs_to() -> None:
    log = [
        "2026-01-31 09:15:02,123|INFO|356|1|score.py:18|fine",
        "2026-01-31 09:15:02,124|ERROR|356|1|score.py:19|bad",
        "Traceback (most recent call last):",
        "2026-01-31 09:15:02,125|DEBUG|356|1|score.py:20|more",
        "a second line of it",
    ]

    passes = LevelFilter("WARNING").passes

    assert [line for line in log if passes(line)] == log[1:3]


def test_a_progress_bar_shows_its_last_state() -> None:
    assert shown_line("[#    ] 1/2\r[#####] 2/2\r", is_terminal=False) == "[#####] 2/2"


def test_a_terminal_gets_colours_and_no_other_control_code() -> None:
    line = "\x1b[2J\x1b]0;title\x07\x1b[32mread\x1b[0m\ta\x08b\x1b"

    assert shown_line(line, is_terminal=True) == "\x1b[32mread\x1b[0m\tab"
    assert shown_line(line, is_terminal=False) == line
