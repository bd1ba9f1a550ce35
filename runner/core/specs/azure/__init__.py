"""Files written for Azure Machine Learning: read into our document, and written from it."""

from runner.core.specs.azure.detect import AzureFormat, azure_format
from runner.core.specs.azure.importing import import_document
from runner.core.specs.azure.reading import ReadFile, UnreadableFile

__all__ = ["AzureFormat", "ReadFile", "UnreadableFile", "azure_format", "import_document"]
