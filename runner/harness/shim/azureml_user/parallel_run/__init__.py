"""``from azureml_user.parallel_run import EntryScript``."""

from .entry_script import EntryScript

__all__ = ["EntryScript"]
