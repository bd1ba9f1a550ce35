"""The REST API as a whole: who may call, what stands where, how it is described."""

from __future__ import annotations

from typing import Any

from ninja import NinjaAPI, Swagger
from ninja.errors import ValidationError, ValidationErrorContext

from prsweb import __version__
from prsweb.api.access import TokenAuth, session_or_token
from prsweb.api.problems import register_errors
from prsweb.api.routes import accounts, jobs, logs, nodes


class Api(NinjaAPI):
    """Keeps of each wrong value what it was, so that the answer can name it."""

    def validation_error_from_error_contexts(
        self, error_contexts: list[ValidationErrorContext[Any]]
    ) -> ValidationError:
        given = [
            one["input"]
            for context in error_contexts
            for one in context.pydantic_validation_error.errors(include_url=False)
        ]
        error = super().validation_error_from_error_contexts(error_contexts)
        for found, value in zip(error.errors, given, strict=True):
            found["input"] = value
        return error


api = Api(
    title="prsweb",
    version=__version__,
    description="Jobs, their logs and outputs, nodes. Lists have `items` and `next`.",
    auth=TokenAuth(),
    docs=Swagger(settings={"persistAuthorization": False}),
    docs_decorator=session_or_token,
    urls_namespace="api",
)
register_errors(api)
api.add_router("/jobs", jobs.router)
api.add_router("/jobs", logs.router)
api.add_router("/nodes", nodes.router)
api.add_router("/tokens", accounts.tokens)
api.add_router("/sign-in-links", accounts.sign_in_links)
