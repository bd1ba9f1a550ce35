"""Names of everything that lives in Redis. Nothing true lives only there.

Keys of one job share the hash tag ``{job id}``, so that a script may touch
all of them also on a Redis Cluster.
"""

from __future__ import annotations

from dataclasses import dataclass

PREFIX = "prsweb"

NODES = f"{PREFIX}:nodes"  # set: names of the nodes that have beaten
ALL_EVENTS = f"{PREFIX}:events:all"  # stream: facts for pages that show many jobs
EVENTS_EPOCH = f"{PREFIX}:events:epoch"  # string: drawn anew when Redis was wiped
STREAM_LENGTH = 10_000  # entries kept, about


def node_beat(name: str) -> str:
    """String, JSON of a ``NodeBeat``; stays when the node is lost."""
    return f"{PREFIX}:node:{name}"


def node_control(name: str, boot_id: str) -> str:
    """List of orders for a node itself, not for one of its assignments."""
    return f"{PREFIX}:node:{name}:control:{boot_id}"


@dataclass(frozen=True)
class JobKeys:
    job_id: str

    def _key(self, part: str) -> str:
        return f"{PREFIX}:job:{{{self.job_id}}}:{part}"

    @property
    def queue(self) -> str:
        """Hash: epoch, next, created, paused, closed, processes."""
        return self._key("queue")

    @property
    def back(self) -> str:
        """List of ``FIRST COUNT TRY``: mini-batches put back, taken first."""
        return self._key("back")

    @property
    def leases(self) -> str:
        """Hash: lease id -> ``ASSIGNMENT PROCESS FIRST COUNT TRY``."""
        return self._key("leases")

    @property
    def revoked(self) -> str:
        """Set of assignment numbers that may lease no more."""
        return self._key("revoked")

    @property
    def reports(self) -> str:
        """List of blocks and JSON reports, oldest first, until recorded."""
        return self._key("reports")

    @property
    def wake(self) -> str:
        """List used as a bell for the master role."""
        return self._key("wake")

    @property
    def events(self) -> str:
        """Stream: small facts for the job's pages."""
        return self._key("events")

    def control(self, assignment: int) -> str:
        """List of orders (JSON) for one assignment."""
        return self._key(f"control:{assignment}")

    def live(self, node_name: str) -> str:
        """String, JSON of a ``LiveNode``; expires when it is not renewed."""
        return self._key(f"live:{node_name}")

    def everything_fixed(self) -> tuple[str, ...]:
        """The keys to remove with the job; control and live ones expire."""
        return (
            self.queue,
            self.back,
            self.leases,
            self.revoked,
            self.reports,
            self.wake,
            self.events,
        )
