"""Figures for plotly.js, made on the server; the browser adds the theme's colours."""

from __future__ import annotations

import plotly.graph_objects as go

from prsweb.jobs.selectors.samples import Samples, Series

# Told apart also without colour: each has its own dash as well. 3 : 1 on both grounds.
COLOURS = (
    "#3B7DDD",
    "#C2620A",
    "#1E9E62",
    "#9A5BD0",
    "#0E91A8",
    "#D0457E",
    "#8D7A0B",
    "#6B7A90",
)
DASHES = ("solid", "dash", "dot", "dashdot")
BYTE_UNITS = ("bytes", "bytes per second")
MARKERS_BELOW = 30  # fewer points than this are also drawn as dots


def series_figure(samples: Samples) -> str:
    """Return the JSON of a line chart: one line per series, the peak of each bucket on
    hover. Without samples a figure without lines."""
    figure = go.Figure(layout={"template": None})
    for number, series in enumerate(samples.series):
        figure.add_trace(_line(number, series, samples.unit))
    figure.update_layout(
        hovermode="x unified",
        showlegend=len(samples.series) > 1,
        yaxis={"rangemode": "tozero", "title": {"text": samples.unit}},
        xaxis={"type": "date"},
        meta={"left_out": samples.left_out, "bucket_seconds": samples.bucket_seconds},
    )
    if samples.unit in BYTE_UNITS:
        figure.update_yaxes(tickformat=".3~s", ticksuffix="B")
    return str(figure.to_json(validate=False))


def _line(number: int, series: Series, unit: str) -> go.Scatter:
    """Memory shows its peaks, for a limit kills by them; all else the mean."""
    return go.Scatter(
        x=[at.isoformat() for at in series.at],
        y=list(series.max if unit == "bytes" else series.mean),
        customdata=list(series.max),
        name=_name(series),
        mode="lines+markers" if len(series.at) < MARKERS_BELOW else "lines",
        marker={"size": 5},
        line={
            "color": COLOURS[number % len(COLOURS)],
            "width": 1.75,
            "dash": DASHES[number // len(COLOURS) % len(DASHES)],
        },
        hovertemplate="%{y:.4~s} (max %{customdata:.4~s})",
    )


def _name(series: Series) -> str:
    """``n2`` and ``n2/p05``, as everywhere on pages."""
    if series.process is None:
        return series.node
    return f"{series.node}/p{int(series.process.removeprefix('process')):02d}"
