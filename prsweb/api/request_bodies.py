"""How bodies that are read by hand stand in the API's description."""

from __future__ import annotations

from typing import Any

_SPEC: dict[str, Any] = {
    "type": "object",
    "description": "The keys of a job file, or of a v1 or v2 file of Azure.",
}
_SET: dict[str, Any] = {
    "type": "object",
    "description": "Values put into the spec: `run_max_try`, `inputs.0.path` …",
}
_IMPORTED: dict[str, Any] = {
    "type": "object",
    "description": "Sent by `./prs submit` with the spec that it made of a file of Azure: "
    "warnings, and the writer's own path of each key.",
    "properties": {
        "warnings": {"type": "array", "items": {"type": "string"}},
        "spelled": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}


def _json_body(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": required}
    return {"requestBody": {"content": {"application/json": {"schema": schema}}}}


SUBMIT_BODY = _json_body(
    {
        "spec": _SPEC,
        "private": {"type": "boolean", "default": False},
        "set": _SET,
        "imported": _IMPORTED,
    },
    ["spec"],
)
SUBMIT_BODY["requestBody"]["content"]["multipart/form-data"] = {
    "schema": {
        "type": "object",
        "required": ["spec"],
        "properties": {
            "spec": {"type": "string", "description": "The spec as JSON."},
            "private": {"type": "string", "enum": ["true", "false"]},
            "set": {"type": "string", "description": "The settings as JSON."},
            "imported": {"type": "string", "description": "As in the JSON body."},
            "source": {
                "type": "string",
                "format": "binary",
                "description": ".zip or .tar.gz of the code folder.",
            },
        },
    }
}
CANCEL_BODY = _json_body({"reason": {"type": "string"}}, [])
RESUBMIT_BODY = _json_body(
    {"set": _SET, "failed_only": {"type": "boolean", "default": False}}, []
)
