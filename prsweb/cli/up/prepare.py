"""Make the database ready to serve: ``python -m prsweb.cli.up.prepare``.

Prints one line of JSON on standard output: ``{"sign_in_path": "/sign-in/…"}``.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import Any

REFUSED = 2  # why stands in the last line of standard error


def main() -> int:
    os.umask(0o077)  # the database and its journal are for their owner alone
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "prsweb.settings")
    try:
        set_up_django()
        if not migrate():
            return REFUSED
        print(json.dumps({"sign_in_path": prepare_admin()}))
    except Exception as error:
        traceback.print_exc()  # for the log
        print(describe_failure(error), file=sys.stderr)
        return REFUSED
    return 0


def set_up_django() -> None:
    import django

    django.setup()


def describe_failure(error: Exception) -> str:
    """Return one line: what cannot be used, why, and what to do."""
    from django.core.exceptions import ImproperlyConfigured
    from django.db import DatabaseError

    said = " ".join(str(error).split())
    if isinstance(error, ImproperlyConfigured):
        return f"a setting cannot be used: {said.rstrip('.')} (docs/settings.md has them all)"
    if not isinstance(error, DatabaseError):
        return f"the database could not be made ready: {type(error).__name__}: {said}"
    database = _database()
    if database["ENGINE"].endswith("sqlite3"):
        return (
            f"the database {database['NAME']} cannot be used: {said}. Put a copy of it "
            "back, or move it away to begin with an empty one."
        )
    return f"the database of PRSWEB_DATABASE_URL cannot be used: {said}"


def _database() -> dict[str, Any]:
    from django.conf import settings

    database: dict[str, Any] = settings.DATABASES["default"]
    return database


def migrate() -> bool:
    """Bring the database up to date, or say who must. True when it is."""
    from django.core.management import call_command
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if not plan:
        return True
    if connection.vendor != "sqlite":
        print(
            f"the database of PRSWEB_DATABASE_URL needs {len(plan)} migrations: run "
            f"{sys.executable} manage.py migrate",
            file=sys.stderr,
        )
        return False
    call_command("migrate", interactive=False, verbosity=0)
    return True


def prepare_admin() -> str:
    """Return the path of a fresh sign-in link of the local administrator, whose
    token lies in ``private/token``."""
    from django.urls import reverse

    from prsweb.accounts.models import Scope
    from prsweb.accounts.services import (
        TokenRefused,
        create_token,
        ensure_local_admin,
        find_token,
        make_sign_in_link,
    )
    from prsweb.cli.up.home import write_private
    from prsweb.paths import prsweb_home

    admin = ensure_local_admin()
    home = prsweb_home()
    try:
        find_token(home.token.read_text(errors="replace").strip())
    except (OSError, TokenRefused):
        token = create_token(user=admin, name="prs up", scope=Scope.ADMIN)
        write_private(home.token, token.text + "\n")
    link = make_sign_in_link(user=admin)
    return reverse("sign-in-link", urlconf="prsweb.accounts.urls", args=[link.key])


if __name__ == "__main__":
    sys.exit(main())
