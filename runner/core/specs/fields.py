"""Reading the models themselves: which field, rule and inner model stand at a location."""

from __future__ import annotations

from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from runner.core.specs.paths import Location


@dataclass(frozen=True)
class Shape:
    """What a field holds: a value, a list or a map, and of which model, if of one."""

    container: type | None  # list, dict or None
    model: type[BaseModel] | None


def shape_of(field: FieldInfo) -> Shape:
    return _shape(field.annotation)


def _shape(annotation: Any) -> Shape:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return Shape(None, annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _shape(arguments[0])
    if origin in (Union, UnionType):  # with None; no field has two real types
        return _shape(next(one for one in arguments if one is not type(None)))
    if origin in (list, dict):
        return Shape(origin, _shape(arguments[-1]).model)
    return Shape(None, None)


def word_of(field: FieldInfo, name: str) -> str:
    """Return what ``key()`` noted: rule, inner_rule or kind."""
    extra = field.json_schema_extra
    return str(extra.get(name, "")) if isinstance(extra, dict) else ""


def is_offered(field: FieldInfo) -> bool:
    extra = field.json_schema_extra
    return isinstance(extra, dict) and bool(extra.get("offered"))


def rule_at(model: type[BaseModel], location: Location) -> str:
    """Return the rule in words of the value at ``location``; "" where there is none."""
    rule = ""
    current: type[BaseModel] | None = model
    parts = list(location)
    while parts and current is not None:
        field = current.model_fields.get(str(parts.pop(0)))
        if field is None:
            return rule
        shape = shape_of(field)
        rule, current = word_of(field, "rule"), shape.model
        if shape.container is not None and parts:
            parts.pop(0)
            rule = word_of(field, "inner_rule") or rule
        elif parts and current is None:
            return rule
    return rule


def model_at(model: type[BaseModel], location: Location) -> type[BaseModel]:
    """Return the model whose members stand at ``location``."""
    current = model
    parts = list(location)
    while parts:
        field = current.model_fields.get(str(parts.pop(0)))
        shape = shape_of(field) if field is not None else Shape(None, None)
        if shape.model is None:
            return current
        current = shape.model
        if shape.container is not None and parts:
            parts.pop(0)
    return current
