"""Server-sent events: what changed on a page, as fragments, at most twice a second.

A page carries the position (``EPOCH.ID``) at which it was rendered; its stream
starts there, so nothing between is missed. A position that is older than what
Redis keeps, or of another epoch (Redis was wiped), is answered by ``resync``:
the page fetches itself once.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass

import redis
import redis.asyncio
from asgiref.sync import sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

from prsweb.accounts.models import User
from prsweb.dashboard import fragments
from prsweb.dashboard.job_rows import render_changed_rows
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.jobs import NoSuchJob, get_job, has_ended
from prsweb.jobs.selectors.live import redis_client
from runner.core.redis_keys import ALL_EVENTS, EVENTS_EPOCH, STREAM_LENGTH, JobKeys

logger = logging.getLogger(__name__)

COALESCE_SECONDS = 0.5  # at most two messages a second
PING_SECONDS = 10.0
TICK_SECONDS = 1.0  # for what changes with the clock
RIGHTS_SECONDS = 60.0  # how often a stream looks whether its viewer may still see
FACTS_READ = 1000
HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


@dataclass(frozen=True)
class Position:
    """Where a page stands in a stream of facts."""

    epoch: str
    entry: str  # id of the last entry seen

    def __str__(self) -> str:
        return f"{self.epoch}.{self.entry}"

    @classmethod
    def parse(cls, text: str) -> Position | None:
        epoch, _, entry = text.partition(".")
        first, _, second = entry.partition("-")
        if epoch and first.isdigit() and second.isdigit():
            return cls(epoch, entry)
        return None


def current_position(stream_key: str) -> str:
    """Return the position at which a page is rendered now; "" without Redis."""
    client = redis_client()
    try:
        epoch = _draw_epoch(client)
        newest = client.xrevrange(stream_key, count=1)
    except redis.RedisError:
        return ""
    entry = newest[0][0].decode() if newest else "0-0"
    return str(Position(epoch, entry))


def _draw_epoch(client: redis.Redis) -> str:
    """Return the epoch of this Redis's data; a wiped one draws a new one."""
    client.set(EVENTS_EPOCH, uuid.uuid4().hex[:12], nx=True)
    value = client.get(EVENTS_EPOCH)
    return value.decode() if isinstance(value, bytes) else ""


async def job_stream(request: HttpRequest, job_id: uuid.UUID) -> HttpResponseBase:
    """The stream of one of a job's pages: ``?page=overview`` and the page's own query."""
    user = await request.auser()
    if not isinstance(user, User):
        return HttpResponse(status=401)
    try:
        job = await sync_to_async(get_job)(user, str(job_id))
    except NoSuchJob:
        return HttpResponse(status=404)
    page = request.GET.get("page", "overview")
    if page not in fragments.PAGES:
        return HttpResponse(status=404)
    viewer = JobViewer(job, user, page, request.GET.dict())
    return _answer(follow(JobKeys(job.job_id).events, _asked_position(request), viewer))


async def jobs_stream(request: HttpRequest) -> HttpResponseBase:
    """The stream of the job list: rows that are on the page and have changed."""
    user = await request.auser()
    if not isinstance(user, User):
        return HttpResponse(status=401)
    viewer = ListViewer(user, request.GET.dict())
    return _answer(follow(ALL_EVENTS, _asked_position(request), viewer))


def _asked_position(request: HttpRequest) -> Position | None:
    """On a reconnect the header knows better than the page."""
    text = request.headers.get("Last-Event-ID") or request.GET.get("at", "")
    return Position.parse(text)


def _answer(messages: AsyncIterator[bytes]) -> StreamingHttpResponse:
    return StreamingHttpResponse(messages, content_type="text/event-stream", headers=HEADERS)


class Viewer:
    """Whose page it is, and what facts mean for it."""

    has_ticks = False

    def is_over(self) -> bool:
        return False

    def may_see(self) -> bool:
        raise NotImplementedError

    def render(self, facts: list[Mapping[str, str]], *, tick: bool) -> str:
        """Return partials for the page, "" when nothing on it changed."""
        raise NotImplementedError


class JobViewer(Viewer):
    def __init__(self, job: Job, user: User, page: str, query: Mapping[str, str]) -> None:
        self.job, self.user, self.page, self.query = job, user, page, query
        self._sent: dict[str, str] = {}
        self.has_ticks = True

    def is_over(self) -> bool:
        return has_ended(self.job)

    def may_see(self) -> bool:
        try:
            self.user.refresh_from_db()
            get_job(self.user, self.job.job_id)
        except (NoSuchJob, User.DoesNotExist):
            return False
        return self.user.is_active

    def render(self, facts: list[Mapping[str, str]], *, tick: bool) -> str:
        names = fragments.touched_fragments(self.page, (fact["kind"] for fact in facts))
        if tick:
            names += [n for n in fragments.ticking_fragments(self.page) if n not in names]
        if not names:
            return ""
        self.job = get_job(self.user, self.job.job_id)
        return "".join(filter(None, map(self._partial, names)))

    def _partial(self, name: str) -> str:
        html = fragments.render_fragment(name, self.job, self.user, self.query)
        if self._sent.get(name) == html:
            return ""
        self._sent[name] = html
        return _partial(f"fragment-{name}", html)


