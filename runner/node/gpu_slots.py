"""Which worker process has which GPU of the node. Pure.

Source: one GPU for each process, made visible by CUDA_VISIBLE_DEVICES,
https://developer.nvidia.com/blog/cuda-pro-tip-control-gpu-visibility-cuda_visible_devices/
"""

from __future__ import annotations


class GpuSlots:
    """The indexes 0 to ``count - 1``, each lent to at most one process."""

    def __init__(self, count: int, visible_devices: str | None = None) -> None:
        """``visible_devices`` is the node's own CUDA_VISIBLE_DEVICES: with "4,5"
        index 1 means device 5."""
        self._devices = _devices(count, visible_devices)
        self._holders: dict[int, int] = {}

    def take(self, process: int) -> int | None:
        """Lend ``process`` the smallest free index; None when all are lent."""
        for index in range(len(self._devices)):
            if index not in self._holders:
                self._holders[index] = process
                return index
        return None

    def release(self, process: int) -> None:
        """Free what ``process`` holds, if anything."""
        self._holders = {
            index: holder for index, holder in self._holders.items() if holder != process
        }

    def device(self, index: int) -> str:
        """Return the value of CUDA_VISIBLE_DEVICES for ``index``."""
        return self._devices[index]


def _devices(count: int, visible_devices: str | None) -> list[str]:
    named = [name.strip() for name in (visible_devices or "").split(",") if name.strip()]
    if len(named) >= count:
        return named[:count]
    return [str(index) for index in range(count)]
