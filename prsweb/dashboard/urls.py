"""Addresses of the pages."""

from __future__ import annotations

from django.urls import path

from prsweb.dashboard import streams
from prsweb.dashboard.views import (
    actions,
    config,
    errors,
    jobs,
    logs,
    mini_batches,
    nodes,
    outputs,
    overview,
    preferences,
    resources,
    submission,
)

JOB = "jobs/<uuid:job_id>/"

urlpatterns = [
    path("", jobs.home, name="home"),
    path("theme/", preferences.set_theme, name="theme"),
    path("jobs/", jobs.job_list_page, name="jobs"),
    path("jobs/new/", submission.new_job, name="job-new"),
    path(JOB, overview.overview, name="job-overview"),
    path(JOB + "cancel/", actions.cancel, name="job-cancel"),
    path(JOB + "mini-batches/", mini_batches.table, name="job-mini-batches"),
    path(JOB + "mini-batches/<int:index>/", mini_batches.one, name="job-mini-batch"),
    path(JOB + "nodes/", nodes.of_job, name="job-nodes"),
    path(JOB + "resources/", resources.page, name="job-resources"),
    path(JOB + "logs/", logs.tree, name="job-logs"),
    path(JOB + "logs/<path:log_path>", logs.one, name="job-log"),
    path(JOB + "errors/", errors.groups, name="job-errors"),
    path(JOB + "errors/<str:fingerprint>/", errors.group, name="job-error"),
    path(JOB + "config/", config.config, name="job-config"),
    path(JOB + "outputs/", outputs.page, name="job-outputs"),
    path(JOB + "outputs/raw/", outputs.download, name="job-output-raw"),
    path(JOB + "history/", config.history, name="job-history"),
    path("nodes/", nodes.all_nodes, name="nodes"),
    path("nodes/<path:name>/drain/", actions.drain, name="node-drain"),
    path("nodes/<path:name>/undrain/", actions.undrain, name="node-undrain"),
    path("nodes/<path:name>/", nodes.one_node, name="node"),
    path("f/" + JOB + "charts/", resources.chart, name="job-chart"),
    path("f/" + JOB + "log-range/", logs.lines, name="job-log-range"),
    path("f/" + JOB + "log-search/", logs.search, name="job-log-search"),
    path("f/" + JOB + "log-raw/", logs.raw, name="job-log-raw"),
    path("events/" + JOB, streams.job_stream, name="job-stream"),
    path("events/jobs/", streams.jobs_stream, name="jobs-stream"),
    path("f/nodes/", nodes.nodes_fragment, name="nodes-fragment"),
    path("f/nodes/<path:name>/", nodes.node_fragment, name="node-fragment"),
]
