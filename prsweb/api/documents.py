"""The JSON that programs read. Members may be added, none is renamed or left out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, WithJsonSchema


def rfc3339(at: datetime) -> str:
    """``2026-01-31T09:15:02.123Z``."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


Moment = Annotated[
    datetime,
    PlainSerializer(rfc3339, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


class Document(BaseModel):
    model_config = ConfigDict(from_attributes=True, populate_by_name=True)


class ProblemDocument(Document):
    path: str
    rule: str
    found: str


class ErrorBody(Document):
    code: str
    message: str
    problems: list[ProblemDocument]


class ErrorDocument(Document):
    error: ErrorBody


class Progress(Document):
    listing: bool
    waiting: int
    running: int
    retrying: int
    succeeded: int
    partial: int
    failed: int
    not_run: int
    taken_over: int
    remaining_items: int
    done_percent: float
    remaining_seconds: float | None
    remaining_seconds_low: float | None
    remaining_seconds_high: float | None
    updated_at: Moment | None


class HeadlineActionDocument(Document):
    text: str
    url: str


class HeadlineDocument(Document):
    text: str
    case: str
    numbers: dict[str, Any]
    decided_by: str
    actions: list[HeadlineActionDocument]


class ErrorGroupDocument(Document):
    fingerprint: str
    title: str
    kind: str
    pattern: str
    place: str
    count: int
    mini_batches: int = Field(validation_alias="mini_batch_count")
    nodes: list[str]
    first_at: Moment
    last_at: Moment
    traceback: str
    sample_mini_batches: list[int]
    understood: bool = False


class JobListItem(Document):
    id: str
    name: str
    kind: str
    state: str
    cancelling: bool
    owner: str
    private: bool
    queue: str
    tags: dict[str, str]
    url: str
    folder: str
    output: str | None
    output_folder: str | None
    mini_batches: int | None
    items: int | None
    succeeded_items: int | None
    failed_items: int | None
    repeated_tries: int | None
    duplicates: int | None
    progress: Progress | None
    submitted_at: Moment
    started_at: Moment | None
    running_at: Moment | None
    ended_at: Moment | None
    seconds: float
    attempt: int
    attempts: int
    attempt_limit: int
    reason: str
    cause: str | None
    decided_by: str | None
    cancel_reason: str | None
    status_reason: str | None
    exit_code: int | None
    headline: HeadlineDocument
    warnings: list[str]
    nodes: list[str]
    main_node: int | None
    node_count: int
    resubmitted_from: str | None
    reused_from: str | None
    array: None = None
    version: str


class JobDocument(JobListItem):
    metrics: dict[str, Any]
    top_errors: list[ErrorGroupDocument]
    changes: list[dict[str, Any]]
    spec: dict[str, Any]


class CheckDocument(Document):
    """What would be submitted; nothing is stored."""

    spec: dict[str, Any] | None
    warnings: list[str]
    problems: list[ProblemDocument]


class MiniBatchDocument(Document):
    index: int
    state: str
    items: int | None
    succeeded: int | None
    failed: int | None
    tries: int
    node: str | None
    process: str | None
    started_at: Moment | None
    ended_at: Moment | None
    wait_seconds: float | None
    load_seconds: float | None
    run_seconds: float | None
    output_length: int | None
    reason: str | None
    error: str | None


class LogPlaceDocument(Document):
    path: str
    first: int
    last: int


class TryDocument(Document):
    number: int
    node: str
    process: str
    status: str
    started_at: Moment
    duration_seconds: float
    process_seconds: float
    run_seconds: float
    error: str | None
    error_group: str | None
    log_ranges: list[LogPlaceDocument] = []


class MiniBatchDetailDocument(MiniBatchDocument):
    item_names: list[str]
    try_list: list[TryDocument]


class NodeDocument(Document):
    name: str
    state: str
    address: str
    host: str
    location: str
    environment: str | None
    vcpus: int
    memory_mib: int
    gpus: int
    free: bool = Field(validation_alias="is_free")
    job: str | None = Field(validation_alias="job_id")
    version: str
    up_since: Moment
    beat_age_seconds: float
    cpu_percent: float | None
    memory_percent: float | None
    simulated: bool


class JobNodeDocument(Document):
    index: int
    name: str
    address: str
    main: bool
    state: str
    exit_code: int | None
    signal: int | None
    reason: str
    started_at: Moment | None
    ended_at: Moment | None
    attempt: int
    log: str | None = None


class ProcessDocument(Document):
    name: str
    node: str
    pid: int | None
    state: str
    mini_batch: int | None
    since_at: Moment | None
    done: int | None
    rss_bytes: int | None
    gpu: int | None
    ended: str | None


class EventDocument(Document):
    at: Moment
    kind: str
    from_state: str | None
    to_state: str | None
    actor: str
    reason: str


class LogDocument(Document):
    path: str
    bytes: int
    lines: int | None
    node: str | None
    process: str | None
    attempt: int | None
    live: bool


class CutLineDocument(Document):
    line: int
    bytes: int


class LogLinesDocument(Document):
    path: str
    first: int
    lines: list[str]
    total_lines: int
    bytes: int
    complete: bool
    live: bool
    cut: list[CutLineDocument]


class HitDocument(Document):
    path: str
    line: int
    text: str


class HitPage(Document):
    items: list[HitDocument]
    next: str | None
    complete: bool
    searched_to_line: int | None


class SeriesDocument(Document):
    node: str
    process: str | None
    at: list[Moment]
    mean: list[float]
    max: list[float]


class SamplesDocument(Document):
    metric: str
    unit: str
    bucket_seconds: float
    series: list[SeriesDocument]
    left_out: int


class OutputFileDocument(Document):
    path: str
    bytes: int


class OutputsDocument(Document):
    output: str | None
    output_folder: str
    rows: int | None
    bytes: int | None
    sha256: str | None
    files: list[OutputFileDocument]
    more_files: int


class TokenDocument(Document):
    id: int
    name: str
    scope: str
    owner: str
    created_at: Moment
    expires_at: Moment | None
    last_used_at: Moment | None


class NewTokenDocument(Document):
    id: int
    name: str
    scope: str
    expires_at: Moment | None
    token: str


class SignInLinkDocument(Document):
    url: str
    expires_at: Moment


class JobPageDocument(Document):
    items: list[JobListItem]
    next: str | None


class MiniBatchPageDocument(Document):
    items: list[MiniBatchDocument]
    next: str | None
    searched_to: int | None


class NodePageDocument(Document):
    items: list[NodeDocument]
    next: str | None


class JobNodePageDocument(Document):
    items: list[JobNodeDocument]
    next: str | None


class ProcessPageDocument(Document):
    items: list[ProcessDocument]
    next: str | None


class EventPageDocument(Document):
    items: list[EventDocument]
    next: str | None


class ErrorPageDocument(Document):
    items: list[ErrorGroupDocument]
    next: str | None


class LogPageDocument(Document):
    items: list[LogDocument]
    next: str | None


class TokenPageDocument(Document):
    items: list[TokenDocument]
    next: str | None
