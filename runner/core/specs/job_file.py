"""Reading the text of a job file, YAML or JSON, within bounds."""

from __future__ import annotations

from typing import Any

import yaml

from runner.core.problems import InvalidSpec, Problem, found_text

MOST_BYTES = 4 * 1024 * 1024
MOST_DEPTH = 40
MOST_NODES = 200_000


class _JobFileLoader(yaml.SafeLoader):
    """Plain values only; no aliases (they multiply), no key twice, no endless depth."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = 0
        self.seen = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise yaml.MarkedYAMLError(
                problem="aliases are not allowed", problem_mark=event.start_mark
            )
        self.depth += 1
        self.seen += 1
        if self.depth > MOST_DEPTH or self.seen > MOST_NODES:
            mark = self.peek_event().start_mark
            raise yaml.MarkedYAMLError(
                problem=f"nested deeper than {MOST_DEPTH} or more than {MOST_NODES} values",
                problem_mark=mark,
            )
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key!r} must be text: quote it",
                    problem_mark=key_node.start_mark,
                )
            if key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key} stands twice", problem_mark=key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


# 2026-01-31 stays text: a job file holds no dates.
_JobFileLoader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def load_job_file(text: str) -> dict[str, Any]:
    """Return the map that the file holds. Raises InvalidSpec with the line of the fault."""
    if len(text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
        raise InvalidSpec([Problem("", f"the file is larger than {MOST_BYTES // 1024**2} MiB")])
    loader = None
    try:
        loader = _JobFileLoader(text)
        raw = loader.get_single_data()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise InvalidSpec(
            [Problem(where, f"is no YAML: {error.problem or error.context}")]
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InvalidSpec([Problem("", f"is no YAML: {error}")]) from None
    finally:
        if loader is not None:
            loader.dispose()
    if not isinstance(raw, dict):
        rule = "must be a map of keys to values, beginning with kind:"
        raise InvalidSpec([Problem("", rule, None if raw is None else found_text(raw))])
    return raw
