"""The version of prsweb, kept with every job."""

from __future__ import annotations

VERSION = "0.1.0"
