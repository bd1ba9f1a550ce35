"""Where things lie: PRSWEB_HOME and the job folders in it.

Paths only; nothing here touches the disk.
Source: the file tree that programs may rely on, ``docs/files.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

# Bytes of a Unix socket's path that every system takes.
SOCKET_PATH_LIMIT_BYTES = 100


@dataclass(frozen=True)
class Home:
    """PRSWEB_HOME."""

    root: Path

    @property
    def private(self) -> Path:
        return self.root / "private"

    @property
    def database(self) -> Path:
        return self.private / "db.sqlite3"

    @property
    def redis_data(self) -> Path:
        return self.private / "redis"

    @property
    def redis_password(self) -> Path:
        return self.redis_data / "password"

    @property
    def token(self) -> Path:
        return self.private / "token"

    @property
    def secret_key(self) -> Path:
        return self.private / "secret_key"

    @property
    def data_key(self) -> Path:
        return self.private / "data_key"

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def up_lock(self) -> Path:
        return self.run / "up.lock"

    @property
    def server_file(self) -> Path:
        return self.run / "server.json"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def uploads(self) -> Path:
        return self.root / "uploads"

    @property
    def environments(self) -> Path:
        return self.root / "cache" / "environments"

    @property
    def jobs(self) -> Path:
        return self.root / "jobs"

    def job(self, job_id: str) -> JobFolder:
        return JobFolder(self.jobs / job_id)


@dataclass(frozen=True)
class JobFolder:
    root: Path

    @property
    def spec(self) -> Path:
        return self.root / "spec.json"

    @property
    def snapshot(self) -> Path:
        return self.root / "snapshot"

    @property
    def manifest(self) -> Path:
        return self.root / "manifest"

    @property
    def manifest_items(self) -> Path:
        return self.manifest / "items"

    @property
    def manifest_index(self) -> Path:
        return self.manifest / "index"

    @property
    def segments(self) -> Path:
        return self.root / "segments"

    def segment(self, node: str, process: int, random: str) -> Path:
        return self.segments / f"{node}-{process_name(process)}-{random}"

    def status_file(self, node: str, process: int, random: str) -> Path:
        """The mapped words of a worker process, see ``runner.harness.wire``."""
        return self.segments / f"{node}-{process_name(process)}-{random}.status"

    def journal(self, node: str, assignment: int) -> Path:
        """Every report of one assignment, each as a length (u32, little endian)
        and its bytes, in the order they were sent."""
        return self.segments / f"{node}-{assignment}.journal"

    @property
    def output(self) -> Path:
        return self.root / "output"

    @property
    def shared(self) -> Path:
        return self.root / "shared"

    def node_work(self, node: str) -> Path:
        """Working directory of a ParallelRunStep job's processes on one node."""
        return self.root / "nodes" / node / "work"

    def attempt_work(self, index: int, attempt: int) -> Path:
        """Working directory of a multi-node job's command."""
        return self.root / "nodes" / str(index) / f"attempt-{attempt}" / "work"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    def attempt_log(self, index: int, attempt: int) -> Path:
        return self.logs / "nodes" / str(index) / f"attempt-{attempt}.log"

    @property
    def job_result(self) -> Path:
        return self.logs / "job_result.txt"

    @property
    def driver_log(self) -> Path:
        return self.logs / "azureml" / "70_driver_log.txt"

    @property
    def job_report(self) -> Path:
        return self.logs / "sys" / "job_report"

    @property
    def system_errors(self) -> Path:
        return self.logs / "sys" / "error"

    def master_log(self, take_over: int) -> Path:
        """``master_role.txt``, after take-overs ``master_role.1.txt`` and so on."""
        number = f".{take_over}" if take_over else ""
        return self.logs / "sys" / f"master_role{number}.txt"

    def system_log(self, node: str, process: int) -> Path:
        return self.logs / "sys" / "node" / node / f"{process_name(process)}.txt"

    def descriptor_log(self, node: str, process: int, stream: str) -> Path:
        """File descriptors 1 and 2 of a process; ``stream`` is stdout or stderr."""
        name = f"{process_name(process)}.{stream}.txt"
        return self.logs / "sys" / "node" / node / name

    @property
    def user_logs(self) -> Path:
        return self.logs / "user"

    def perf(self, node: str) -> Path:
        return self.logs / "perf" / node


def process_name(number: int) -> str:
    """``process003``; three digits or more."""
    return f"process{number:03d}"
