"""Make the database ready to serve: ``python -m prsweb.cli.up.prepare``.

Prints one line of JSON on standard output: ``{"sign_in_path": "/sign-in/…"}``.
"""

from __future__ import annotations

import json
import os
import sys


def main() -> int:
    os.umask(0o077)  # the database and its journal are for their owner alone
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "prsweb.settings")
    import django

    django.setup()
    if not migrate():
        return 2
    print(json.dumps({"sign_in_path": prepare_admin()}))
    return 0


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
        find_token(home.token.read_text().strip())
    except (OSError, TokenRefused):
        token = create_token(user=admin, name="prs up", scope=Scope.ADMIN)
        write_private(home.token, token.text + "\n")
    link = make_sign_in_link(user=admin)
    return reverse("sign-in-link", urlconf="prsweb.accounts.urls", args=[link.key])


if __name__ == "__main__":
    sys.exit(main())
