"""What a job file may say, however hostile, arrives on a real Slurm byte for byte, and is never run by any shell."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dispatch.model.documents import decode_document
from dispatch.model.errors import DispatchError, Invalid
from dispatch.model.job import Job
from dispatch.model.status import Cause, State, Verdict
from dispatch.shell.driving import Until
from dispatch.spi.store import Query
from hostile import CANARY, TEXTS
from lab import Lab, LabUnavailable, Options
from slurm.site import Site

pytestmark = pytest.mark.slurm

HOME = "/home/alice"
IN_SETUP = "setup-may-run-a-shell"
"""What stands for the canary in ``setup``, whose lines are the person's own shell."""
NAMES = ("HOSTILE", "file", "note", "options", "status", "entry", "signal", "name", "first")
"""Variables of the job, some of names that a careless job script would have for its own."""
PRINT = """
printf '%s\\0' "$@" "$HOSTILE" "$file" "$note" "$options" "$status" "$entry" "$signal" "$name" "$first" >"$OUT/said"
pwd -P >"$OUT/where"
printf '%s' "$SECRET" >"$OUT/secret"
"""
AS_SETUP = (
    "a lone single quote", "a newline", "substitution", "backticks", "a pipe", "a newline and a command",
    "closing single quotes", "closing a list", "a glob", "an option", "a directive on a line", "escape sequences",
)  # fmt: skip
"""Texts that are tried as lines of setup, and as values of an option of sbatch."""


@dataclass
class Played:
    """All that was submitted on one cluster, and how each ended."""

    site: Site
    documents: dict[tuple[str, str], dict[str, Any]] = field(
        default_factory=dict[tuple[str, str], dict[str, Any]]
    )
    jobs: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    refused: dict[tuple[str, str], DispatchError] = field(
        default_factory=dict[tuple[str, str], DispatchError]
    )

    def verdict(self, family: str, name: str) -> Verdict:
        job = self.jobs[family, name]
        verdict = self.site.system.view(job).verdict
        assert verdict is not None, self.site.trace(job)
        return verdict

    def file(self, family: str, name: str, what: str) -> bytes:
        return self.site.lab.path(f"{out(family, name)}/{what}").read_bytes()


def out(family: str, name: str) -> str:
    """The directory in which a job leaves what it saw."""
    return f"{HOME}/hostile/{family}-{list(TEXTS).index(name)}"


def decoded(document: dict[str, Any]) -> Job:
    return decode_document({"cluster": "lab", **document}, Job, where="The job")


def names_of(text: str) -> tuple[str, ...]:
    """The variables that can have this text all at once."""
    return NAMES if len(text) < 1_000 else NAMES[:2]


async def refusal(site: Site, document: dict[str, Any]) -> DispatchError | None:
    """Why the plan does not accept a job of this document, if so; nothing is recorded."""
    try:
        await site.system.operator.plan(decoded(document))
    except DispatchError as error:
        return error
    return None


async def only_taken(
    site: Site, document: dict[str, Any], wishes: dict[str, Any]
) -> dict[str, Any]:
    """Lay those wishes over the document that are accepted by themselves."""
    for name, wish in wishes.items():
        if await refusal(site, {**document, name: wish}) is None:
            document = {**document, name: wish}
    return document


async def arrival(site: Site, name: str, text: str) -> dict[str, Any]:
    """A job whose command tells what has reached it, with the text wherever it is taken."""
    place = out("arrival", name)
    env = {"OUT": place, **dict.fromkeys(names_of(text), text)}
    document: dict[str, Any] = {"command": ["sh", "-c", PRINT, "sh", text, "--", text], "env": env}
    wishes: dict[str, Any] = {"name": text, "key": text, "labels": {text: text}, "workdir": text}
    document = await only_taken(site, document, wishes)
    if "workdir" in document:
        there = HOME if text == "~" else text if text.startswith("/") else f"{HOME}/{text}"
        directory(site, there)
        if "/" not in text and leave_secret(site, f"{there}/{text}", name):
            document["secretEnv"] = {"SECRET": {"file": text}}
    return document


def directory(site: Site, path: str) -> None:
    """Make a directory of alice's."""
    made, home = site.lab.path(path), site.lab.path(HOME)
    made.mkdir(parents=True, exist_ok=True)
    while made != home:
        os.chown(made, home.stat().st_uid, home.stat().st_gid)
        made = made.parent


def leave_secret(site: Site, path: str, name: str) -> bool:
    """Write a secret into a file of that name, where there can be such a file."""
    try:
        site.lab.path(path).write_text(secret_of(name))
        site.lab.path(path).chmod(0o644)
    except OSError:
        return False
    return True


def secret_of(name: str) -> str:
    return f"the secret of {name}"


async def documents(site: Site, name: str, text: str) -> dict[str, dict[str, Any]]:
    """The jobs of one text: by family, each as far as the plan accepts it."""
    for family in ("arrival", "output", "setup"):
        directory(site, out(family, name))
    made = {
        "arrival": await arrival(site, name, text),
        "output": {"command": [text], "output": text, "workdir": out("output", name)},
    }
    if name in AS_SETUP:
        setup = {
            "command": ["true"],
            "setup": [text.replace(CANARY, IN_SETUP)],
            "workdir": out("setup", name),
        }
        made["setup"] = await only_taken(site, setup, {"slurm": {"options": {"wckey": text}}})
    return made


