"""Leases in Redis: the scripts, their arguments, and what they answer.

Text and parsing only; ``runner.node`` and ``runner.orchestrator`` send the
scripts. Every change of who holds what is one script, so it happens whole or
not at all, and a lease ends in the same step that hands over its reports.

The queue hash of a job holds
  epoch      drawn by the master role that made the hash; a wiped Redis shows
             as a missing or another epoch
  next       first mini-batch never leased
  created    mini-batches in the manifest so far (all below are leasable)
  processes  worker processes of the job, bounds the size of a lease
  paused     "1" while the master role rebuilds the queue: no grants
  closed     "" | "end" | "stop": no grants, processes leave
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

# Blocks waiting for the recorder beyond which nothing is leased: the stream of
# reports stays short, whatever the speed of the nodes. A block is at most
# about 50 ms of one process's work.
REPORTS_AHEAD = 400

# KEYS queue back leases revoked reports wake
# ARGV epoch assignment
#      n, n reports                              (blocks and JSON, in order)
#      n, n ended lease ids
#      n, n times "LEASE_ID FIRST COUNT TRY"     (given back; LEASE_ID 0: none)
#      n, n times "PROCESS WANT"
# Returns {status, epoch, "PROCESS LEASE_ID FIRST COUNT TRY", ...}
# A report of another epoch is taken all the same: recording is idempotent.
EXCHANGE_SCRIPT = f"""
local queue, back, leases, revoked, reports, wake =
  KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local state = redis.call('HMGET', queue,
  'epoch', 'next', 'created', 'processes', 'paused', 'closed')
local epoch = state[1]
if not epoch then return {{'missing', ''}} end
local at = 3
local function take()
  local count = tonumber(ARGV[at])
  local values = {{}}
  for i = 1, count do values[i] = ARGV[at + i] end
  at = at + count + 1
  return values
end
local sent, ended, given_back, wants = take(), take(), take(), take()
for _, report in ipairs(sent) do redis.call('RPUSH', reports, report) end
if epoch ~= ARGV[1] then return {{'epoch', epoch}} end
local is_revoked = redis.call('SISMEMBER', revoked, ARGV[2]) == 1
if is_revoked then return {{'revoked', epoch}} end
for _, id in ipairs(ended) do redis.call('HDEL', leases, id) end
for _, entry in ipairs(given_back) do
  local id, range = string.match(entry, '^(%d+) (.+)$')
  if id ~= '0' then redis.call('HDEL', leases, id) end
  redis.call('RPUSH', back, range)
end
local first_fresh, created = tonumber(state[2]), tonumber(state[3])
local processes = math.max(1, tonumber(state[4]))
local waiting_back = redis.call('LLEN', back)
local left = created - first_fresh + waiting_back
if #sent > 0 and left <= 0 then
  redis.call('LPUSH', wake, '1')
  redis.call('LTRIM', wake, 0, 0)
end
if state[6] ~= '' then return {{'closed', epoch, state[6]}} end
local answer = {{'ok', epoch}}
if state[5] == '1' then return answer end
if redis.call('LLEN', reports) > {REPORTS_AHEAD} then
  answer[1] = 'behind'
  return answer
