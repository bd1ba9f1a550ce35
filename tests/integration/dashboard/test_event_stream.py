"""The event stream, against a real Redis: positions, coalescing, resync, the end."""

from __future__ import annotations

import asyncio
import re
from contextlib import aclosing
from dataclasses import dataclass

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.test import AsyncClient

from prsweb.dashboard import event_stream
from prsweb.dashboard.event_stream import follow, message_of
from prsweb.dashboard.fragments import PageView
from prsweb.dashboard.positions import Position, current_position
from prsweb.dashboard.streams import JobViewer
from prsweb.jobs.models import Job
from runner.core.redis_keys import EVENTS_EPOCH, STREAM_LENGTH, JobKeys
from runner.core.states import JobState

pytestmark = pytest.mark.django_db(transaction=True)

SECONDS = 15.0  # for a message to come


@dataclass(frozen=True)
class Message:
    event: str
    data: str
    id: str

    @classmethod
    def parse(cls, raw):
        fields = [line.partition(": ") for line in raw.decode().strip("\n").split("\n")]
        data = "\n".join(value for name, _, value in fields if name == "data")
        named = {name: value for name, _, value in fields}
        return cls(named.get("event", ""), data, named.get("id", ""))

    @property
    def fragments(self):
        return re.findall(r'hx-target="#fragment-([a-z_]+)"', self.data)


class Reader:
    """Reads one stream as a page does."""

    def __init__(self, job, user, page="overview", at=None):
        self.position = at if at is not None else current_position(JobKeys(job.job_id).events)
        self._key = JobKeys(job.job_id).events
        self._viewer = JobViewer(PageView(page, job, user, {}))

    def stream(self):
        return aclosing(follow(self._key, Position.parse(self.position), self._viewer))

    @staticmethod
    async def next(messages, wanted=lambda message: True):
        """Return the first message that is wanted."""
        async with asyncio.timeout(SECONDS):
            while not wanted(message := Message.parse(await anext(messages))):
                pass
        return message

    @classmethod
    async def settled(cls, messages):
        """Read what every stream begins with: a ping, and the page as it is."""
        assert (await cls.next(messages)).event == "ping"
        return await cls.next(messages, lambda message: message.event == "")


def publish(client, job, *kinds):
    for kind in kinds:
        client.xadd(JobKeys(job.job_id).events, {"kind": kind, "job": job.job_id})


@pytest.fixture
def job(full_job):
    return full_job()


def test_a_stream_begins_with_the_page_as_it_is(redis_server, job, alice):
    @async_to_sync
    async def first():
        async with Reader(job, alice, "errors", at="").stream() as messages:
            return await Reader.settled(messages)

    assert first().fragments == ["head", "actions", "tabs", "errors"]


def test_a_fact_sends_the_fragments_that_it_touches_and_no_other(redis_server, job, alice):
    @async_to_sync
    async def changed():
        reader = Reader(job, alice)
        async with reader.stream() as messages:
            await reader.settled(messages)
            await sync_to_async(Job.objects.filter(pk=job.pk).update)(succeeded_count=6)
            publish(redis_server, job, "progress")
            return await reader.next(messages, lambda one: "progress" in one.fragments)

    message = changed()

    assert "events" not in message.fragments
    assert "job_nodes" not in message.fragments
    assert "9 of 10 mini-batches" in message.data
    assert Position.parse(message.id) is not None


def test_facts_of_half_a_second_come_as_one_message(redis_server, job, alice):
    @async_to_sync
    async def messages_of_a_burst():
        found = []
        async with Reader(job, alice).stream() as messages:
            await Reader.settled(messages)
            await sync_to_async(Job.objects.filter(pk=job.pk).update)(succeeded_count=6)
            await sync_to_async(job.error_groups.update)(title="ValueError: another")
            for _ in range(50):
                publish(redis_server, job, "mini_batches", "progress")
            publish(redis_server, job, "errors")
            while not found or "top_errors" not in found[-1].fragments:
                found.append(await Reader.next(messages))
        return found

    found = messages_of_a_burst()

    assert len([one for one in found if "progress" in one.fragments]) == 1


def test_nothing_is_missed_between_the_page_and_its_stream(redis_server, job, alice):
    reader = Reader(job, alice)
    publish(redis_server, job, "errors")

    @async_to_sync
    async def position_after():
        async with reader.stream() as messages:
            return (await reader.settled(messages)).id

    newest = redis_server.xrevrange(JobKeys(job.job_id).events, count=1)[0][0].decode()
    assert position_after().endswith(newest)


