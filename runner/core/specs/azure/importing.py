"""The one way in for files of Azure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.core.problems import InvalidSpec, Problem
from runner.core.specs.azure.detect import AzureFormat, azure_format
from runner.core.specs.azure.reading import ReadFile
from runner.core.specs.azure.v1 import translate_v1
from runner.core.specs.azure.v2 import translate_v2
from runner.core.specs.draft import draft_of

_REFUSED = {
    AzureFormat.PIPELINE: "pipelines are not read yet: submit the file of each parallel step, "
    "with type: parallel",
    AzureFormat.DEPLOYMENT: "this is a deployment of a batch endpoint, which is no job: submit "
    "a file with type: parallel, or our own with kind: parallel_run_step",
}


def import_document(
    raw: Mapping[str, Any], read_file: ReadFile | None = None
) -> Mapping[str, Any]:
    """Return our document, an ImportedDocument, of a file of Azure; any other as it is.

    ``read_file`` gives the text of a file that the document names, by its path
    relative to the document; None: such names are refused. What is wrong stands in
    the answer and is told by ``parse_spec``, with everything else that is.
    Raises InvalidSpec for a file that holds no single job.
    """
    found = azure_format(raw)
    if found is None:
        return raw
    if found in _REFUSED:
        raise InvalidSpec([Problem("", _REFUSED[found])])
    document = draft_of(raw).document
    translate = translate_v1 if found is AzureFormat.V1 else translate_v2
    return translate(document, read_file)
