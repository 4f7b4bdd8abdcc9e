"""What Slurm's commands say when they fail, sorted by what can be concluded: a table, and one function over it.

The order counts: a text that may hide a job that was made comes before all others. What no row knows is of unknown
outcome, never a refusal: a create that is taken for refused and made again would run twice.
"""

from __future__ import annotations

import re

from dispatch.adapters.slurm.writing.frame import Section
from dispatch.model.errors import (
    Busy,
    DispatchError,
    Finished,
    NotFound,
    OutcomeUnknown,
    Rejected,
    Unavailable,
)

_LOOK_BACK = "Read the object back once the landing bound has passed."
_AWAY = "Look whether the controller answers: scontrol ping."
_CORRECT = "Correct the job; the same request will be refused again."
_LATER = "It is tried again later."

Row = tuple[str, type[DispatchError], str]

TABLE: tuple[Row, ...] = (
    # The request left, the answer did not come (F1, F2).
    (r"Socket timed out|Zero Bytes were transmitted|Connection reset|Unexpected message received", OutcomeUnknown, _LOOK_BACK),
    # Never delivered (F10).
    (r"connect failure|Unable to contact slurm controller|Connection refused", Unavailable, _AWAY),
    (r"Munge encode failed|Munge decode failed|Protocol authentication error|authentication credential", Unavailable, _AWAY),
    (r"Could not establish a configuration source|Unable to process configuration file", Unavailable, _AWAY),
    (r"command not found|No such file or directory.*s(?:batch|control|cancel)|s(?:batch|control|cancel): not found", Unavailable, "Set the PATH or transport.through of this cluster's settings."),
    # Refused for now (F6).
    (r"MaxSubmitJob|GrpSubmitJobs|MaxJobsAccruePer|Resource temporarily unavailable", Busy, _LATER),
    (r"temporarily unable to accept job|Slurm backup controller in standby|in standby mode|rate limit", Busy, _LATER),
    (r"Requested partition configuration not available now|Slurmctld is being reconfigured|try again", Busy, _LATER),
    # Refused for good (F5).
    (r"Invalid (?:account|partition|qos|qualit|node name|feature|generic resource|constraint|job array|license|reservation|user id|time|numeric|argument|wckey|cluster|Trackable|begin|gres)", Rejected, _CORRECT),
    (r"Requested (?:node configuration|time limit|reservation|operation|nodes)|User's group not permitted", Rejected, _CORRECT),
    (r"This does not look like a batch script|DOS line breaks|Batch script .*too large|script.* exceed", Rejected, _CORRECT),
    (r"unrecognized option|invalid option|ambiguous|requires an argument|doesn't allow an argument|Invalid --", Rejected, _CORRECT),
    (r"parameter too long|Access/permission denied|Access denied|not permitted|Memory required by task|Memory specification", Rejected, _CORRECT),
    (r"(?:QOS|Assoc)(?:Max|Grp|Min)|More processors requested|CPU count|Node count|Job dependency problem", Rejected, _CORRECT),
    (r"Batch job submission failed: (?:Unspecified error|Job size|Unable to)|Duplicate job id", Rejected, _CORRECT),
    # The general text of a limit, without the one that was met: most are of the number of jobs.
    (r"Job violates accounting/QOS policy", Busy, _LATER),
)  # fmt: skip

_ROWS = tuple((re.compile(pattern, re.IGNORECASE), kind, todo) for pattern, kind, todo in TABLE)

_OBJECT = (
    (re.compile(r"Invalid job id", re.IGNORECASE), NotFound),
    (
        re.compile(
            r"already (?:finished|completing or completed)|no longer pending", re.IGNORECASE
        ),
        Finished,
    ),
)


def refusal_of(section: Section, what: str) -> DispatchError:
    """The error of a command that failed, or whose end is not known; ``what`` says what was being done."""
    said = _said(section)
    if section.rc is None:
        return OutcomeUnknown(f"{what}: the answer broke off. {said}".strip(), todo=_LOOK_BACK)
    if section.rc in (124, 137):
        return OutcomeUnknown(
            f"{what}: Slurm did not answer in time. {said}".strip(), todo=_LOOK_BACK
        )
    for pattern, kind, todo in _ROWS:
        if pattern.search(said):
            return kind(f"{what}: Slurm says: {said}", todo=todo)
    return OutcomeUnknown(
        f"{what}: Slurm failed ({section.rc}): {said or 'it said nothing'}.", todo=_LOOK_BACK
    )


def object_refusal_of(section: Section, what: str) -> DispatchError:
    """The error of a command about one object, which may be gone or have ended."""
    said = _said(section)
    for pattern, kind in _OBJECT:
        if section.rc not in (None, 0) and pattern.search(said):
            return kind(f"{what}: Slurm says: {said}")
    return refusal_of(section, what)


def _said(section: Section) -> str:
    lines = [
        line for raw in (section.err + "\n" + section.out).splitlines() if (line := raw.strip())
    ]
    # That it waited and tried again says nothing where it then told the end (F3).
    telling = [line for line in lines if "sleeping and retrying" not in line]
    return " / ".join(telling or lines)[:1_000]
