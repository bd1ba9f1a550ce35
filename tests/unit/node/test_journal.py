from __future__ import annotations

import pytest

from runner.core.journal import read_reports
from runner.node.journal import Journal, JournalExists


def test_reports_come_back_in_order_without_one_that_was_half_written(tmp_path):
    path = tmp_path / "n1-1.journal"
    journal = Journal(path)
    journal.append([b"one", b"", b"three"])
    journal.append([b"four"])
    journal.close()
    with path.open("ab") as file:
        file.write(b"\x05\x00\x00\x00ab")

    with path.open("rb") as file:
        assert list(read_reports(file)) == [b"one", b"", b"three", b"four"]


def test_an_assignment_is_claimed_by_its_journal(tmp_path):
    Journal(tmp_path / "n1-1.journal").close()

    with pytest.raises(JournalExists):
        Journal(tmp_path / "n1-1.journal")
