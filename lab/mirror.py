"""Which mirror to build from: the one that the host's own apt uses."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.host import MIRROR, LabUnavailable

_NEEDED = "set DISPATCH_LAB_MIRROR to the address of a Debian mirror"


@dataclass(frozen=True)
class Source:
    """One address in apt's sources with one of its suites."""

    address: str
    suite: str
    components: tuple[str, ...]


def one_line_sources(text: str) -> Iterator[Source]:
    """Read the sources of a sources.list: `deb [options] address suite component...`."""
    for line in text.splitlines():
        match = re.match(r"deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+(\S+)((?:\s+[^\s#]+)*)", line.strip())
        if match:
            yield Source(match[1], match[2], tuple(match[3].split()))


def deb822_sources(text: str) -> Iterator[Source]:
    """Read a *.sources file: stanzas of fields, continued by indented lines; `#` comments."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for stanza in re.split(r"\n\s*\n", "\n".join(lines)):
        fields: dict[str, list[str]] = {}
        name = ""
        for line in stanza.splitlines():
            continued = line[:1].isspace()
            start, _, value = ("", "", line) if continued else line.partition(":")
            name = name if continued else start.strip().lower()
            fields.setdefault(name, []).extend(value.split())
        if "deb" not in fields.get("types", []) or fields.get("enabled") == ["no"]:
            continue
        for address in fields.get("uris", []):
            for suite in fields.get("suites", []):
                yield Source(address, suite, tuple(fields.get("components", [])))


def host_sources(apt: Path = Path("/etc/apt")) -> Iterator[Source]:
    """Read all sources of the host's apt."""
    for path in [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))]:
        if path.suffix == ".list" and path.is_file():
            yield from one_line_sources(path.read_text())
        elif path.suffix == ".sources" and path.is_file():
            yield from deb822_sources(path.read_text())


def pick(sources: Iterator[Source], codename: str) -> str | None:
    """Pick the address that serves the host's own suite, main component."""
    for source in sources:
        ours = source.suite in {codename, "stable", "testing", "sid", "unstable"}
        served = re.match(r"(https?|file|ftp):/", source.address)
        if ours and served and "main" in source.components:
            return source.address.rstrip("/")
    return None


def find_mirror() -> str:
    """Give DISPATCH_LAB_MIRROR, else the mirror of the host's apt; raise LabUnavailable that says what to set."""
    if MIRROR:
        return MIRROR.rstrip("/")
    release = dict(
        line.split("=", 1)
        for line in Path("/etc/os-release").read_text().splitlines()
        if "=" in line
    )
    if release.get("ID", "").strip('"') != "debian":
        raise LabUnavailable(
            f"the lab builds from a Debian mirror, and this host is no Debian: {_NEEDED}"
        )
    found = pick(host_sources(), release.get("VERSION_CODENAME", "").strip('"'))
    if found is None:
        raise LabUnavailable(f"found no Debian mirror in this host's apt sources: {_NEEDED}")
    return found
