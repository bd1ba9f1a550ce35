from __future__ import annotations

from runner.node.gpu_slots import GpuSlots


def test_a_process_takes_the_smallest_free_gpu_and_none_when_all_are_lent():
    slots = GpuSlots(2)

    assert [slots.take(process) for process in (0, 1, 2, 3)] == [0, 1, None, None]


def test_the_gpu_of_an_ended_process_is_free_for_the_next():
    slots = GpuSlots(2)
    for process in (0, 1, 2):
        slots.take(process)

    slots.release(2)  # had none
    slots.release(0)

    assert slots.take(4) == 0


def test_indexes_mean_the_devices_that_the_node_itself_may_see():
    slots = GpuSlots(2, visible_devices="4,5")

    assert [slots.device(index) for index in (0, 1)] == ["4", "5"]
    assert GpuSlots(1, visible_devices="").device(0) == "0"
