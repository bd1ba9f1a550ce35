"""Finds the digit on each image: the three most similar training images vote."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from azureml_user.parallel_run import EntryScript
from digits_table import FULL_INK, read_digits
from grey_png import read_grey_png

NEIGHBOUR_COUNT = 3


class NearestNeighbours:
    """A classifier that remembers its training images."""

    def __init__(self, ink: np.ndarray, labels: np.ndarray) -> None:
        self._ink = ink  # training images x 64
        self._squares = (ink**2).sum(axis=1)
        self._labels = labels

    def classify(self, ink: np.ndarray) -> list[int]:
        """One digit per row of `ink` (images x 64); a tie goes to the smallest digit."""
        # |a - b|^2 without |a|^2, which is the same for all training images
        distances = self._squares - 2 * ink @ self._ink.T
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :NEIGHBOUR_COUNT]
        votes = self._labels[nearest]
        return [int(np.bincount(row, minlength=10).argmax()) for row in votes]


classifier: NearestNeighbours
pause_seconds = 0.0


def init() -> None:
    global classifier, pause_seconds
    pause_seconds = read_pause_seconds()
    training = [digit for digit in read_digits() if digit.is_for_training]
    ink = np.array([digit.ink for digit in training], dtype=np.float64)
    labels = np.array([digit.label for digit in training])
    classifier = NearestNeighbours(ink, labels)
    EntryScript().logger.info("Learned from %d digits", len(training))


def run(mini_batch: list[str]) -> list[str]:
    time.sleep(pause_seconds)
    found = classifier.classify(np.array([read_ink(path) for path in mini_batch]))
    print(f"{Path(mini_batch[0]).name} and {len(mini_batch) - 1} more: {found}")
    return [
        f"{Path(path).name}: {digit}" for path, digit in zip(mini_batch, found, strict=True)
    ]


def read_ink(path: str) -> np.ndarray:
    """64 values from 0 to 16, as in the table."""
    return read_grey_png(path).ravel() * (FULL_INK / 255)


def read_pause_seconds() -> float:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pause_seconds", type=float, default=0.0)
    known, _settings_of_the_job = parser.parse_known_args()
    return known.pause_seconds
