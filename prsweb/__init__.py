"""The Django project: the domain with its database, and the interfaces on it."""

__version__ = "0.1.0"  # as in pyproject.toml; a test compares
