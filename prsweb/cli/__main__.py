"""``python -m prsweb.cli``: the prs commands."""

from __future__ import annotations

import sys

from prsweb.cli.main import main

sys.exit(main(sys.argv[1:]))
