"""Our key on a Slurm object: its name, its comment, and the ref that the records keep."""

from __future__ import annotations

import re
from typing import Self

from dispatch.model.base import Value
from dispatch.model.epoch import SCALE, is_ulid
from dispatch.model.errors import Invalid
from dispatch.model.status import ObjectKey

NAME_PREFIX = "dj-"
COMMENT_TAG = "dispatch/1"
COMMENT_LIMIT = 1024
"""Bytes of a comment that Slurm keeps; it refuses longer ones (22.05 to 26.05)."""
LAST_INSTANCE = SCALE - 1
"""Hold instances are below this; a begin time beyond base + this is not ours."""

_TOKEN = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_SPEC = re.compile(r"[0-9a-f]{1,16}")
_DIGITS = re.compile(r"[0-9]{1,12}")
# Found anywhere in the text: accounting may know the comment only as a part of the submit line.
_MARKED = re.compile(rf"(?:^|[=\s'\"]){re.escape(COMMENT_TAG)}((?: [a-z]+=[^\s'\"]*)+)")


class Marks(Value):
    """What our comment on an object says: whose store, which submission, which attempt, its hold base, its spec."""

    store: str
    submission: int
    attempt: str
    base: int
    spec: str

    def key(self, job: str) -> ObjectKey:
        """The key of an object of this job."""
        return ObjectKey(
            job=job, store=self.store, submission=self.submission, attempt=self.attempt
        )

    def ref(self, job: str, number: int) -> Ref:
        """The ref of the object of this job that has that id."""
        return Ref(
            number=number,
            job=job,
            submission=self.submission,
            base=self.base,
            attempt=self.attempt,
        )


def encode_comment(key: ObjectKey, base: int, spec_hash: str) -> str:
    """Write our marks as a comment: one ASCII line of at most 1 024 bytes. Raises ``Invalid``."""
    marks = (
        f"store={key.store} n={key.submission} a={key.attempt} base={base} spec={spec_hash[:16]}"
    )
    comment = f"{COMMENT_TAG} {marks}"
    if decode_comment(comment) is None or len(comment) > COMMENT_LIMIT:
        raise Invalid(
            f"The object's marks cannot be written as a comment: {comment!r}.",
            todo="Store and attempt are at most 64 letters, digits, dots, dashes and underscores; the spec hash is hexadecimal.",
        )
    return comment


def decode_comment(text: str) -> Marks | None:
    """Read our marks back from a comment, or from a submit line that has it; ``None`` where they are not whole."""
    found = _MARKED.search(text)
    if found is None:
        return None
    said = dict(pair.split("=", 1) for pair in found[1].split())
    store, attempt, spec = said.get("store", ""), said.get("a", ""), said.get("spec", "")
    submission, base = said.get("n", ""), said.get("base", "")
    if not (_TOKEN.fullmatch(store) and _TOKEN.fullmatch(attempt) and _SPEC.fullmatch(spec)):
        return None
    if (
        not (_DIGITS.fullmatch(submission) and _DIGITS.fullmatch(base))
        or not 1 <= int(submission) < SCALE
    ):
        return None
    return Marks(
        store=store, submission=int(submission), attempt=attempt, base=int(base), spec=spec
    )


def job_of(name: str) -> str | None:
    """The job whose object carries this name, or ``None`` for a name that is not ours."""
    job = name.removeprefix(NAME_PREFIX)
    return job if name.startswith(NAME_PREFIX) and is_ulid(job) else None


class Ref(Value):
    """Which Slurm object: its id, and our key, without which the id proves nothing (ids wrap and are used again)."""

    number: int
    job: str
    submission: int
    base: int
    attempt: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a ref from its text. Raises ``Invalid``."""
        match text.split(":"):
            case [number, job, submission, base, attempt] if (
                all(_DIGITS.fullmatch(part) for part in (number, submission, base))
                and is_ulid(job)
                and _TOKEN.fullmatch(attempt)
            ):
                return cls(
                    number=int(number),
                    job=job,
                    submission=int(submission),
                    base=int(base),
                    attempt=attempt,
                )
            case _:
                raise Invalid(
                    f"{text!r} is no ref of a Slurm object.",
                    todo="A ref reads <id>:<ULID>:<N>:<base>:<attempt>.",
                )

    def __str__(self) -> str:
        return f"{self.number}:{self.job}:{self.submission}:{self.base}:{self.attempt}"

    def instance(self, begin: int | None) -> int | None:
        """The hold instance that a begin time in Unix seconds stands for: 0 is the gate; ``None``, none of ours."""
        if begin is None or not 0 <= begin - self.base <= LAST_INSTANCE:
            return None
        return begin - self.base
