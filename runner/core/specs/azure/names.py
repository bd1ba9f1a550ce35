"""Names of data: those of Azure and ours.

Source: https://learn.microsoft.com/azure/machine-learning/how-to-read-write-data-v2
"""

from __future__ import annotations

import re

_LONG = re.compile(
    r"azureml://(?:subscriptions/[^/]+/resource[gG]roups/[^/]+/"
    r"(?:providers/[^/]+/)?workspaces/[^/]+/)?datastores/(?P<store>[^/]+)"
    r"(?:/paths(?P<path>/.*)?)?",
    re.DOTALL,
)
_ASSET = re.compile(r"azureml:(?P<name>[^:@/]+)(?::(?P<version>[0-9]+)|@(?P<label>[^:@/]+))?")
_DATASET = re.compile(r"dataset:(?P<name>[^@]+)(?:@(?P<version>[0-9]+))?")
_DATASTORE = re.compile(r"datastore:(?P<store>[^/]+)(?P<path>/.*)?", re.DOTALL)
RULE = (
    "must be a path, a URL, azureml:NAME:VERSION with a version of digits, azureml:NAME@latest "
    "or azureml://datastores/NAME/paths/PATH"
)


def our_path(path: str) -> str:
    """Return a path as we write it. Raises ValueError for a name that stands for no data."""
    path = path.removeprefix("file://") if path.startswith("file:///") else path
    if path.startswith("file:") and not path.startswith("file://"):
        path = path.removeprefix("file:")
    if not path.startswith("azureml:"):
        return path
    if path.startswith("azureml://"):
        if found := _LONG.fullmatch(path):
            rest = found["path"] or ""
            return f"datastore:{found['store']}{rest if rest != '/' else ''}"
    elif (found := _ASSET.fullmatch(path)) and found["label"] in (None, "latest"):
        version = found["version"]
        return f"dataset:{found['name']}" + (f"@{int(version)}" if version else "")
    raise ValueError(RULE)


def azure_path(path: str) -> str:
    """Return one of our paths as Azure writes it."""
    if found := _DATASET.fullmatch(path):
        version = f":{found['version']}" if found["version"] else "@latest"
        return f"azureml:{found['name']}{version}"
    if found := _DATASTORE.fullmatch(path):
        return f"azureml://datastores/{found['store']}/paths{found['path'] or '/'}"
    return path


def is_cloud(path: str) -> bool:
    return path.startswith("azureml:") or "://" in path


def last_part(path: str) -> str:
    """Return what stands behind the last slash; "" where nothing certain does."""
    last = path.rsplit("/", 1)[-1]
    return "" if "${{" in last or last.startswith("azureml:") or "}}" in last else last
