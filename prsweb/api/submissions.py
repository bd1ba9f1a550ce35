"""From the request that brings a job to a submission."""

from __future__ import annotations

import json
from typing import Any, BinaryIO, cast

from django.core.exceptions import BadRequest, RequestDataTooBig
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest
from django.http.multipartparser import MultiPartParserError

from prsweb.api.problems import Malformed
from prsweb.jobs.services.snapshot import LIMIT_BYTES, SourceArchive, SourceTooLarge
from prsweb.jobs.services.submission import Submission
from runner.core.problems import InvalidSpec, unwritable_in
from runner.core.specs import with_notes

MEMBERS = ("spec", "private", "set", "imported")
KEY_CHARACTERS = 200


def read_submission(request: HttpRequest) -> Submission:
    """Return the submission of a JSON body ``{"spec", "private", "set", "imported"}``,
    or of a form with the same members as JSON texts and an archive ``source``.

    Raises Malformed, SourceTooLarge.
    """
    is_form = (request.content_type or "").startswith("multipart/")
    if int(request.META.get("CONTENT_LENGTH") or 0) > LIMIT_BYTES:
        raise SourceTooLarge("source: may hold at most 2 GiB")
    members = _form_members(request) if is_form else read_json_object(request)
    spec = members.get("spec")
    if not isinstance(spec, dict):
        raise Malformed("spec: must be an object with the keys of a job file.")
    private = members.get("private", False)
    if not isinstance(private, bool):
        raise Malformed("private: must be true or false.")
    return Submission(
        raw_spec=_with_notes(spec, members.get("imported")),
        private=private,
        source=_archive(request) if is_form else None,
        set_values=read_settings(members),
        idempotency_key=read_idempotency_key(request),
    )


def _with_notes(spec: dict[str, Any], notes: Any) -> dict[str, Any]:
    """Return the spec with what ``./prs submit`` noticed when it read a file of Azure."""
    if notes is None:
        return spec
    try:
        return with_notes(spec, notes)
    except InvalidSpec as invalid:
        raise Malformed(f"{invalid}.") from invalid


def read_json_object(request: HttpRequest) -> dict[str, Any]:
    """Return the body, {} for none. Raises Malformed."""
    if not request.body.strip():
        return {}
    return _object(request.body, "The body")


def read_settings(members: dict[str, Any]) -> dict[str, Any]:
    settings = members.get("set") or {}
    if not isinstance(settings, dict):
        raise Malformed("set: must be an object of keys and values.")
    return settings


def read_idempotency_key(request: HttpRequest) -> str | None:
    key: str | None = request.headers.get("Idempotency-Key")
    if key is not None and (not 0 < len(key) <= KEY_CHARACTERS or unwritable_in(key)):
        raise Malformed(f"Idempotency-Key: must have 1 to {KEY_CHARACTERS} characters.")
    return key


def _form_members(request: HttpRequest) -> dict[str, Any]:
    try:
        form = request.POST
    except RequestDataTooBig:
        raise
    except (MultiPartParserError, BadRequest) as error:
        raise Malformed(f"The form cannot be read: {error}") from error
    members: dict[str, Any] = {}
    for name in MEMBERS:
        if text := form.get(name):
            members[name] = _json(str(text), name)
    return members


def _archive(request: HttpRequest) -> SourceArchive | None:
    file = request.FILES.get("source")
    if not isinstance(file, UploadedFile) or file.file is None:
        return None
    return SourceArchive(cast(BinaryIO, file.file), file.name or "source")


def _json(text: str | bytes, what: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise Malformed(f"{what} is nested too deeply.") from error
    except ValueError as error:
        raise Malformed(f"{what} is not JSON: {error}") from error


def read_text(members: dict[str, Any], name: str, default: str, most: int) -> str:
    """Return a member that is one text, fit to be kept. Raises Malformed."""
    text = members.get(name, default)
    if not isinstance(text, str) or len(text) > most:
        raise Malformed(f"{name}: must be text of at most {most} characters.")
    if bad := unwritable_in(text):
        raise Malformed(f"{name}: holds the character {bad}, which cannot be kept.")
    return text


def _object(text: str | bytes, what: str) -> dict[str, Any]:
    value = _json(text, what)
    if not isinstance(value, dict):
        raise Malformed(f"{what} must be a JSON object.")
    return value
