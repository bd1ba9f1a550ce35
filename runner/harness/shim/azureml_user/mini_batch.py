"""The mini-batch of a job over files."""

from __future__ import annotations


class FileMiniBatch(list):
    """Absolute local paths as text, in the order of the input."""

    task_id = ""  # the mini-batch index as text

    def __reduce_ex__(self, protocol):  # type: ignore[no-untyped-def,override]
        # By a name that every process of the job can import, whichever name this
        # module was loaded under.
        from azureml_user.mini_batch import make_file_mini_batch

        return make_file_mini_batch, (list(self), self.task_id)


def make_file_mini_batch(paths: list[str], task_id: str) -> FileMiniBatch:
    """Return the mini-batch of ``paths``; what a pickled one is made from."""
    mini_batch = FileMiniBatch(paths)
    mini_batch.task_id = task_id
    return mini_batch
