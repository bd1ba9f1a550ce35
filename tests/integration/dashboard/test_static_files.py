"""Static files: kept for a year, packed, and named by their content."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings
from django.test import AsyncClient

from prsweb.static_version import tree_version


@dataclass(frozen=True)
class Got:
    status: int
    headers: dict[str, str]
    body: bytes


@async_to_sync
async def get(name, **headers):
    """Return the answer as the server gives it: middleware and all."""
    answer = await AsyncClient().get(f"{settings.STATIC_URL}{name}", headers=headers)
    body = b"".join([part async for part in answer.streaming_content])
    return Got(answer.status_code, dict(answer.headers), body)


def test_a_style_sheet_comes_packed_and_may_be_kept():
    got = get("prs/prs.css", **{"Accept-Encoding": "gzip"})

    assert got.status == 200
    assert got.headers["Content-Encoding"] == "gzip"
    assert "immutable" in got.headers["Cache-Control"]
    assert b".prs-topbar" in gzip.decompress(got.body)


def test_without_packing_the_file_comes_as_it_is():
    got = get("prs/page.js")

    assert "Content-Encoding" not in got.headers
    assert got.headers["Content-Type"].startswith("text/javascript")
    assert b"startLive" in got.body


def test_no_other_origin_is_let_in():
    assert "Access-Control-Allow-Origin" not in get("prs/prs.css").headers


def test_the_address_differs_when_a_file_does(tmp_path):
    (tmp_path / "a.js").write_text("1")
    before = tree_version(tmp_path)

    (tmp_path / "a.js").write_text("2")

    assert re.fullmatch(r"[0-9a-f]{10}", before)
    assert tree_version(tmp_path) != before


@pytest.mark.django_db
@pytest.mark.usefixtures("no_redis")
def test_pages_come_packed_and_streams_do_not(client, alice, full_job):
    client.force_login(alice)

    answer = client.get(f"/jobs/{full_job().job_id}/", headers={"Accept-Encoding": "gzip"})

    assert answer["Content-Encoding"] == "gzip"
    assert "Content-Security-Policy" in answer
