"""What is written down of each instance, so that another process can find it, and leftovers are cleared away."""

import contextlib
import dataclasses
import json
import os
import re
import shutil
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.cgroups import remove_group
from lab.config import Options
from lab.host import LAB_DIR, LabError, locked, start_time
from lab.namespace import Namespace

_NAME = re.compile(r"[a-z][a-z0-9-]{0,40}")


@dataclass(frozen=True)
class Witness:
    """A process by pid and start time."""

    pid: int
    start: int

    def alive(self) -> bool:
        """Tell whether that very process still runs."""
        return start_time(self.pid) == self.start


def witness(pid: int) -> Witness:
    """Name a running process; raise LabError when it has ended."""
    start = start_time(pid)
    if start is None:
        raise LabError(f"process {pid} does not run")
    return Witness(pid, start)


@dataclass(frozen=True)
class Record:
    """An instance: starter is whoever brings or brought it up; inside is None until its first process runs; owner is
    the process with which it ends, None for an instance that stays."""

    name: str
    options: Options
    base: int
    starter: Witness
    owner: Witness | None
    inside: Namespace | None

    @property
    def directory(self) -> Path:
        return instance_dir(self.name)

    @property
    def alive(self) -> bool:
        """Tell whether it runs."""
        return self.inside is not None and self.inside.alive()

    @property
    def stale(self) -> bool:
        """Tell whether it is a leftover: it died on its way up, or with its owner, or its owner is gone."""
        if self.inside is None:
            return not self.starter.alive()
        return self.owner is not None and not (self.owner.alive() and self.alive)


def instance_dir(name: str) -> Path:
    """Name an instance's directory."""
    if not _NAME.fullmatch(name):
        raise LabError(
            f"{name!r} is no name for an instance: small letters, digits and dashes, a letter first"
        )
    return LAB_DIR / "instances" / name


def write(record: Record) -> None:
    """Write the record down, replacing an earlier one in one step."""
    path = record.directory / "instance.json"
    new = path.with_suffix(".new")
    new.write_text(json.dumps(dataclasses.asdict(record), indent=1))
    new.rename(path)


def read(name: str) -> Record:
    """Read an instance's record; raise LabError when there is none."""
    try:
        found: dict[str, Any] = json.loads((instance_dir(name) / "instance.json").read_text())
    except FileNotFoundError:
        raise LabError(f"there is no instance {name!r}") from None
    return Record(
        name=found["name"],
        options=Options(**found["options"]),
        base=found["base"],
        starter=Witness(**found["starter"]),
        owner=Witness(**found["owner"]) if found["owner"] else None,
        inside=Namespace(**found["inside"]) if found["inside"] else None,
    )


def records() -> list[Record]:
    """Read the records of all instances."""
    found: list[Record] = []
    for path in sorted((LAB_DIR / "instances").glob("*/instance.json")):
        with contextlib.suppress(LabError):
            found.append(read(path.parent.name))
    return found


@contextlib.contextmanager
def registry() -> Generator[None]:
    """Hold the lock under which instances are claimed and cleared away."""
    with locked(LAB_DIR / "instances.lock"):
        yield


def claim(record: Record) -> None:
    """Take a name: clear away leftovers first, and an instance of that name that no longer runs."""
    with registry():
        for other in records():
            if other.stale or (
                other.name == record.name and other.inside is not None and not other.alive
            ):
                remove(other)
        try:
            record.directory.mkdir(parents=True)
        except FileExistsError:
            raise LabError(f"the instance {record.name!r} is up already") from None
        write(record)


def sweep() -> None:
    """Clear away all leftovers."""
    with registry():
        for record in records():
            if record.stale:
                remove(record)


def remove(record: Record) -> None:
    """End an instance, if it runs, and remove all that it left."""
    if record.inside is not None:
        record.inside.end()
    if record.options.cgroup:
        remove_group(record.name, record.base)
    shutil.rmtree(record.directory, ignore_errors=True)


def own() -> Witness:
    """Name this process."""
    return witness(os.getpid())
