"""The reading half of the Slurm adapter: one script a poll, and from what it prints to typed observations."""

from dispatch.adapters.slurm.reading.classify import classify
from dispatch.adapters.slurm.reading.facts import Facts, Owner
from dispatch.adapters.slurm.reading.key import (
    COMMENT_LIMIT,
    COMMENT_TAG,
    NAME_PREFIX,
    Marks,
    Ref,
    decode_comment,
    encode_comment,
    job_of,
)
from dispatch.adapters.slurm.reading.listing import list_living
from dispatch.adapters.slurm.reading.read import ReadSettings, read_jobs, read_nodes
from dispatch.adapters.slurm.reading.tickets import (
    END_SUFFIX,
    FENCED_EXIT,
    FENCED_SUFFIX,
    START_SUFFIX,
    TICKETS_DIRECTORY,
)

__all__ = [
    "COMMENT_LIMIT",
    "COMMENT_TAG",
    "END_SUFFIX",
    "FENCED_EXIT",
    "FENCED_SUFFIX",
    "NAME_PREFIX",
    "START_SUFFIX",
    "TICKETS_DIRECTORY",
    "Facts",
    "Marks",
    "Owner",
    "ReadSettings",
    "Ref",
    "classify",
    "decode_comment",
    "encode_comment",
    "job_of",
    "list_living",
    "read_jobs",
    "read_nodes",
]
