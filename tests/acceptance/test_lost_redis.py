"""Redis may lose everything at any moment: nothing true lives only there."""

from __future__ import annotations

from typing import Any

from redis import Redis

from tests.acceptance.conftest import DIGITS
from tests.acceptance.live_system import LiveSystem
from tests.acceptance.processes_of_home import part
from tests.acceptance.test_killed_parts import SLOW, assert_same_output, kill_part


def test_the_output_is_the_same_though_redis_is_wiped_in_mid_job(
    own_system: LiveSystem, digits: dict[str, Any]
):
    job_id = own_system.submit(DIGITS, arguments=SLOW)
    own_system.wait_until_done(job_id, 20)

    redis_of(own_system).flushall()

    assert_same_output(own_system, job_id, digits)


def test_the_output_is_the_same_though_redis_is_killed_in_mid_job(
    own_system: LiveSystem, digits: dict[str, Any]
):
    job_id = own_system.submit(DIGITS, arguments=SLOW)
    own_system.wait_until_done(job_id, 20)

    kill_part(own_system, "redis")

    assert_same_output(own_system, job_id, digits)


def redis_of(system: LiveSystem) -> Redis:
    """The private server, by the URL that the parts were told."""
    url = part(system.up_pid, "orchestrator").environ()["PRSWEB_REDIS_URL"]
    return Redis.from_url(url)
