"""The errors of dispatch, split by what the caller can conclude from them.

Each says what happened, to what, why, and what to do. Adapters map whatever their scheduler says to one of these in one
place; nothing else of the product catches a foreign exception.
"""

from __future__ import annotations

from typing import ClassVar

from dispatch.model.base import Value


class Fault(Value):
    """One thing wrong with a document: where, what was found, what is allowed; the line where the reader knows it."""

    path: str
    found: str
    allowed: str
    line: int | None = None

    def __str__(self) -> str:
        where = f"line {self.line}, {self.path}" if self.line else self.path
        return f"{where}: found {self.found}; allowed is {self.allowed}"


class DispatchError(Exception):
    """An error that a person can act on; ``what`` happened and ``todo``, what to do about it."""

    kind: ClassVar[str] = "Error"

    def __init__(self, what: str, *, todo: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.todo = todo

    def __str__(self) -> str:
        return f"{self.what} {self.todo}".strip()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.what!r})"


class Invalid(DispatchError):
    """A document, a setting or an argument is wrong; ``faults`` has every fault at once. Correct it."""

    kind = "Invalid"

    def __init__(self, what: str, *, faults: tuple[Fault, ...] = (), todo: str = "") -> None:
        super().__init__(what, todo=todo)
        self.faults = faults

    def __str__(self) -> str:
        return "\n  ".join([super().__str__(), *map(str, self.faults)])


class Refused(DispatchError):
    """The plan of a job is refused; ``reasons`` has every reason at once."""

    kind = "Refused"

    def __init__(self, what: str, *, reasons: tuple[str, ...] = (), todo: str = "") -> None:
        super().__init__(what, todo=todo)
        self.reasons = reasons

    def __str__(self) -> str:
        return "\n  ".join([super().__str__(), *self.reasons])


class Unsupported(DispatchError):
    """This backend cannot do it, now or later. Ask ``dispatch check`` what it can do."""

    kind = "Unsupported"


class ReadOnly(DispatchError):
    """The backend was opened for reading only, or may only observe; nothing was written."""

    kind = "ReadOnly"


class Expired(DispatchError):
    """The call's command began after its deadline and did nothing. It is safe to decide again."""

    kind = "Expired"


class Finished(DispatchError):
    """The object has ended, so the call did nothing."""

    kind = "Finished"


class NotFound(DispatchError):
    """There is no such job, object or file."""

    kind = "NotFound"


class Conflict(DispatchError):
    """The state is not the one that the caller took for granted: a stale hold, a key of another spec. Read again."""

    kind = "Conflict"


class Rejected(DispatchError):
    """The scheduler refused it for good; the same request will be refused again."""

    kind = "Rejected"


class Busy(DispatchError):
    """The scheduler refused it for now (a quota, a full queue); nothing was done. Try later."""

    kind = "Busy"


class Unavailable(DispatchError):
    """The cluster cannot be seen; this says nothing about any job, and nothing was done."""

    kind = "Unavailable"


class OutcomeUnknown(DispatchError):
    """The call may have had its effect, now or until its landing bound. Never repeat it: read back."""

    kind = "OutcomeUnknown"


class StoreError(DispatchError):
    """The records cannot be read or written as asked; nothing was half written."""

    kind = "Records"


class CorruptRecord(StoreError):
    """A record holds an event that cannot follow the ones before it. Nothing acts on this job any more."""

    kind = "CorruptRecord"


class NewerSchema(StoreError):
    """The records, or one job's events, were written by a newer dispatch, and are left alone. Upgrade."""

    kind = "NewerSchema"
