"""What a worker process has printed since it was last asked."""

from __future__ import annotations

from pathlib import Path

from runner.core.layout import process_name
from runner.node.harness_config import StepPlace

MOST_BYTES = 64 * 1024  # of one file at a time; the end says most


class PrintedText:
    """Reads the log files of one process; what it has read it does not give again."""

    def __init__(self, place: StepPlace, number: int) -> None:
        folder, node = place.folder, place.assignment.node_name
        name, user = process_name(number), place.folder.user_logs
        # The script's own stream, then descriptors 1 and 2: C code, and what it has started.
        self._files = {
            "stdout": (
                user / "stdout" / node / f"{name}.stdout.txt",
                folder.descriptor_log(node, number, "stdout"),
            ),
            "stderr": (
                user / "stderr" / node / f"{name}.stderr.txt",
                folder.descriptor_log(node, number, "stderr"),
            ),
            "log": (user / "entry_script_log" / node / f"{name}.log.txt",),
        }
        self._read_to: dict[Path, int] = {}

    def take(self, *, without_last_words: bool = False) -> dict[str, str]:
        """Return the new text of stdout, stderr and log; what is empty is left out.

        ``without_last_words``: the error of a process that died tells already what the
        interpreter wrote to descriptor 2.
        """
        if without_last_words:
            self._take(self._files["stderr"][1])
        texts = {name: "".join(map(self._take, paths)) for name, paths in self._files.items()}
        return {name: text for name, text in texts.items() if text}

    def _take(self, path: Path) -> str:
        start = self._read_to.get(path, 0)
        try:
            with path.open("rb") as file:
                file.seek(0, 2)
                end = file.tell()
                file.seek(max(start, end - MOST_BYTES))
                content = file.read(end - file.tell())
        except FileNotFoundError:
            return ""
        self._read_to[path] = end
        left_out = max(start, end - MOST_BYTES) - start
        before = f"[{left_out} bytes before this are left out]\n" if left_out else ""
        return before + content.decode("utf-8", "replace")