class ListViewer(Viewer):
    def __init__(self, user: User, query: Mapping[str, str]) -> None:
        self.user, self.query = user, query

    def may_see(self) -> bool:
        try:
            self.user.refresh_from_db()
        except User.DoesNotExist:
            return False
        return self.user.is_active

    def render(self, facts: list[Mapping[str, str]], *, tick: bool) -> str:
        changed = {fact["job"] for fact in facts if fact.get("job")}
        return "".join(
            _partial(element_id, html)
            for element_id, html in render_changed_rows(self.user, self.query, changed)
        )


def _partial(element_id: str, html: str) -> str:
    return f'<hx-partial hx-target="#{element_id}" hx-swap="outerMorph">{html}</hx-partial>'


async def follow(
    key: str,
    asked: Position | None,
    viewer: Viewer,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> AsyncIterator[bytes]:
    """Yield messages until the viewer goes, may see no more, or the job has ended.

    A Redis that is away costs no error: the page is told by the pings' absence.
    """
    client = redis.asyncio.from_url(settings.PRSWEB_REDIS_URL)
    try:
        async for message in _messages(client, key, asked, viewer, clock):
            yield message
    finally:
        await client.aclose()


async def _messages(
    client: redis.asyncio.Redis,
    key: str,
    asked: Position | None,
    viewer: Viewer,
    clock: Callable[[], float],
) -> AsyncIterator[bytes]:
    position = asked
    pinged = rights = clock()
    ticked = 0.0
    yield message_of("ping", "{}")
    while True:
        try:
            position, is_resync = await _checked(client, key, position)
            if is_resync:
                yield message_of("resync", "{}", position)
            facts, position = await _collect(client, key, position)
        except redis.RedisError:
            await asyncio.sleep(TICK_SECONDS)
            continue
        now = clock()
        tick = viewer.has_ticks and now - ticked >= TICK_SECONDS
        ticked = now if tick else ticked
        if facts or tick:
            html = await sync_to_async(viewer.render)(facts, tick=tick)
            if html:
                pinged = now
                yield message_of("", html, position)
        if viewer.is_over():
            yield message_of("job-ended", "{}", position)
            return
        if now - rights >= RIGHTS_SECONDS:
            rights = now
            if not await sync_to_async(viewer.may_see)():
                yield message_of("signed-out", "{}")
                return
        if now - pinged >= PING_SECONDS:
            pinged = now
            yield message_of("ping", "{}")


async def _checked(
    client: redis.asyncio.Redis, key: str, position: Position | None
) -> tuple[Position, bool]:
    """Return a position that the stream can go on from, and whether facts were lost."""
    epoch = await sync_to_async(_draw_epoch)(redis_client())
    if position is not None and position.epoch == epoch:
        oldest = await client.xrange(key, count=1)
        if (
            not oldest
            or await client.xlen(key) < STREAM_LENGTH
            or _entry(oldest[0][0].decode()) <= _entry(position.entry)
        ):
            return position, False
    newest = await client.xrevrange(key, count=1)
    entry = newest[0][0].decode() if newest else "0-0"
    return Position(epoch, entry), True


def _entry(text: str) -> tuple[int, int]:
    first, _, second = text.partition("-")
    return int(first), int(second)


async def _collect(
    client: redis.asyncio.Redis, key: str, position: Position
) -> tuple[list[Mapping[str, str]], Position]:
    """Wait for facts, then half a second more for those that follow at once."""
    waited = await client.xread(
        {key: position.entry}, count=FACTS_READ, block=int(TICK_SECONDS * 1000)
    )
    if not waited:
        return [], position
    await asyncio.sleep(COALESCE_SECONDS)
    entries = (await client.xread({key: position.entry}, count=FACTS_READ))[0][1]
    facts = [
        {name.decode(): value.decode() for name, value in fields.items()}
        for _, fields in entries
    ]
    return facts, Position(position.epoch, entries[-1][0].decode())


def message_of(event: str, data: str, position: Position | None = None) -> bytes:
    """Return one message of the event stream; data may have several lines."""
    lines = [f"id: {position}"] if position else []
    if event:
        lines.append(f"event: {event}")
    lines += [f"data: {line}" for line in data.splitlines()] or ["data: "]
    return ("\n".join(lines) + "\n\n").encode()
