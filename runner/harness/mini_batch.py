"""What run() is given: the mini-batch and, when it asks, its context."""

from __future__ import annotations

from .shim.azureml_user.mini_batch import FileMiniBatch

__all__ = ["Context", "FileItems", "FileMiniBatch", "TableItems"]


class FileItems:
    """The items of a mini-batch of files."""

    def __init__(self, paths: list[str]) -> None:
        self._paths = list(paths)

    def __len__(self) -> int:
        return len(self._paths)

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self._paths)

    def __repr__(self) -> str:
        return "<{} files>".format(len(self))

    def to_path(self) -> list[str]:
        """Return the paths, in the order of the input."""
        return list(self._paths)


class TableItems:
    """The items of a mini-batch of rows."""

    def __init__(self, frame) -> None:  # type: ignore[no-untyped-def]
        self._frame = frame

    def __len__(self) -> int:
        return len(self._frame)

    def __iter__(self):  # type: ignore[no-untyped-def]
        return self._frame.itertuples(index=False)

    def __repr__(self) -> str:
        return "<{} rows: {}>".format(len(self), ", ".join(map(str, self._frame.columns)))

    def to_pandas_dataframe(self):  # type: ignore[no-untyped-def]
        """Return the rows as a DataFrame of the caller's own."""
        return self._frame.copy()


class Context:
    """The second argument of run()."""

    def __init__(self, index: int, try_number: int, dataset: FileItems | TableItems) -> None:
        self.minibatch_index = index
        self.task_id = str(index)
        self.try_number = try_number  # 1, 2, …
        self.partition_key_value: dict = {}
        self.dataset = dataset

    def __repr__(self) -> str:
        return "<context of mini-batch {}, try {}>".format(
            self.minibatch_index, self.try_number
        )
