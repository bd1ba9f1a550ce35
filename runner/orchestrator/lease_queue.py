"""A job's queue in Redis, as its master role uses it.

What stands here can be made again at any moment: ``make`` draws a fresh epoch,
and nodes tell what they hold to a queue of another epoch than they know.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import uuid4

import redis

from runner.core.leases import REVOKE_SCRIPT, Lease, Range
from runner.core.messages import Order
from runner.core.redis_keys import JobKeys

ORDERS_EXPIRE_SECONDS = 24 * 3600
ENDED_EXPIRES_SECONDS = 24 * 3600
READ_REPORTS = 32  # blocks of one look; a block is at most 50 ms of one process

# Forgets the oldest reports, unless another master has made the queue anew: it
# may not have recorded them.
# KEYS queue reports   ARGV epoch count
DROP_SCRIPT = """
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return 0 end
redis.call('LTRIM', KEYS[2], ARGV[2], -1)
return 1
"""


@dataclass(frozen=True)
class Look:
    """What one look at the queue has found."""

    reports: list[bytes]
    epoch: str | None  # None: Redis was wiped
    next: int
    created: int

    @property
    def is_all_leased(self) -> bool:
        """Whether somebody may wait for mini-batches: everything fresh is given out."""
        return self.next >= self.created


class LeaseQueue:
    def __init__(self, client: redis.Redis, job_id: str) -> None:
        self._client = client
        self.keys = JobKeys(job_id)
        self.epoch = ""
        self._revoke = client.register_script(REVOKE_SCRIPT)
        self._drop = client.register_script(DROP_SCRIPT)

    def make(self, *, processes: int, is_paused: bool) -> None:
        """Make the queue anew. Reports and revocations stay; leases are forgotten."""
        self.epoch = uuid4().hex
        pipeline = self._client.pipeline(transaction=True)
        pipeline.delete(self.keys.back, self.keys.leases, self.keys.queue)
        members = {
            "epoch": self.epoch,
            "next": 0,
            "created": 0,
            "processes": max(1, processes),
            "paused": "1" if is_paused else "",
            "closed": "",
        }
        pipeline.hset(self.keys.queue, mapping=members)
        pipeline.execute()

    def open(self, *, first_fresh: int, created: int, back: Iterable[Range]) -> None:
        """Let nodes lease: what was put back first, then from ``first_fresh`` on."""
        pipeline = self._client.pipeline(transaction=True)
        ranges = [str(one) for one in back]
        for start in range(0, len(ranges), 1000):
            pipeline.rpush(self.keys.back, *ranges[start : start + 1000])
        pipeline.hset(
            self.keys.queue,
            mapping={"next": first_fresh, "created": created, "paused": ""},
        )
        pipeline.execute()

    def set_processes(self, count: int) -> None:
        self._client.hset(self.keys.queue, "processes", max(1, count))

    def look(self) -> Look:
        pipeline = self._client.pipeline(transaction=False)
        pipeline.lrange(self.keys.reports, 0, READ_REPORTS - 1)
        pipeline.hmget(self.keys.queue, "epoch", "next", "created")
        reports, (epoch, following, created) = pipeline.execute()
        return Look(
            reports=reports,
            epoch=None if epoch is None else epoch.decode(),
            next=int(following or 0),
            created=int(created or 0),
        )

    def drop_reports(self, count: int) -> None:
        """Forget the oldest reports: they are recorded."""
        self._drop(keys=[self.keys.queue, self.keys.reports], args=[self.epoch, count])

    def raise_created(self, created: int) -> bool:
        """Let everything below ``created`` be leased; True if somebody may have been
        waiting for that, and must be woken."""
        pipeline = self._client.pipeline(transaction=True)
        pipeline.hmget(self.keys.queue, "next", "created")
        pipeline.hset(self.keys.queue, "created", created)
        (following, known), _ = pipeline.execute()
        return int(following or 0) >= int(known or 0)

    def put_back(self, ranges: Sequence[Range]) -> bool:
        """Let these be tried again; True if somebody may be waiting for them."""
        if not ranges:
            return False
        pipeline = self._client.pipeline(transaction=True)
        pipeline.rpush(self.keys.back, *map(str, ranges))
        pipeline.hmget(self.keys.queue, "next", "created")
        _, (following, created) = pipeline.execute()
        return int(following or 0) >= int(created or 0)

    def close(self, how: str) -> None:
        """Grant nothing more: ``end`` or ``stop``."""
        self._client.hset(self.keys.queue, "closed", how)

    def order(self, assignments: Iterable[int], order: Order) -> None:
        pipeline = self._client.pipeline(transaction=False)
        for assignment in assignments:
            key = self.keys.control(assignment)
            pipeline.rpush(key, order.to_json())
            pipeline.expire(key, ORDERS_EXPIRE_SECONDS)
        pipeline.execute()

    def revoke(self, assignment: int) -> list[Lease]:
        """End the assignment's right to lease; return what it held."""
        taken = self._revoke(keys=[self.keys.leases, self.keys.revoked], args=[assignment])
        return [Lease.parse(value.decode()) for value in taken]

    def is_empty(self) -> bool:
        """Whether nothing is on its way: not leased, not put back, not reported."""
        pipeline = self._client.pipeline(transaction=True)
        pipeline.hlen(self.keys.leases)
        pipeline.llen(self.keys.back)
        pipeline.llen(self.keys.reports)
        pipeline.hmget(self.keys.queue, "next", "created")
        *lengths, (following, created) = pipeline.execute()
        return not any(lengths) and int(following or 0) >= int(created or 0)

    def leases(self) -> list[Lease]:
        """Return all leases that are out."""
        found = self._client.hgetall(self.keys.leases)
        return [Lease.parse(f"{int(key)} {value.decode()}") for key, value in found.items()]

    def wait_for_bell(self, seconds: float) -> None:
        """Return when the bell rings, which it does near the end, or time is up."""
        self._client.blpop([self.keys.wake], timeout=seconds)

    def ring_bell(self) -> None:
        pipeline = self._client.pipeline(transaction=False)
        pipeline.lpush(self.keys.wake, "1")
        pipeline.ltrim(self.keys.wake, 0, 0)
        pipeline.execute()

    def remove(self) -> None:
        """Remove what the job no longer needs. The closed queue stays for a day: a
        node that comes back late must read there that the job is over."""
        keys = self.keys
        pipeline = self._client.pipeline(transaction=False)
        pipeline.delete(keys.back, keys.leases, keys.reports, keys.wake)
        for key in (keys.queue, keys.revoked, keys.events):
            pipeline.expire(key, ENDED_EXPIRES_SECONDS)
        pipeline.execute()