@pytest.fixture(scope="module")
def own() -> Iterator[Lab]:
    """A cluster of these tests' own, whose nodes are never lost for being slow."""
    try:
        own = Lab.up(f"hostile-{os.getpid()}", Options(slurmd_timeout=300), owner=os.getpid())
    except LabUnavailable as reason:
        if os.environ.get("DISPATCH_REQUIRE_SLURM") == "1":
            raise
        pytest.skip(f"no Slurm lab here: {reason}")
    yield own
    own.down()


@pytest.fixture(scope="module")
def played(own: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    """Every text in every family, submitted at once and driven together."""
    site = Site(own, tmp_path_factory.mktemp("hostile"))
    site.system.clusters._options.poll = timedelta(seconds=2)
    played = Played(site)
    asyncio.run(play(played))
    yield played
    site.close()


async def play(played: Played) -> None:
    site = played.site
    for name, text in TEXTS.items():
        if "\ud800" in text:
            continue  # no path and no argument can hold it; test_hostile.py sees it refused
        for family, document in (await documents(site, name, text)).items():
            played.documents[family, name] = document
            try:
                submitted = await site.system.operator.submit(decoded(document))
            except DispatchError as error:
                played.refused[family, name] = error
            else:
                played.jobs[family, name] = submitted.id
    await site.system.clusters.close()
    await site.system.drive(list(played.jobs.values()), Until.ENDED, timeout=timedelta(minutes=4))


def of(family: str) -> list[str]:
    return [
        name
        for name, text in TEXTS.items()
        if "\ud800" not in text and (family != "setup" or name in AS_SETUP)
    ]


def canaries(*roots: Path) -> list[Path]:
    """Find what a shell has made that should not have run."""
    return [found for root in roots for found in root.rglob(CANARY)]


@pytest.mark.parametrize("name", of("arrival"))
def test_a_text_arrives_byte_for_byte_wherever_it_is_taken(name: str, played: Played) -> None:
    if ("arrival", name) in played.refused:
        check_refusal(played.refused["arrival", name], ("command[4]", "env.HOSTILE"))
        return
    document, text = played.documents["arrival", name], TEXTS[name]
    assert played.verdict("arrival", name).state is State.SUCCEEDED, played.verdict("arrival", name)
    said = played.file("arrival", name, "said").split(b"\0")[:-1]
    names = names_of(text)
    assert said[:3] == [text.encode(), b"--", text.encode()]
    assert said[3 : 3 + len(names)] == [text.encode()] * len(names)
    where = played.file("arrival", name, "where").decode().removesuffix("\n")
    assert where == (HOME if document.get("workdir", "~") == "~" else f"{HOME}/{text}")
    if "secretEnv" in document:
        assert played.file("arrival", name, "secret").decode() == secret_of(name)
    summary = played.site.system.store.summary(played.jobs["arrival", name])
    shown = (summary.name, summary.key, dict(summary.labels))
    assert shown == (document.get("name", "job"), document.get("key"), document.get("labels", {}))


@pytest.mark.parametrize("name", of("output"))
def test_a_text_is_one_program_and_one_file_of_output(name: str, played: Played) -> None:
    if ("output", name) in played.refused:
        check_refusal(played.refused["output", name], ("output",))
        return
    verdict = played.verdict("output", name)
    assert (verdict.state, verdict.cause) == (State.FAILED, Cause.NON_ZERO_EXIT)
    assert verdict.detail.exit_code in {126, 127}
    text = TEXTS[name]
    placed = f"{HOME}/{text[2:]}" if text.startswith("~/") else f"{out('output', name)}/{text}"
    assert played.site.lab.path(placed).is_file()


@pytest.mark.parametrize("name", of("setup"))
def test_a_line_of_setup_is_one_text_to_the_shell(name: str, played: Played) -> None:
    """It may run what it likes, and the option beside it never does: see the test of the canaries."""
    verdict = played.verdict("setup", name)
    if verdict.cause is Cause.REJECTED:
        assert "wckey" in (verdict.detail.reason or "")
        return
    ran = played.site.lab.path(f"{out('setup', name)}/{IN_SETUP}").exists()
    expected = name in {"substitution", "backticks", "a newline and a command"}
    assert ran == expected
    assert verdict.state is State.SUCCEEDED or verdict.cause is Cause.LAUNCH_FAILED


def check_refusal(error: DispatchError, wanted: tuple[str, ...]) -> None:
    assert isinstance(error, Invalid)
    assert {fault.path for fault in error.faults} >= set(wanted)
    assert all(fault.allowed for fault in error.faults)


def test_what_was_refused_has_left_no_record_and_no_object(played: Played) -> None:
    kept = {job.id for job in played.site.system.store.list(Query(limit=10_000))}
    assert kept == set(played.jobs.values())
    names = played.site.lab.text("root", "squeue", "-h", "-t", "all", "-o", "%j").split()
    assert set(names) <= {f"dj-{job}" for job in kept}
    assert played.refused


def test_no_shell_has_run_any_of_it(played: Played, tmp_path: Path) -> None:
    roots = (
        played.site.lab.directory / "fs",
        Path.cwd(),
        Path.home(),
        played.site.records.parent,
        tmp_path,
    )
    assert canaries(*roots) == []
    elsewhere = [Path(place) / CANARY for place in ("/", "/tmp", "/root", "/var/tmp")]
    assert not any(path.exists() for path in elsewhere)
