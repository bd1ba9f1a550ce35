"""Writing a document as the text of a job file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from runner.core.specs.job_file import IMPLICIT_VALUES


class _JobFileDumper(yaml.SafeDumper):
    """Quotes every text that this reader or one of YAML 1.1 would take for something else."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


for _name, _pattern, _first in IMPLICIT_VALUES:
    _JobFileDumper.add_implicit_resolver(
        f"tag:yaml.org,2002:{_name}",
        re.compile(f"(?:{_pattern})\\Z", re.ASCII),
        list(_first),
    )


def write_job_file(document: Mapping[str, Any]) -> str:
    """Return YAML that ``load_job_file`` reads back as ``document``."""
    text: str = yaml.dump(
        dict(document),
        Dumper=_JobFileDumper,
        sort_keys=False,
        allow_unicode=True,
        width=96,
    )
    return text
