"""The REST API, as the commands use it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import httpx

from prsweb.cli.failure import CommandFailed, Problem
from prsweb.cli.server import Server, find_server

TIMEOUT_SECONDS = 60.0
CONNECT_SECONDS = 10.0
PAGE_LIMIT = 100
WHAT_CODE = {400: "malformed", 401: "sign_in", 403: "forbidden", 404: "not_found"}
WHAT_CODE |= {409: "conflict", 413: "too_large", 422: "invalid", 429: "too_many"}


class ApiRefused(CommandFailed):
    """The server answered, and did nothing."""

    def __init__(
        self, http_status: int, message: str, *, code: str, problems: tuple[Problem, ...] = ()
    ) -> None:
        super().__init__(message, code=code, problems=problems)
        self.http_status = http_status


class ApiClient:
    """Calls of one command. Every method raises CommandFailed with what to do."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._http = httpx.Client(
            base_url=f"{server.url}/api/v1",
            headers={"Authorization": f"Bearer {server.token}"},
            timeout=httpx.Timeout(TIMEOUT_SECONDS, connect=CONNECT_SECONDS),
        )

    def get(self, path: str, /, **query: Any) -> Any:
        return self._call("GET", path, params=_without_none(query))

    def post(self, path: str, body: Mapping[str, Any] | None = None, **options: Any) -> Any:
        if body is not None:
            options["json"] = body
        return self._call("POST", path, **options)

    def delete(self, path: str) -> None:
        self._call("DELETE", path)

    def items(self, path: str, *, limit: int | None = None, **query: Any) -> Iterator[Any]:
        """Yield the items of a list, page after page, up to ``limit``."""
        left = limit
        after: str | None = None
        while True:
            size = PAGE_LIMIT if left is None else min(left, PAGE_LIMIT)
            page = self.get(path, limit=size, after=after, **query)
            yield from page["items"]
            after = page["next"]
            if left is not None:
                left -= len(page["items"])
            if after is None or left == 0:
                return

    def list_page(self, path: str, *, limit: int | None = None, **query: Any) -> Any:
        """Return one list ``{"items", "next"}``, longer than a page where asked for."""
        if limit is None or limit <= PAGE_LIMIT:
            return self.get(path, limit=limit, **query)
        return {"items": list(self.items(path, limit=limit, **query)), "next": None}

    def download(self, path: str, /, **query: Any) -> Iterator[bytes]:
        """Yield the bytes of a file."""
        with self._errors_in_words(), self._http.stream("GET", path, params=query) as answer:
            if answer.status_code >= 400:
                answer.read()
                raise _refusal(answer, self.server)
            yield from answer.iter_bytes()

    def _call(self, method: str, path: str, **options: Any) -> Any:
        with self._errors_in_words():
            answer = self._http.request(method, path, **options)
        if answer.status_code >= 400:
            raise _refusal(answer, self.server)
        if not answer.content:
            return None
        try:
            return answer.json()
        except ValueError as error:
            raise CommandFailed(
                f"{self.server.url} did not answer as a prsweb server does; is the "
                "address right?",
                code="unavailable",
            ) from error

    @contextmanager
    def _errors_in_words(self) -> Iterator[None]:
        try:
            yield
        except httpx.TimeoutException as error:
            raise CommandFailed(
                f"{self.server.url} did not answer in time; see its log "
                "(PRSWEB_HOME/logs/web.log), then try again",
                code="unavailable",
            ) from error
        except httpx.ConnectError as error:
            message = _no_connection(self.server, error)
            raise CommandFailed(message, code="unavailable") from error
        except UnicodeError as error:
            raise CommandFailed("what was given is not text in UTF-8: type it anew") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise CommandFailed(
                f"the connection to {self.server.url} failed ({error}); try again",
                code="unavailable",
            ) from error


def connect(server: str | None) -> ApiClient:
    return ApiClient(find_server(server))


def segment(text: str) -> str:
    """Return ``text`` as one part of a path; bytes that are no text stay as they are."""
    return quote(text, safe="", errors="surrogateescape")


def _no_connection(server: Server, error: httpx.ConnectError) -> str:
    if "CERTIFICATE" in str(error).upper():
        return (
            f"the certificate of {server.url} is not trusted here ({error}); add its "
            "authority to the system, or name its file in SSL_CERT_FILE"
        )
    if "SSL" in str(error).upper():
        return f"{server.url} does not speak TLS ({error}); try http:// instead of https://"
    return (
        f"no server answers at {server.url} ({error}); start it with ./prs up, or name "
        "another with --server or PRSWEB_SERVER"
    )


def _refusal(answer: httpx.Response, server: Server) -> ApiRefused:
    status = answer.status_code
    code = WHAT_CODE.get(status, "unavailable")
    try:
        error = answer.json()["error"]
        message, code = str(error["message"]), str(error["code"])
        problems = tuple(
            Problem(str(one["path"]), str(one["rule"]), str(one.get("found") or ""))
            for one in error.get("problems") or ()
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        message, problems = f"{server.url} answered {status} {answer.reason_phrase}", ()
    if status == 401:
        message = f"{message.rstrip('.')}; set PRSWEB_TOKEN to a token of {server.url}"
    return ApiRefused(status, message, code=code, problems=problems)


def _without_none(query: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in query.items() if value is not None}