end
for _, want in ipairs(wants) do
  local process, count = string.match(want, '^(%d+) (%d+)$')
  count = math.min(tonumber(count), math.max(1, math.floor(left / (2 * processes))))
  local range = nil
  local head = redis.call('LPOP', back)
  if head then
    local first, held, try = string.match(head, '^(%d+) (%d+) (%d+)$')
    first, held = tonumber(first), tonumber(held)
    if held > count then
      redis.call('LPUSH', back,
        string.format('%d %d %s', first + count, held - count, try))
      held = count
    end
    range = string.format('%d %d %s', first, held, try)
    left = left - held
  elseif first_fresh < created then
    count = math.min(count, created - first_fresh)
    range = string.format('%d %d 1', first_fresh, count)
    first_fresh = first_fresh + count
    left = left - count
  end
  if range then
    local id = redis.call('HINCRBY', queue, 'lease', 1)
    redis.call('HSET', leases, id, ARGV[2] .. ' ' .. process .. ' ' .. range)
    answer[#answer + 1] = process .. ' ' .. id .. ' ' .. range
  end
end
redis.call('HSET', queue, 'next', first_fresh)
return answer
"""

# What a node still holds, told to a queue that was made anew.
# KEYS queue leases   ARGV epoch assignment, then "LEASE_ID PROCESS FIRST COUNT TRY" ...
# Lease ids of the old epoch may meet new ones, so they come back renumbered:
# returns {new id, ...} in order, or {} when the epoch is not that one or not paused.
ADOPT_SCRIPT = """
local epoch = redis.call('HGET', KEYS[1], 'epoch')
if epoch ~= ARGV[1] or redis.call('HGET', KEYS[1], 'paused') ~= '1' then return {} end
local ids = {}
for i = 3, #ARGV do
  local held = string.match(ARGV[i], '^%d+ (.+)$')
  local id = redis.call('HINCRBY', KEYS[1], 'lease', 1)
  redis.call('HSET', KEYS[2], id, ARGV[2] .. ' ' .. held)
  ids[#ids + 1] = id
end
return ids
"""

# Ends an assignment's right to lease and takes back what it holds.
# KEYS leases revoked   ARGV assignment
# Returns the values of its leases, "LEASE_ID ASSIGNMENT PROCESS FIRST COUNT TRY".
# The ranges are not put back here: which of them were started decides the
# master role from the status files.
REVOKE_SCRIPT = """
redis.call('SADD', KEYS[2], ARGV[1])
local taken = {}
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  if string.match(all[i + 1], '^(%d+) ') == ARGV[1] then
    redis.call('HDEL', KEYS[1], all[i])
    taken[#taken + 1] = all[i] .. ' ' .. all[i + 1]
  end
end
return taken
"""

# A beat, stamped with the server's clock: the one clock that all ages use.
# KEYS beat nodes   ARGV name, beat as JSON without "beat_at"
BEAT_SCRIPT = """
local now = redis.call('TIME')
local at = now[1] .. '.' .. string.format('%06d', tonumber(now[2]))
redis.call('SET', KEYS[1], at .. ' ' .. ARGV[2])
redis.call('SADD', KEYS[2], ARGV[1])
return at
"""


class ExchangeStatus(StrEnum):
    OK = "ok"
    MISSING = "missing"  # no queue: not made yet, or Redis was wiped; nothing was taken
    EPOCH = "epoch"  # reports taken, nothing else: the queue was made anew
    REVOKED = "revoked"  # reports taken; the assignment is over
    CLOSED = "closed"  # reports taken; the job ends ("end") or is stopped ("stop")
    BEHIND = "behind"  # the recorder must catch up first; ask again soon


@dataclass(frozen=True)
class Range:
    """Mini-batches ``first`` to ``first + count - 1``, each at try number ``try_number``."""

    first: int
    count: int
    try_number: int

    def __str__(self) -> str:
        return f"{self.first} {self.count} {self.try_number}"

    @classmethod
    def parse(cls, text: str) -> Range:
        first, count, try_number = map(int, text.split())
        return cls(first, count, try_number)

    @property
    def end(self) -> int:
        return self.first + self.count


@dataclass(frozen=True)
class Lease:
    lease_id: int
    assignment: int
    process: int  # number on its node
    range: Range

    @classmethod
    def parse(cls, text: str) -> Lease:
        """Read ``LEASE_ID ASSIGNMENT PROCESS FIRST COUNT TRY``."""
        lease_id, assignment, process, first, count, try_number = map(int, text.split())
        return cls(lease_id, assignment, process, Range(first, count, try_number))


@dataclass(frozen=True)
class Exchange:
    """What one exchange sends: reports handed over, leases ended, given back, wanted."""

    reports: Sequence[bytes] = ()
    ended: Sequence[int] = ()  # lease ids
    given_back: Sequence[tuple[int, Range]] = ()  # lease id (0: none) and range
    wants: Sequence[tuple[int, int]] = ()  # process, mini-batches

    def arguments(self, *, epoch: str, assignment: int) -> list[bytes | str | int]:
        return [
            epoch,
            assignment,
            len(self.reports),
            *self.reports,
            len(self.ended),
            *self.ended,
            len(self.given_back),
            *(f"{lease_id} {held}" for lease_id, held in self.given_back),
            len(self.wants),
            *(f"{process} {count}" for process, count in self.wants),
        ]


@dataclass(frozen=True)
class ExchangeAnswer:
    status: ExchangeStatus
    epoch: str
    granted: tuple[Lease, ...] = ()
    closed: str = ""  # "end" or "stop" with status CLOSED


def parse_exchange_answer(answer: Sequence[bytes], *, assignment: int) -> ExchangeAnswer:
    words = [word.decode() for word in answer]
    status, epoch, rest = ExchangeStatus(words[0]), words[1], words[2:]
    if status is ExchangeStatus.CLOSED:
        return ExchangeAnswer(status, epoch, closed=rest[0])
    return ExchangeAnswer(status, epoch, tuple(_granted(text, assignment) for text in rest))


def _granted(text: str, assignment: int) -> Lease:
    process, lease_id, *numbers = map(int, text.split())
    return Lease(lease_id, assignment, process, Range(*numbers))
