"""The exit codes of every command, in one table."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """How a command ended, for scripts."""

    OK = 0
    ENDED_OTHERWISE = 1
    USAGE = 2
    REFUSED = 3
    NOT_FOUND = 4
    UNREACHABLE = 5
    RECORDS = 6
    INTERNAL = 70
    TIMED_OUT = 124
    INTERRUPTED = 130
    BROKEN_PIPE = 141


MEANINGS = {
    Exit.OK: "done as asked",
    Exit.ENDED_OTHERWISE: "the job ended otherwise than `Succeeded`; or a check of `dev conformance` failed, or `dev sim` has broken a rule",
    Exit.USAGE: "the command line, a job file or the configuration is wrong",
    Exit.REFUSED: "refused: by the plan, the policy, a missing capability, the scheduler, or the state of the job",
    Exit.NOT_FOUND: "there is no such job, file or output",
    Exit.UNREACHABLE: "the cluster cannot be reached, or did not answer; this says nothing about the job",
    Exit.RECORDS: "the records cannot be read or written",
    Exit.INTERNAL: "a fault of dispatch itself",
    Exit.TIMED_OUT: "the time given with `--timeout` has passed; the job goes on",
    Exit.INTERRUPTED: "interrupted by Ctrl-C; what was recorded stays recorded",
    Exit.BROKEN_PIPE: "who read the output went away",
}

KINDS = {
    "Invalid": Exit.USAGE,
    "Refused": Exit.REFUSED,
    "Unsupported": Exit.REFUSED,
    "ReadOnly": Exit.REFUSED,
    "Finished": Exit.REFUSED,
    "Conflict": Exit.REFUSED,
    "Rejected": Exit.REFUSED,
    "Busy": Exit.REFUSED,
    "NotFound": Exit.NOT_FOUND,
    "Expired": Exit.UNREACHABLE,
    "Unavailable": Exit.UNREACHABLE,
    "OutcomeUnknown": Exit.UNREACHABLE,
    "Records": Exit.RECORDS,
    "CorruptRecord": Exit.RECORDS,
    "NewerSchema": Exit.RECORDS,
}
"""The exit code of each kind of ``dispatch.model.errors``."""
