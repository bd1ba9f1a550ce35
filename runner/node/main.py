"""One node: ``python -m runner.node.main``, told everything by its environment."""

from __future__ import annotations

import logging
import os
import secrets
import sys
import time

import runner.node.agent  # noqa: F401  loaded now: the first assignment begins at once
from runner.node.beats import Beater
from runner.node.celery_worker import make_app, run_worker
from runner.node.leftovers import sweep_leftovers
from runner.node.process_tree import become_subreaper
from runner.node.settings import BadSetting, NodeSettings, read_settings
from runner.node.this_node import ThisNode, set_this_node
from runner.node.work_folder import remove_temporary_folders

logger = logging.getLogger(__name__)


def main() -> int:
    """Work until a signal ends it. Returns the exit status."""
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO,
        format="%(asctime)s|%(levelname)s|%(process)d|%(name)s|%(message)s",
    )
    try:
        settings = read_settings()
    except BadSetting as bad:
        sys.stderr.write(f"{bad}\n")
        return 2
    run_node(settings)
    return 0


def run_node(settings: NodeSettings) -> None:
    node = ThisNode(settings, boot_id=secrets.token_hex(8), started_at=time.time())
    set_this_node(node)
    become_subreaper()
    sweep_leftovers(settings)
    remove_temporary_folders(settings)
    beater = Beater(node, version=os.environ.get("PRSWEB_VERSION", "0.1.0"))
    beater.start()
    logger.info("node %s: up, boot %s, pid %d", settings.name, node.boot_id, os.getpid())
    try:
        run_worker(make_app(settings.redis_url), settings.name, stop=node.stop)
    finally:
        beater.end()
        logger.info("node %s: down", settings.name)


if __name__ == "__main__":
    sys.exit(main())
