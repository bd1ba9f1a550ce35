"""The names that ParallelRunStep scripts import, for where Azure's own are not installed."""
