"""Which file of Azure a document is, told from its content."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from runner.core.specs.azure.v1_keys import BESIDE, TOP

_PARALLEL_SCHEMAS = ("paralleljob", "parallelcomponent")
_DEPLOYMENT_KEYS = ("endpoint_name", "endpoint")


class AzureFormat(Enum):
    """The value is the name of the format in words."""

    V1 = "an Azure v1 file (parallel_run_config)"
    V2 = "an Azure v2 file (type: parallel)"
    PIPELINE = "an Azure v2 file (type: pipeline)"
    DEPLOYMENT = "a deployment of an Azure batch endpoint"


def azure_format(raw: Mapping[str, Any]) -> AzureFormat | None:
    """Return the format, or None for our own file and for anything else."""
    if "kind" in raw:
        return None
    if TOP in raw or BESIDE in raw:
        return AzureFormat.V1
    schema = str(raw.get("$schema", "")).lower()
    if "batchdeployment" in schema or any(name in raw for name in _DEPLOYMENT_KEYS):
        return AzureFormat.DEPLOYMENT
    if raw.get("type") == "pipeline":
        return AzureFormat.PIPELINE
    is_parallel = "type" not in raw and any(one in schema for one in _PARALLEL_SCHEMAS)
    if raw.get("type") == "parallel" or is_parallel:
        return AzureFormat.V2
    return None
