"""The folders of a job on one node, made before any of the user's code runs."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from runner.core.layout import JobFolder
from runner.node.settings import NodeSettings


def make_log_folders(folder: JobFolder, node: str) -> None:
    """Make the folders of the log tree that this node's processes write to."""
    for path in (
        folder.segments,
        folder.system_errors,
        folder.logs / "sys" / "node" / node,
        folder.perf(node),
        *(
            folder.user_logs / kind / node
            for kind in ("stdout", "stderr", "entry_script_log", "error")
        ),
    ):
        path.mkdir(parents=True, exist_ok=True)


def unpack_snapshot(folder: JobFolder, node: str, output_folder: Path) -> Path:
    """Return the working directory of the node's processes, unpacked once per job.

    ``./outputs`` and ``./logs`` lead to where files are kept, unless the user's
    own copy has something of that name.
    """
    work = folder.node_work(node)
    if not work.is_dir():
        copy_tree(folder.snapshot, work)
        _link(work / "outputs", output_folder)
        _link(work / "logs", folder.user_logs)
    return work


def copy_tree(source: Path, target: Path) -> None:
    """Copy ``source`` to ``target``, which stands there whole or not at all.

    A source that does not exist gives an empty folder.
    """
    unfinished = target.with_name(target.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, unfinished, symlinks=True)
        _make_writable(unfinished)
    else:
        unfinished.mkdir()
    unfinished.rename(target)


def make_temporary_folder(settings: NodeSettings) -> Path:
    """Return a new folder of our own for TMPDIR.

    Not in the job folder: a Unix socket's path, which multiprocessing puts
    below TMPDIR, may have 107 bytes only.
    """
    return Path(tempfile.mkdtemp(prefix=_temporary_prefix(settings)))


def remove_temporary_folders(settings: NodeSettings) -> None:
    """Remove what an earlier start of this node has left."""
    for path in Path(tempfile.gettempdir()).glob(_temporary_prefix(settings) + "*"):
        shutil.rmtree(path, ignore_errors=True)


def _temporary_prefix(settings: NodeSettings) -> str:
    """Two nodes of one name may work on two PRSWEB_HOMEs of one machine."""
    whose = f"{settings.home.root}\0{settings.name}".encode()
    return f"prs-{hashlib.sha256(whose).hexdigest()[:10]}-"


def remove_temporary_folder(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)


def _make_writable(folder: Path) -> None:
    """The snapshot may be read-only; a working directory is not."""
    folder.chmod(0o755)
    for parent, folders, _ in os.walk(folder):
        for name in folders:
            path = Path(parent) / name
            if not path.is_symlink():
                path.chmod(0o755)


def _link(link: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        link.symlink_to(target, target_is_directory=True)
