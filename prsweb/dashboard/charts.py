"""Figures for plotly.js, made on the server."""

from __future__ import annotations

import plotly.graph_objects as go

from prsweb.jobs.selectors.samples import Samples, Series

# Told apart also without colour: each line has its own dash as well.
COLOURS = (
    "#2459C4",
    "#B4530A",
    "#0A6B3D",
    "#8B3FBF",
    "#0B7A8F",
    "#A3195B",
    "#6B5B00",
    "#4A5568",
)
DASHES = ("solid", "dash", "dot", "dashdot")
BYTE_UNITS = ("bytes", "bytes per second")


def series_figure(samples: Samples) -> str:
    """Return the JSON of a line chart: one line per series, mean solid, the peak of
    each bucket on hover. Without samples a figure without lines."""
    figure = go.Figure()
    for number, series in enumerate(samples.series):
        figure.add_trace(_line(number, series, samples.unit))
    figure.update_layout(
        margin={"l": 56, "r": 12, "t": 8, "b": 32},
        hovermode="x unified",
        legend={"orientation": "h", "y": -0.18},
        yaxis={"rangemode": "tozero", "title": {"text": samples.unit}},
        xaxis={"type": "date"},
        showlegend=len(samples.series) > 1,
    )
    if samples.unit in BYTE_UNITS:
        figure.update_yaxes(tickformat=".3~s")
    return str(figure.to_json(validate=False))


def _line(number: int, series: Series, unit: str) -> go.Scatter:
    name = series.node if series.process is None else f"{series.node}/{series.process}"
    colour = COLOURS[number % len(COLOURS)]
    return go.Scatter(
        x=[at.isoformat() for at in series.at],
        y=list(series.max if unit == "bytes" else series.mean),
        customdata=list(series.max),
        name=name,
        mode="lines+markers" if len(series.at) < 30 else "lines",
        line={
            "color": colour,
            "width": 2,
            "dash": DASHES[number // len(COLOURS) % len(DASHES)],
        },
        hovertemplate="%{y:.4~s} (max %{customdata:.4~s})",
    )
