"""Callers of the API."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from prsweb.accounts.models import Scope
from prsweb.accounts.services import create_token

WIDEST = {
    "viewer": Scope.READ,
    "submitter": Scope.SUBMIT,
    "operator": Scope.OPERATE,
    "admin": Scope.ADMIN,
}


class ApiCaller:
    """Calls with one token; answers are Django's responses."""

    def __init__(self, token: str | None) -> None:
        self._client = Client()
        self._headers = {"authorization": f"Bearer {token}"} if token else {}

    def get(self, path: str, /, **query: Any) -> Any:
        return self._client.get(f"/api/v1{path}", query, headers=self._headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self._client.post(
            f"/api/v1{path}",
            json.dumps({} if body is None else body),
            content_type="application/json",
            headers=self._headers | {k.replace("_", "-"): v for k, v in headers.items()},
        )

    def upload(self, path: str, form: dict[str, Any]) -> Any:
        return self._client.post(f"/api/v1{path}", form, headers=self._headers)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        return self._client.generic(
            method,
            f"/api/v1{path}",
            b"" if body is None else json.dumps(body).encode(),
            content_type="application/json",
            headers=self._headers,
        )


@pytest.fixture
def as_user(no_redis: None) -> Callable[..., ApiCaller]:
    """Return ``as_user(alice, scope=…)``: a caller with a token of that person."""

    def make(user: Any, scope: Scope | None = None) -> ApiCaller:
        new = create_token(user=user, name="test", scope=scope or WIDEST[user.role])
        return ApiCaller(new.text)

    return make


@pytest.fixture
def nobody(no_redis: None) -> ApiCaller:
    return ApiCaller(None)
