"""The wire between a worker process, its node agent and the master role.

The one definition of: the frames on a worker process's report pipe, the
packed records inside them, the words of its status file, and the index of
the manifest. ``runner.core`` imports this module, and it imports nothing, for
it is read by the user's interpreter too (Python 3.8, standard library).

A worker process sends *frames*. A frame that carries try records is a
*block*: the agent journals and passes it on without opening it, the recorder
unpacks it straight into the database.
"""

from __future__ import annotations

import json
import struct

# --- start ------------------------------------------------------------------
# PYTHON .../runner/harness/__main__.py CONFIG.json CONTROL_FD REPORT_FD
# CONFIG.json is one object; its members, and which may be left out, stand in
# ``config.py`` beside this file (class Config). The process is to lead a group of
# its own, with descriptors 1 and 2 already on its log files; the thread that starts
# it must live as long as it does (PR_SET_PDEATHSIG looks at the thread).
# SIGUSR2 makes it append the stacks of all its threads to logs/user/error/… at once,
# also while it is inside C code: send it before a kill for a timeout.

# Exit codes of a worker process that left by itself.
EXIT_ENDED = 0  # after "end" and shutdown()
EXIT_INIT_FAILED = 81  # said in FRAME_INIT_FAILED
EXIT_SEGMENT_NOT_WRITABLE = 82  # no try is counted; the reason stands on descriptor 2
EXIT_CONFIG_INVALID = 83  # the reason stands on descriptor 2
EXIT_OUT_OF_MEMORY = 84  # a MemoryError in run(), its try is already reported
EXIT_FILES_TAKEN = 85  # the script closed our files, or set a limit that they meet

# --- control pipe, agent -> process: text lines -----------------------------
# "lease LEASE_ID FIRST COUNT TRY\n"   run mini-batches FIRST..FIRST+COUNT-1
# "end\n"                              no more work: call shutdown() and leave

# --- report pipe, process -> agent: frames -----------------------------------
FRAME_HEAD = struct.Struct("<BIQ")  # kind, lease id (0: none), length of the body

FRAME_READY = 1  # import and init() are done; body: JSON {"init_seconds"}
FRAME_INIT_FAILED = 2  # body: JSON {"error": ERROR, "invalid_script": bool, "init_seconds"}
FRAME_BLOCK = 3  # body: a block; the lease goes on
FRAME_LEASE_DONE = 4  # body: a block (maybe of 0 records); the lease has ended
FRAME_METRIC = 5  # body: JSON {"name", "value"}
FRAME_WARNING = 6  # body: JSON {"code", "text", "mini_batch"}
FRAME_ENDED = 7  # shutdown() is over; body: JSON {"error": ERROR or null}

# --- block --------------------------------------------------------------------
BLOCK_MAGIC = b"PRB1"
# magic, all records ended with a final outcome (1) or not (0), assignment
# number, node index, process number, record count, length of the errors part
BLOCK_HEAD = struct.Struct("<4sBIIIII")

# One try of one mini-batch, fields in this order (the recorder feeds them to
# one SQL statement as they are):
#   index, try number, outcome, status, items, succeeded, results,
#   offset, length (bytes in the process's segment),
#   started_us (wall clock, us since 1970 UTC),
#   wait_us (before the pick), load_us, run_us, total_us (pick to written)
RECORD = struct.Struct("<IIBBIIIQQQQQQQ")

# Outcomes, as runner.core.states.MiniBatchState numbers them.
OUTCOME_SUCCEEDED = 3
OUTCOME_PARTIAL = 4
OUTCOME_TRY_FAILED = 5

# Statuses of a try; their names are the words of processed_mini-batches.csv.
STATUS_NAMES = (
    "RUN_DONE",
    "RUN_EXCEPTION",
    "RUN_TIMEOUT",
    "LOAD_EXCEPTION",
    "LOAD_TIMEOUT",
    "WRITE_TIMEOUT",
    "WRONG_RETURN_TYPE",
    "PROCESS_DIED",
    "OUT_OF_MEMORY",
    "NODE_LOST",
    "STOPPED",
    "DUPLICATE",
    "INIT_DONE",
    "INIT_EXCEPTION",
)
(
    RUN_DONE,
    RUN_EXCEPTION,
    RUN_TIMEOUT,
    LOAD_EXCEPTION,
    LOAD_TIMEOUT,
    WRITE_TIMEOUT,
    WRONG_RETURN_TYPE,
    PROCESS_DIED,
    OUT_OF_MEMORY,
    NODE_LOST,
    STOPPED,
    DUPLICATE,
    INIT_DONE,
    INIT_EXCEPTION,
) = range(len(STATUS_NAMES))

