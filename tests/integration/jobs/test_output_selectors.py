"""Outputs: files, and the first rows as a table."""

from __future__ import annotations

import pytest

from prsweb.jobs.selectors.outputs import (
    NoSuchOutput,
    detect_separator,
    job_outputs,
    open_output,
    output_preview,
)


@pytest.fixture
def job(make_job):
    return make_job()


def write(home, job, name, text):
    path = home.job(job.job_id).output / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def test_files_are_listed_with_their_sizes(job, home):
    write(home, job, "rows.txt", "abc")
    write(home, job, "report/a.csv", "1,2")

    found = job_outputs(job)

    assert [(file.path, file.bytes) for file in found.files] == [
        ("report/a.csv", 3),
        ("rows.txt", 3),
    ]
    assert found.output is None


@pytest.mark.parametrize(
    ("lines", "separator"),
    [
        (["a b c", "1 2 3"], " "),
        (["a,b", "1,2"], ","),
        (['"x, y",b', "1,2"], ","),
        (["a\tb", "1\t2"], "\t"),
        (["a;b;c", "1;2;3"], ";"),
        (["one", "two"], None),
        (["a b, c", "d e, f"], ","),
        ([], None),
    ],
)
def test_the_separator_is_the_one_that_cuts_every_line_alike(lines, separator):
    assert detect_separator(lines) == separator


def test_a_table_shows_its_first_rows(job, home):
    write(home, job, "rows.txt", "".join(f"img{n}.png {n}\n" for n in range(80)))

    preview = output_preview(job, "rows.txt")

    assert preview.separator_name == "space"
    assert preview.column_count == 2
    assert len(preview.rows) == 50
    assert preview.rows[7] == ("img7.png", "7")
    assert preview.is_cut


def test_what_is_no_table_shows_its_beginning(job, home):
    write(home, job, "note.txt", "hello\n" * 2000)

    preview = output_preview(job, "note.txt")

    assert preview.rows == ()
    assert len(preview.text) <= 4096
    assert preview.is_cut


@pytest.mark.parametrize("content", [b"", b"\0\1binary", b"x" * 500_000, b'"' * 200_000])
def test_odd_files_have_a_preview_too(job, home, content):
    write(home, job, "odd", content)

    assert output_preview(job, "odd").bytes == len(content)


@pytest.mark.parametrize("path", ["../spec.json", "/etc/passwd", "link", "", "a\0"])
def test_nothing_outside_is_an_output(job, home, path):
    (home.job(job.job_id).output / "link").symlink_to("/etc/passwd")
    home.job(job.job_id).spec.write_text("{}")

    with pytest.raises(NoSuchOutput):
        open_output(job, path)
