"""The backend suite, a module a subject."""

from dispatch.conformance.backend import (
    causes,
    cessation,
    deadlines,
    finding,
    gate,
    holding,
    identity,
    many,
    native,
    opening,
    refs,
    refusing,
    replies,
    requeuing,
    stopping,
    watching,
)
from dispatch.conformance.backend.suite import BACKEND

__all__ = [
    "BACKEND",
    "causes",
    "cessation",
    "deadlines",
    "finding",
    "gate",
    "holding",
    "identity",
    "many",
    "native",
    "opening",
    "refs",
    "refusing",
    "replies",
    "requeuing",
    "stopping",
    "watching",
]
