"""A fragment is rendered once for all who stand at the same place."""

from __future__ import annotations

from prsweb.dashboard.shared_renders import SECONDS, SharedRenders


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_viewers_at_one_position_share_a_render_for_a_moment():
    clock = Clock()
    renders = SharedRenders(clock)
    made = iter("abc")

    first = renders.get("job", "head", "e.1-0", lambda: next(made))
    second = renders.get("job", "head", "e.1-0", lambda: next(made))
    clock.now += SECONDS
    third = renders.get("job", "head", "e.1-0", lambda: next(made))

    assert (first, second, third) == ("a", "a", "b")


def test_a_newer_position_another_fragment_and_another_job_are_rendered_anew():
    renders = SharedRenders(Clock())
    made = iter("abcd")

    found = [
        renders.get(job, name, position, lambda: next(made))
        for job, name, position in (
            ("job", "head", "e.1-0"),
            ("job", "head", "e.2-0"),
            ("job", "strip", "e.2-0"),
            ("other", "head", "e.2-0"),
        )
    ]

    assert found == list("abcd")
