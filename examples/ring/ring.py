"""Passes a token round all nodes of a multi-node job, over TCP.

The main node waits for a sign of every other node, sends the token to its right
neighbour and gets it back from its left one, as often as it is told to. Every node
adds its index to the token's sum, so that a node left out would be noticed.

Standard library only, for Python 3.10 or newer.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import time
from collections.abc import Mapping
from typing import IO, NamedTuple

LAST_MESSAGE = {"last": 1}


class RingBroken(Exception):
    """The token cannot go round; says between which nodes, and what to look at."""


class Place(NamedTuple):
    """Where this node stands in the ring."""

    node_index: int
    main_index: int
    addresses: list[str]  # by node index
    main_address: str

    @property
    def node_count(self) -> int:
        return len(self.addresses)

    @property
    def is_main(self) -> bool:
        return self.node_index == self.main_index

    @property
    def own_address(self) -> str:
        return self.addresses[self.node_index]

    @property
    def right_index(self) -> int:
        return (self.node_index + 1) % self.node_count


class Limits(NamedTuple):
    port: int  # the same on every node: each has an address of its own
    gather_seconds: float  # for all nodes to come
    token_seconds: float  # for the token to arrive


class Connection:
    """Sends and receives JSON values, a line each."""

    def __init__(self, link: socket.socket, peer: str) -> None:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._link = link
        self._lines: IO[str] = link.makefile("r", encoding="utf-8")
        self._peer = peer

    def send(self, message: dict[str, int]) -> None:
        try:
            self._link.sendall(json.dumps(message).encode() + b"\n")
        except OSError as error:
            raise RingBroken(f"{self._peer} takes no message: {error}") from error

    def receive(self, within_seconds: float) -> dict[str, int]:
        line = self._read_line(within_seconds)
        if not line:
            raise RingBroken(f"{self._peer} ended too early; look at its log")
        try:
            return dict(json.loads(line))
        except (ValueError, TypeError):
            raise RingBroken(f"{self._peer} sent no message of this ring: {line!r}") from None

    def wait_for_end(self, within_seconds: float) -> None:
        """Returns when the other side has said that it sends no more, or has ended."""
        line = self._read_line(within_seconds)
        if line:
            raise RingBroken(f"{self._peer} still sent after the last round: {line!r}")

    def end_sending(self) -> None:
        self._link.shutdown(socket.SHUT_WR)

    def leave_open(self) -> None:
        """Keeps the connection until the kernel closes it at the end of this process."""
        self._link.detach()

    def _read_line(self, within_seconds: float) -> str:
        self._link.settimeout(within_seconds)
        try:
            return self._lines.readline()
        except TimeoutError:
            raise RingBroken(f"{self._peer} was silent for {within_seconds:g} s") from None
        except OSError as error:
            raise RingBroken(f"{self._peer} has gone: {error}") from error


def main() -> int:
    options = read_options()
    limits = Limits(options.port, options.gather_seconds, options.token_seconds)
    try:
        place = read_place(os.environ)
        with listen(place, limits) as listener:
            if place.is_main:
                lead(place, limits, listener, options.rounds)
            else:
                follow(place, limits, listener)
    except RingBroken as broken:
        print(f"The ring is broken: {broken}", file=sys.stderr)
        return 1
    return 0


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Pass a token round all nodes of the job.")
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--port", type=int, default=24571)
    parser.add_argument("--gather_seconds", type=float, default=120)
    parser.add_argument("--token_seconds", type=float, default=30)
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error(f"--rounds must be at least 1 (found: {options.rounds})")
    return options


def read_place(environment: Mapping[str, str]) -> Place:
    """From the variables and the host file that every node of a multi-node job gets."""
    try:
        index = int(environment["AWS_BATCH_JOB_NODE_INDEX"])
        main_index = int(environment["AWS_BATCH_JOB_MAIN_NODE_INDEX"])
        node_count = int(environment["AWS_BATCH_JOB_NUM_NODES"])
        own_address = environment["PRSWEB_NODE_ADDRESS"]
        addresses = read_host_file(environment["PRSWEB_HOSTFILE"])
        # The main node is told no main address: it is its own.
        main_address = (
            own_address
            if index == main_index
            else environment["AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"]
        )
    except KeyError as missing:
        raise RingBroken(
            f"the variable {missing} is not set; start this as a multi-node job"
        ) from None
    if len(addresses) != node_count or own_address not in addresses[index : index + 1]:
        raise RingBroken(
            f"node {index} of {node_count} is {own_address}, "
            f"but the host file lists {', '.join(addresses)}"
        )
    return Place(index, main_index, addresses, main_address)


def read_host_file(path: str) -> list[str]:
    """Addresses by node index; a line is `127.0.1.3 slots=2`."""
    try:
        with open(path, encoding="utf-8") as lines:
            return [line.split()[0] for line in lines if line.strip()]
    except OSError as error:
        raise RingBroken(f"the host file cannot be read: {error}") from error


def listen(place: Place, limits: Limits) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((place.own_address, limits.port))
    except OSError as error:
        listener.close()
        raise RingBroken(
            f"cannot listen on {place.own_address}:{limits.port}: {error}"
        ) from error
    listener.listen(place.node_count)
    say(f"node {place.node_index} listens on {place.own_address}:{limits.port}")
    return listener


def lead(place: Place, limits: Limits, listener: socket.socket, rounds: int) -> None:
    gather(place, limits, listener)
    right = connect_right(place, limits)
    left = accept_left(place, limits, listener)
    say(f"the ring of {place.node_count} nodes is closed")
    started_at = time.monotonic()
    token_sum = 0
    for number in range(1, rounds + 1):
        right.send({"round": number, "sum": token_sum + place.node_index})
        token_sum = receive_token(left, limits, number)
        if number % max(1, rounds // 10) == 0:
            say(f"round {number} of {rounds}: sum {token_sum}")
    seconds = time.monotonic() - started_at
    close_ring(left, right, limits)
    report(place, rounds, token_sum, seconds)


def gather(place: Place, limits: Limits, listener: socket.socket) -> None:
    """Waits until every other node has said that it listens: they start after this one."""
    missing = set(range(place.node_count)) - {place.node_index}
    deadline = time.monotonic() + limits.gather_seconds
    while missing:
        link = accept_before(deadline, listener)
        if link is None:
            raise RingBroken(
                f"node {', '.join(map(str, sorted(missing)))} did not come within "
                f"{limits.gather_seconds:g} s; look at its log"
            )
        with link:
            message = Connection(link, "a node that comes").receive(limits.token_seconds)
        index = message.get("ready")
        if index in missing:
            missing.remove(index)
            say(f"node {index} is ready, {len(missing)} to come")


def accept_before(deadline: float, listener: socket.socket) -> socket.socket | None:
    """A new connection, or None when there was none before the deadline."""
    listener.settimeout(max(0.01, deadline - time.monotonic()))
    try:
        link, _ = listener.accept()
    except TimeoutError:
        return None
    return link


def receive_token(left: Connection, limits: Limits, number: int) -> int:
    """The sum that the token brings back from this round."""
    token = left.receive(limits.token_seconds)
    if token.get("round") != number:
        raise RingBroken(f"the token of round {number} came back as {token}")
    return token["sum"]


def close_ring(left: Connection, right: Connection, limits: Limits) -> None:
    """Sends the word that ends the ring, and waits until every other node has ended.

    The end of the main node ends the job, and whoever still runs then is stopped.
    """
    right.send(LAST_MESSAGE)
    right.end_sending()
    last = left.receive(limits.token_seconds)
    if last != LAST_MESSAGE:
        raise RingBroken(f"a message came after the last round: {last}")
    left.wait_for_end(limits.token_seconds)


def report(place: Place, rounds: int, token_sum: int, seconds: float) -> None:
    expected_sum = rounds * sum(range(place.node_count))
    if token_sum != expected_sum:
        raise RingBroken(f"the sum is {token_sum} and must be {expected_sum}")
    hop_count = rounds * place.node_count
    micros = 1e6 * seconds / max(1, hop_count)
    say(f"sum {token_sum} after {rounds} rounds of {place.node_count} nodes")
    say(f"{hop_count} hops in {seconds:.3f} s: {micros:.1f} microseconds per hop")


def follow(place: Place, limits: Limits, listener: socket.socket) -> None:
    connect(place.main_address, place.main_index, limits).send({"ready": place.node_index})
    left = accept_left(place, limits, listener)
    right = connect_right(place, limits)
    passed_count = pass_tokens_on(place, limits, left, right)
    say(f"node {place.node_index} passed the token {passed_count} times")
    left.wait_for_end(limits.token_seconds)
    # The right neighbour ends when this connection ends: so each node ends after the one
    # on its left, the main node last, and none is stopped half-way through its own exit.
    right.leave_open()


def pass_tokens_on(place: Place, limits: Limits, left: Connection, right: Connection) -> int:
    """How many came, when the message that ends the ring has been passed on."""
    passed_count = 0
    while True:
        token = left.receive(limits.token_seconds)
        if token == LAST_MESSAGE:
            right.send(token)
            return passed_count
        right.send({**token, "sum": token["sum"] + place.node_index})
        passed_count += 1


def accept_left(place: Place, limits: Limits, listener: socket.socket) -> Connection:
    left_index = (place.node_index - 1) % place.node_count
    link = accept_before(time.monotonic() + limits.gather_seconds, listener)
    if link is None:
        raise RingBroken(
            f"node {left_index} did not connect within {limits.gather_seconds:g} s"
        )
    return Connection(link, f"node {left_index}")


def connect_right(place: Place, limits: Limits) -> Connection:
    return connect(place.addresses[place.right_index], place.right_index, limits)


def connect(address: str, index: int, limits: Limits) -> Connection:
    """A connection to a node, which may still be starting."""
    deadline = time.monotonic() + limits.gather_seconds
    while True:
        try:
            link = socket.create_connection((address, limits.port), timeout=5)
            return Connection(link, f"node {index} at {address}")
        except OSError as error:
            if time.monotonic() > deadline:
                raise RingBroken(
                    f"node {index} at {address} cannot be reached: {error}"
                ) from error
            time.sleep(0.1)


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
