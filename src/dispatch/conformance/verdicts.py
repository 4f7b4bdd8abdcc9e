"""What comes of a check, and the words with which a check demands something."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from enum import StrEnum

from dispatch.model.base import Value
from dispatch.model.errors import DispatchError


class Outcome(StrEnum):
    """What came of a check."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


class Result(Value):
    """A check by its sentence, what came of it, and why where it did not pass."""

    name: str
    verdict: Outcome
    reason: str = ""


class Broken(AssertionError):
    """A rule is broken; the text says what was found."""


class CannotDo(Exception):
    """The harness, or the cluster, cannot do what a check needs, and why; the check is skipped with that reason."""


def expect(condition: bool, found: str) -> None:  # noqa: FBT001 - reads as a sentence
    """Demand a condition; ``Broken`` says what was found instead."""
    if not condition:
        raise Broken(found)


def expect_same(found: object, wanted: object, what: str) -> None:
    """Demand that ``what`` is as wanted; ``Broken`` shows both."""
    expect(found == wanted, f"{what} is {found!r}, not {wanted!r}")


@contextmanager
def refused(*errors: type[DispatchError], naming: str = "") -> Generator[None]:
    """Demand that what is done inside is refused with one of these errors, and no other, whose text has ``naming``."""
    wanted = " or ".join(error.kind for error in errors)
    try:
        yield
    except errors as error:
        expect(naming in str(error), f"the refusal does not name {naming}: {error}")
        return
    except DispatchError as error:
        raise Broken(f"refused as {error.kind}, not as {wanted}: {error}") from error
    raise Broken(f"not refused; {wanted} was due")


@contextmanager
def forgiving(*errors: type[DispatchError]) -> Generator[None]:
    """Let what is done inside be refused with one of these errors, where a rule leaves that open."""
    try:
        yield
    except errors:
        return
