"""The wire format for those who may not import the harness, the nodes."""

from __future__ import annotations

from runner.harness import wire as wire
