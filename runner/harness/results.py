"""What run() may return, and how many results that is.

Source: "What run() may return" of the ParallelRunStep page.
"""

from __future__ import annotations

import sys

ITEMS = "items"  # list, tuple and their subclasses: one result per element
SERIES = "series"  # pandas.Series: one per value
FRAME = "frame"  # pandas.DataFrame: one per row
ARRAY = "array"  # numpy array: one per entry of the first axis
MATRIX = "matrix"  # the same of 2 dimensions, written like a DataFrame


class WrongReturnType(Exception):
    """run() has returned something else; ``type_name`` says what."""

    def __init__(self, result: object) -> None:
        super().__init__()
        self.type_name = type(result).__qualname__
        if hasattr(result, "close") and self.type_name == "coroutine":
            result.close()  # else the interpreter warns that nobody awaited it

    def message(self, index: int, items: int) -> str:
        return (
            "run() returned {} for mini-batch {} ({}); return a list, tuple, DataFrame, "
            "array or Series with one result per item".format(
                self.type_name, index, count_text(items)
            )
        )


def classify(result: object) -> tuple[str, int]:
    """Return the kind of ``result`` and the number of results in it.

    Raises WrongReturnType. pandas and numpy are looked at only when the script has
    imported them: nothing of theirs can come from it otherwise.
    """
    if isinstance(result, (list, tuple)):
        return ITEMS, len(result)
    pandas = sys.modules.get("pandas")
    if pandas is not None and hasattr(pandas, "DataFrame"):
        if isinstance(result, pandas.DataFrame):
            return FRAME, len(result)
        if isinstance(result, pandas.Series):
            return SERIES, len(result)
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "ndarray"):
        if isinstance(result, numpy.ndarray) and result.ndim:
            return MATRIX if result.ndim == 2 else ARRAY, len(result)
    raise WrongReturnType(result)


def count_text(items: int) -> str:
    return "1 item" if items == 1 else "{} items".format(items)
