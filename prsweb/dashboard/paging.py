"""One page of a list, as a browser asks for it: what is wrong is left out and told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from prsweb.jobs.filters import Filter, MalformedCursor, tolerant

FilterT = TypeVar("FilterT", bound=Filter)
PageT = TypeVar("PageT")


@dataclass(frozen=True)
class Asked(Generic[FilterT, PageT]):
    filter: FilterT
    page: PageT
    left_out: list[str]  # a sentence for each member of the query that was wrong

    def context(self) -> dict[str, Any]:
        return {"filter": self.filter, "page": self.page, "left_out": self.left_out}


def asked_page(
    model: type[FilterT], query: Mapping[str, str], find: Callable[[FilterT], PageT]
) -> Asked[FilterT, PageT]:
    """Return the page that ``query`` asks for; with a cursor that is none, the first."""
    wanted, left_out = tolerant(model, query)
    try:
        return Asked(wanted, find(wanted), left_out)
    except MalformedCursor as error:
        first = wanted.model_copy(update={"after": None})
        sentence = f"after={wanted.after} was left out: it {error}"
        return Asked(first, find(first), [*left_out, sentence])