@pytest.mark.parametrize("lost", ["wiped", "trimmed"])
def test_a_position_that_redis_no_longer_has_costs_one_resync(
    redis_server, job, alice, lost, monkeypatch
):
    publish(redis_server, job, "state")
    reader = Reader(job, alice)
    if lost == "wiped":
        redis_server.flushall()
    else:
        monkeypatch.setattr("prsweb.dashboard.positions.STREAM_LENGTH", 3)
        publish(redis_server, job, "state", "state", "state", "state")
        redis_server.xtrim(JobKeys(job.job_id).events, maxlen=3, approximate=False)

    @async_to_sync
    async def events():
        async with reader.stream() as messages:
            first = await reader.next(messages, lambda one: one.event == "resync")
            publish(redis_server, job, "errors")
            second = await reader.next(messages, lambda one: one.event != "ping")
            return first, second

    resync, following = events()

    assert Position.parse(resync.id).epoch == redis_server.get(EVENTS_EPOCH).decode()
    assert following.event == ""


def test_a_redis_that_goes_and_comes_costs_no_error(redis_server, job, alice, settings):
    settings.PRSWEB_REDIS_URL = "unix:///nowhere/redis.sock"

    @async_to_sync
    async def first_of_page():
        reader = Reader(job, alice, at="")
        async with reader.stream() as messages:
            return await reader.settled(messages)

    assert "head" in first_of_page().fragments


def test_the_end_of_a_job_ends_its_stream_after_everything_was_sent(redis_server, job, alice):
    @async_to_sync
    async def last_two():
        reader = Reader(job, alice)
        found = []
        async with reader.stream() as messages:
            await reader.settled(messages)
            await sync_to_async(Job.objects.filter(pk=job.pk).update)(
                state=JobState.SUCCEEDED, state_reason="all done", running_count=0
            )
            async with asyncio.timeout(SECONDS):
                async for raw in messages:
                    found.append(Message.parse(raw))
        return found[-2:]

    content, end = last_two()

    assert end.event == "job-ended"
    assert "Succeeded" in content.data
    assert {"head", "actions", "progress", "strip"} <= set(content.fragments)


def test_who_may_see_no_more_is_told_and_the_stream_ends(redis_server, job, alice, monkeypatch):
    monkeypatch.setattr(event_stream, "RIGHTS_SECONDS", 0.0)

    @async_to_sync
    async def last():
        reader = Reader(job, alice)
        async with reader.stream() as messages:
            await sync_to_async(type(alice).objects.filter(pk=alice.pk).update)(is_active=False)
            async with asyncio.timeout(SECONDS):
                return [Message.parse(raw) async for raw in messages][-1]

    assert last().event == "signed-out"


def test_a_quiet_stream_pings(redis_server, job, alice, monkeypatch):
    monkeypatch.setattr(event_stream, "PING_SECONDS", 0.0)

    @async_to_sync
    async def second_ping():
        reader = Reader(job, alice, "config")
        async with reader.stream() as messages:
            await reader.settled(messages)
            return await reader.next(messages, lambda one: one.event == "ping")

    assert second_ping().data == "{}"


def test_every_stream_closes_its_connection(redis_server, job, alice, wait_until):
    def clients():
        return redis_server.info("clients")["connected_clients"]

    current_position("x")  # the connection that all pages share
    before = clients()

    @async_to_sync
    async def open_and_leave():
        for _ in range(5):
            reader = Reader(job, alice)
            async with reader.stream() as messages:
                await reader.settled(messages)

    open_and_leave()

    wait_until(lambda: clients() <= before, what="the end of the streams' connections")


@pytest.mark.parametrize(
    ("who", "status"), [(None, 401), ("bob", 404), ("alice", 200)], ids=str
)
def test_a_stream_is_for_those_who_may_see(request, redis_server, full_job, alice, who, status):
    job = full_job(private=True)
    user = request.getfixturevalue(who) if who else None

    @async_to_sync
    async def answer():
        client = AsyncClient()
        if user:
            await client.aforce_login(user)
        found = await client.get(f"/events/jobs/{job.job_id}/?page=overview")
        if found.streaming:
            async with asyncio.timeout(SECONDS):
                assert b"event: ping" in await anext(aiter(found.streaming_content))
        return found

    found = answer()

    assert found.status_code == status
    if status == 200:
        assert found["Content-Type"] == "text/event-stream"
        assert found["Cache-Control"] == "no-cache"
        assert found["X-Accel-Buffering"] == "no"


@pytest.mark.parametrize(
    "text", ["", "x", "e.", "e.1", "e.1-x", ".1-1", "e.9" + "9" * 99 + "-1"]
)
def test_text_that_is_no_position_is_none(text):
    assert Position.parse(text) is None


def test_a_message_keeps_lines_and_odd_separators():
    message = message_of("", "a\r\nb\u2028c", Position("e", "1-2"))

    assert message == "id: e.1-2\ndata: a\ndata: b\u2028c\n\n".encode()


def test_the_stream_length_is_the_one_that_the_writer_keeps():
    assert STREAM_LENGTH == 10_000
