"""Errors of the API: one form, and which status each of our refusals has."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.core.exceptions import RequestDataTooBig, TooManyFilesSent
from django.db import DatabaseError, DataError, IntegrityError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError
from pydantic import BaseModel

from prsweb.accounts.permissions import NotAllowed
from prsweb.accounts.services import NoSuchToken
from prsweb.jobs.filters import MalformedCursor
from prsweb.jobs.selectors.errors import NoSuchErrorGroup
from prsweb.jobs.selectors.jobs import NoSuchJob
from prsweb.jobs.selectors.logs import NoSuchLog
from prsweb.jobs.selectors.mini_batches import NoSuchMiniBatch
from prsweb.jobs.selectors.nodes import NoSuchNode
from prsweb.jobs.selectors.outputs import NoSuchOutput
from prsweb.jobs.selectors.samples import NoSuchProcess
from prsweb.jobs.services.cancellation import CannotCancel
from prsweb.jobs.services.deletion import CannotDelete
from prsweb.jobs.services.nodes import CannotDrain
from prsweb.jobs.services.resubmission import CannotResubmit
from prsweb.jobs.services.snapshot import SourceTooLarge
from prsweb.jobs.services.submission import InvalidJob, KeyUsedBefore
from runner.core.problems import FOUND_CHARACTERS, found_text

logger = logging.getLogger(__name__)

CODES = {
    400: "malformed",
    401: "sign_in",
    403: "forbidden",
    404: "not_found",
    405: "malformed",
    409: "conflict",
    413: "too_large",
    422: "invalid",
    429: "too_many",
    503: "unavailable",
}
STATUSES: dict[type[Exception], int] = {
    NotAllowed: 403,
    NoSuchJob: 404,
    NoSuchMiniBatch: 404,
    NoSuchNode: 404,
    NoSuchErrorGroup: 404,
    NoSuchLog: 404,
    NoSuchOutput: 404,
    NoSuchProcess: 404,
    NoSuchToken: 404,
    CannotCancel: 409,
    CannotDelete: 409,
    CannotDrain: 409,
    CannotResubmit: 409,
    KeyUsedBefore: 409,
    SourceTooLarge: 413,
}


@dataclass(frozen=True)
class ShownProblem:
    path: str
    rule: str
    found: str


class Malformed(Exception):
    """The request cannot be read at all."""


class InvalidQuery(Exception):
    """A member of the query breaks a rule."""

    def __init__(self, path: str, rule: str, found: str) -> None:
        super().__init__(f"{path}: {rule}")
        self.problem = ShownProblem(path, rule, found)


def error_answer(
    status: int, message: str, problems: Sequence[ShownProblem] = ()
) -> JsonResponse:
    error = {
        "code": CODES.get(status, "unavailable"),
        "message": message,
        "problems": [asdict(problem) for problem in problems],
    }
    return JsonResponse({"error": error}, status=status)


def register_errors(api: NinjaAPI) -> None:
    """Let ``api`` answer each of our refusals in the one form."""

    def refused(request: HttpRequest, error: Any) -> HttpResponse:
        return error_answer(_status(error), str(error))

    for kind in STATUSES:
        api.add_exception_handler(kind, refused)

    @api.exception_handler(InvalidJob)
    def invalid_job(request: HttpRequest, error: Any) -> HttpResponse:
        problems = [ShownProblem(one.path, one.rule, one.found or "") for one in error.problems]
        return error_answer(422, str(error), problems)

    @api.exception_handler(MalformedCursor)
    def bad_cursor(request: HttpRequest, error: Any) -> HttpResponse:
        problem = ShownProblem("after", str(error), str(request.GET.get("after", "")))
        return error_answer(422, "The request has 1 problem.", [problem])

    @api.exception_handler(InvalidQuery)
    def bad_query(request: HttpRequest, error: Any) -> HttpResponse:
        return error_answer(422, "The request has 1 problem.", [error.problem])

    @api.exception_handler(Malformed)
    def malformed(request: HttpRequest, error: Any) -> HttpResponse:
        return error_answer(400, str(error))

    @api.exception_handler(ValidationError)
    def invalid(request: HttpRequest, error: Any) -> HttpResponse:
        return _invalid_request(error)

    @api.exception_handler(AuthenticationError)
    def unknown(request: HttpRequest, error: Any) -> HttpResponse:
        message = "Send a token that is valid: Authorization: Bearer TOKEN."
        answer = error_answer(401, message)
        answer["WWW-Authenticate"] = "Bearer"
        return answer

    @api.exception_handler(RequestDataTooBig)
    @api.exception_handler(TooManyFilesSent)
    def too_large(request: HttpRequest, error: Any) -> HttpResponse:
        return error_answer(413, "The request is larger than 8 MiB beside its archive.")

    @api.exception_handler(DatabaseError)
    def away(request: HttpRequest, error: Any) -> HttpResponse:
        logger.exception("%s %s", request.method, request.path)
        return error_answer(503, "The database does not answer; try again.")

    @api.exception_handler(IntegrityError)
    def crossed(request: HttpRequest, error: Any) -> HttpResponse:
        logger.exception("%s %s", request.method, request.path)
        return error_answer(409, "It was changed at the same time; look again and repeat.")

    @api.exception_handler(DataError)
    def not_kept(request: HttpRequest, error: Any) -> HttpResponse:
        logger.exception("%s %s", request.method, request.path)
        return error_answer(422, "The request holds a value that cannot be kept.")

    @api.exception_handler(OSError)
    def no_files(request: HttpRequest, error: Any) -> HttpResponse:
        logger.exception("%s %s", request.method, request.path)
        said = error.strerror or str(error)
        return error_answer(503, f"The server cannot work with its files: {said}.")

    @api.exception_handler(Exception)
    def broken(request: HttpRequest, error: Any) -> HttpResponse:
        logger.exception("%s %s", request.method, request.path)
        return error_answer(500, "The server failed; its log says why.")

    @api.exception_handler(Http404)
    def missing(request: HttpRequest, error: Any) -> HttpResponse:
        return error_answer(404, "There is nothing at this address.")

    @api.exception_handler(HttpError)
    def other(request: HttpRequest, error: Any) -> HttpResponse:
        return error_answer(error.status_code, str(error))


def _status(error: Exception) -> int:
    return next(status for kind, status in STATUSES.items() if isinstance(error, kind))


def _invalid_request(error: ValidationError) -> JsonResponse:
    """Values that break the operation's model; a body that is no JSON is malformed."""
    if any(found["type"] == "json_invalid" for found in error.errors):
        return error_answer(400, "The body is not JSON.")
    problems = [_problem(found) for found in error.errors]
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return error_answer(422, f"The request has {count}.", problems)


def _problem(found: dict[str, Any]) -> ShownProblem:
    where = [str(part) for part in found["loc"] if part not in ("query", "path", "body")]
    # The first part that is left may be the name of the operation's argument.
    path = ".".join(where[1:] if len(where) > 1 else where)
    rule = str(found.get("ctx", {}).get("error") or found["msg"])
    rule = rule.removeprefix("Value error, ").replace("Input should be ", "must be ")
    shown = _shown(found)
    return ShownProblem(path, rule.removesuffix(f" (found: {shown})"), shown)


def _shown(found: dict[str, Any]) -> str:
    """The wrong value as its writer recognises it; nothing for what is not there, or large."""
    given = found.get("input")
    if found["type"] == "missing" or isinstance(given, dict | list | BaseModel):
        return ""
    return found_text(given) if isinstance(given, int | float | None) else _plain(given)


def _plain(given: Any) -> str:
    text = str(given)
    return text if len(text) <= FOUND_CHARACTERS else f"{text[:FOUND_CHARACTERS]}…"
