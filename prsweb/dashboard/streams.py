"""The addresses of the event streams, and what facts mean for each kind of page."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

from prsweb.accounts.models import User
from prsweb.dashboard import fragments, job_rows
from prsweb.dashboard.event_stream import Fact, Viewer, follow
from prsweb.dashboard.fragments import PageView
from prsweb.dashboard.positions import Position
from prsweb.dashboard.shared_renders import shared_renders
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.jobs import NoSuchJob, get_job, has_ended
from runner.core.redis_keys import ALL_EVENTS, JobKeys

HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


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
    viewer = JobViewer(PageView(page, job, user, request.GET.dict()))
    return _answer(follow(JobKeys(job.job_id).events, _asked_position(request), viewer))


async def jobs_stream(request: HttpRequest) -> HttpResponseBase:
    """The stream of the job list: its counters, and rows on the page that have changed."""
    user = await request.auser()
    if not isinstance(user, User):
        return HttpResponse(status=401)
    viewer = ListViewer(user, request.GET.dict())
    return _answer(follow(ALL_EVENTS, _asked_position(request), viewer))


def _asked_position(request: HttpRequest) -> Position | None:
    """On a reconnect the header knows better than the page."""
    return Position.parse(request.headers.get("Last-Event-ID") or request.GET.get("at", ""))


def _answer(messages: AsyncIterator[bytes]) -> StreamingHttpResponse:
    return StreamingHttpResponse(messages, content_type="text/event-stream", headers=HEADERS)


class Sent:
    """What an element was last sent, so that it is sent again only when it differs."""

    def __init__(self) -> None:
        self._html: dict[str, str] = {}

    def partial(self, element_id: str, html: str) -> str:
        """Return the element as htmx takes it, "" when the page has just that."""
        if self._html.get(element_id) == html:
            return ""
        self._html[element_id] = html
        swap = f'hx-target="#{element_id}" hx-swap="outerMorph"'
        return f"<hx-partial {swap}>{html}</hx-partial>"


class JobViewer(Viewer):
    def __init__(self, view: PageView) -> None:
        self.view = view
        self._sent = Sent()
        self._is_first = True

    @property
    def job(self) -> Job:
        return self.view.job

    def is_over(self) -> bool:
        return has_ended(self.job)

    def may_see(self) -> bool:
        if not _is_active(self.view.user):
            return False
        try:
            get_job(self.view.user, self.job.job_id)
        except NoSuchJob:
            return False
        return True

    def render(self, facts: list[Fact], *, is_tick: bool, position: str) -> str:
        view = self.view
        kinds = {fact.get("kind", "") for fact in facts}
        names = fragments.touched_fragments(view.page, kinds, is_tick=is_tick)
        try:
            job = get_job(view.user, self.job.job_id)
        except NoSuchJob:  # deleted meanwhile: the next look at the rights ends it
            return ""
        # First: the page's job was read before its position. Last: as it stays.
        if self._is_first or has_ended(job):
            names = list(fragments.fragments_of(view.page))
        self._is_first = False
        self.view = PageView(view.page, job, view.user, view.query)
        return "".join(
            self._sent.partial(f"fragment-{name}", self._html(name, position)) for name in names
        )

    def _html(self, name: str, position: str) -> str:
        view = self.view
        if not fragments.FRAGMENTS[name].is_shared:
            return fragments.render_fragment(name, view)
        return shared_renders.get(
            f"{view.job.job_id} {view.job.state}",
            name,
            position,
            lambda: fragments.render_fragment(name, view),
        )


class ListViewer(Viewer):
    def __init__(self, user: User, query: Mapping[str, str]) -> None:
        self._user = user
        self._list = job_rows.ShownList.of(query)
        self._new: set[str] = set()
        self._sent = Sent()

    def may_see(self) -> bool:
        return _is_active(self._user)

    def render(self, facts: list[Fact], *, is_tick: bool, position: str) -> str:
        if not facts:
            return ""
        changed = {fact["job"] for fact in facts if fact.get("job")}
        parts = [
            self._sent.partial(f"job-{job_id}", html)
            for job_id, html in job_rows.render_rows(self._user, self._list.shown & changed)
        ]
        if unknown := changed - self._list.shown - self._new:
            self._new |= job_rows.newer_jobs(self._user, self._list, unknown)
        if self._new:
            html = job_rows.render_news(len(self._new))
            parts.append(self._sent.partial("jobs-news", html))
        if any(fact.get("kind") in ("state", "node", "nodes") for fact in facts):
            html = job_rows.render_counters(self._user)
            parts.append(self._sent.partial("jobs-counters", html))
        return "".join(parts)


def _is_active(user: User) -> bool:
    try:
        user.refresh_from_db()
    except User.DoesNotExist:
        return False
    return user.is_active
