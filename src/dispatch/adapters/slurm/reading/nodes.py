"""Node reports: whether a node responds, and whether it kept processes that it could not kill."""

from __future__ import annotations

import re

from dispatch.model.errors import Unavailable
from dispatch.model.status import NodeReport

SILENT = frozenset({
    "DOWN", "NOT_RESPONDING", "NO_RESPOND", "POWERED_DOWN", "POWERING_DOWN", "POWERING_UP", "POWER_DOWN", "POWER_UP",
    "REBOOT_ISSUED", "REBOOT^", "FAIL", "FUTURE", "UNKNOWN", "INVAL", "INVALID_REG", "DYNAMIC_FUTURE", "ERROR",
})  # fmt: skip
"""States and flags with which a node proves nothing about its processes."""

KILL_FAILED = re.compile(r"Kill task failed", re.IGNORECASE)

NODE_UNKNOWN = ("not found", "Invalid node name specified")
"""What scontrol says of a node that the cluster does not have."""

_NOT_FOUND = re.compile(r"Node ([A-Za-z0-9_.-]+) not found")
_NAME = re.compile(r"NodeName=(\S+)")
_STATE = re.compile(r"\sState=(\S+)")
_REASON = re.compile(r"\sReason=(.*)")
_MARKS = "*~#!%$@^-"
"""Suffixes of a state, such as * for a node that does not respond."""
_SILENT_MARKS = frozenset("*~#%^")
"""Not responding, powered down, powering up, powering down, rebooting."""


def decode_nodes(text: str) -> tuple[NodeReport, ...]:
    """Read ``scontrol show node -o``: one node a line. Raises ``Unavailable`` for a line that is none.

    A node that Slurm does not know any more was taken out of the cluster; that proves nothing about its processes.
    """
    return tuple(_report(line) for line in text.split("\n") if line.strip())


def _report(line: str) -> NodeReport:
    if missing := _NOT_FOUND.fullmatch(line.strip()):
        return NodeReport(name=missing[1], responding=False, state="not found")
    name, state = _NAME.match(line), _STATE.search(line)
    if name is None or state is None:
        raise Unavailable(
            f"scontrol printed a line that dispatch cannot read as a node: {line[:200]!r}."
        )
    reason = _REASON.search(line)
    parts = state[1].upper().split("+")
    silent = any(
        part.rstrip(_MARKS) in SILENT or part in SILENT or _SILENT_MARKS & set(part)
        for part in parts
    )
    return NodeReport(
        name=name[1],
        responding=not silent,
        kill_failed=reason is not None and KILL_FAILED.search(reason[1]) is not None,
        state=state[1],
    )