# ERROR, the JSON form of what went wrong in user code (see errors.py of the harness):
#   {"index", "try", "kind": one of ERROR_KINDS, "types": [outermost first],
#    "message", "frames": [[file, module, function, line, source, is_user], ...],
#    "traceback": text or null (null: the same error was sent in full before by this
#    process, frames are then empty, "same_as" names that one's digest), "digest",
#    "printed": {"stdout": [from, to], "stderr": [from, to]}, bytes of the process's
#    files below logs/user that this try wrote}
# "index" and "try" are null for import, init and shutdown; a wrong_type has no
# traceback, no frames and as its one type that of what was returned.
# A block's errors part is a JSON list of them, empty bytes when there are none.
ERROR_KINDS = (
    "exception",
    "wrong_type",
    "load",
    "out_of_memory",
    "import",
    "init",
    "shutdown",
)

# --- columns ----------------------------------------------------------------------
# "<segment>.columns": beside a segment whose rows have named columns (text and csv):
# JSON lines {"offset", "columns": [names] or null}: rows from that byte of the segment on,
# up to the next line's offset, have these columns. Rows before the first line, and where
# it is null, have none. No row in a segment is a header: assembly writes it, once.
COLUMNS_SUFFIX = ".columns"

# --- printed ----------------------------------------------------------------------
# "<segment>.printed": one PRINTED_RECORD per try that wrote to sys.stdout or sys.stderr:
# index, try, and from and to of both, in bytes of the process's files below logs/user.
PRINTED_RECORD = struct.Struct("<IIQQQQ")
PRINTED_SUFFIX = ".printed"

# --- status file ----------------------------------------------------------------
# 64 bytes, mapped by process and agent: 8 aligned 64-bit words, so a word is
# never seen half written. The time is written before the phase: a reader may
# see a new time with an old phase (harmless), never the reverse, which would
# look like a timeout.
STATUS_FILE_BYTES = 64
WORD_PHASE = 0  # phase << 32 | mini-batch index
WORD_SINCE = 1  # time.monotonic_ns() when the phase began
WORD_TRY = 2  # number of the try
WORD_DONE = 3  # mini-batches ended by this process so far
WORD_LEASE = 4  # lease being worked on

PHASE_STARTING = 0
PHASE_INIT = 1  # import of the script and init()
PHASE_IDLE = 2  # waits for a lease
PHASE_LOAD = 3
PHASE_RUN = 4
PHASE_WRITE = 5
PHASE_WRITTEN = 6  # ended, not yet reported: a death here counts a try
PHASE_SHUTDOWN = 7
PHASE_ENDED = 8
PHASE_NAMES = (
    "starting",
    "init",
    "idle",
    "load",
    "run",
    "write",
    "written",
    "shutdown",
    "ended",
)
STARTED_PHASES = frozenset({PHASE_LOAD, PHASE_RUN, PHASE_WRITE, PHASE_WRITTEN})

# --- manifest ---------------------------------------------------------------------
# manifest/items: the entries, one after another, appended by the master role.
# manifest/index: one INDEX_RECORD per mini-batch, in order of the index:
#   end of its entry in manifest/items (bytes), item count (UNKNOWN_ITEMS: not
#   known before it is loaded), number of the input it is cut from.
# An entry of files: the absolute paths as UTF-8 (surrogateescape), joined by NUL.
# An entry of a table: JSON, {"path", "start", "end"} for a range of bytes of records.
MANIFEST_INDEX_RECORD = struct.Struct("<QII")
UNKNOWN_ITEMS = 0xFFFFFFFF


def pack_block(assignment, node_index, process, records, errors):
    # type: (int, int, int, list, list) -> bytes
    """Return a block of ``records`` (tuples in RECORD's order) and ``errors`` (dicts)."""
    packed = [RECORD.pack(*record) for record in records]
    all_final = all(record[2] != OUTCOME_TRY_FAILED for record in records)
    return join_block(assignment, node_index, process, packed, all_final, errors)


def join_block(assignment, node_index, process, packed, all_final, errors):
    # type: (int, int, int, list, bool, list) -> bytes
    """Return a block of records packed already. ``all_final``: none of them has failed."""
    errors_part = json.dumps(errors).encode("utf-8") if errors else b""
    head = BLOCK_HEAD.pack(
        BLOCK_MAGIC,
        int(all_final),
        assignment,
        node_index,
        process,
        len(packed),
        len(errors_part),
    )
    return head + b"".join(packed) + errors_part
