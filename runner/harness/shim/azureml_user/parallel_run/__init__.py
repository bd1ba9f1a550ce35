"""``EntryScript``, and the mini-batch of files."""

from .entry_script import EntryScript
from .mini_batch import FileMiniBatch, make_file_mini_batch

__all__ = ["EntryScript", "FileMiniBatch", "make_file_mini_batch"]
