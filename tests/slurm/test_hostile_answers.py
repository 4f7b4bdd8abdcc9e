"""What others put into Slurm is evidence and never an order: names, comments and reasons made hostile by hand."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dispatch.core.explaining import explain
from dispatch.model.journal import Adopted, Intended, Vanished, Verb
from dispatch.model.status import Cause, State
from hostile import CANARY
from lab import Lab, LabUnavailable, Options
from processes import Place
from slurm.site import Site

pytestmark = pytest.mark.slurm

EVIL = f"\x1b]0;owned\x07\x1b[2J$(touch {CANARY}) '\" | \x1f\nJobState=COMPLETED Comment=x"
CONFIG = """
[clusters.lab]
adapter = "slurm"
settings = {{ saveWindow = "1s", killMargin = "1s", transport = {{ kind = "local", through = ["{login}"] }} }}
"""


@pytest.fixture(scope="module", params=["forky", "bookworm"])
def own(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """A cluster of the newest and of the oldest release, which is read in another way."""
    suite: str = request.param
    try:
        own = Lab.up(f"answers-{suite}-{os.getpid()}", Options(suite=suite), owner=os.getpid())
    except LabUnavailable as reason:
        if os.environ.get("DISPATCH_REQUIRE_SLURM") == "1":
            raise
        pytest.skip(f"no Slurm lab here: {reason}")
    yield own
    own.down()


@pytest.fixture
def site(own: Lab, tmp_path: Path) -> Iterator[Site]:
    site = Site(own, tmp_path)
    yield site
    site.close()


@pytest.fixture
def person(site: Site, tmp_path: Path) -> Place:
    """The command line on the records of the site."""
    return Place(tmp_path, CONFIG.format(login=site.lab.login("alice")))


def comment_of(site: Site, number: str) -> str:
    shown = site.lab.text("root", "scontrol", "show", "job", number)
    return next(line.strip()[8:] for line in shown.splitlines() if "Comment=" in line)


def look_alike(site: Site, job: str, comment: str) -> str:
    """Bob submits a job of the same name."""
    words = ["-p", "main", f"--job-name=dj-{job}", f"--comment={comment}", "--wrap", "sleep 300"]
    return site.lab.text("bob", "sbatch", "--parsable", *words)


def state_of(site: Site, number: str) -> str:
    return site.lab.text("root", "squeue", "-h", "-t", "all", "-j", number, "-o", "%T")


def shows_whole(person: Place, job: str) -> None:
    """Every command that tells of a job keeps its manners, and says the same in JSON."""
    for words in (
        ["status", "--all"],
        ["show", job],
        ["show", job, "--why"],
        ["show", job, "--spec"],
    ):
        assert person.run(*words).code == 0
        assert person.run(*words, "--json").code == 0


def starts(site: Site, job: str) -> int:
    return sum(event.intent.verb is Verb.START for event in site.events(job, Intended))


@pytest.mark.parametrize("comment", ["copied", EVIL], ids=["a copied comment", "a hostile comment"])
def test_a_job_of_another_person_under_our_name_is_not_ours(
    comment: str, site: Site, person: Place
) -> None:
    job = site.submit("sh", "-c", "sleep 3")
    before = look_alike(site, job, EVIL)
    site.turn(job)
    number = site.slurm_id(job)
    after = look_alike(site, job, comment_of(site, number) if comment == "copied" else comment)
    view = site.end(job)
    assert view.verdict is not None
    assert view.verdict.state is State.SUCCEEDED
    assert list(view.objects) == [1]
    assert site.events(job, Adopted) == []
    for other in (before, after):
        assert state_of(site, other) in {"RUNNING", "PENDING"}
        assert not any(known.ref.startswith(f"{other}:") for known in view.objects.values())
        site.lab.text("root", "scancel", other)
    shows_whole(person, job)


def test_an_object_that_is_renamed_by_hand_is_not_started_twice(site: Site, person: Place) -> None:
    job = site.submit("true", partition="downp")
    site.until(job, lambda view: explain(view).cause is Cause.NO_CAPACITY)
    number = site.slurm_id(job)
    site.lab.text("alice", "scontrol", "update", f"JobId={number}", f"JobName={EVIL[:60]}")
    for _ in zip(site.driving([job], 60), range(8), strict=False):
        assert site.system.view(job).verdict is None
    assert starts(site, job) == 1
    shows_whole(person, job)
    site.system.ask_stop(job)
    for _ in zip(site.driving([job], 60), range(4), strict=False):
        assert state_of(site, number) == "PENDING"  # it does not carry our name: not ours to end
    site.lab.text("alice", "scontrol", "update", f"JobId={number}", f"JobName=dj-{job}")
    view = site.end(job)
    assert view.verdict is not None
    assert view.verdict.cause is Cause.STOPPED
    assert state_of(site, number) == "CANCELLED"


def test_an_object_whose_comment_is_changed_by_hand_breaks_nothing(
    site: Site, person: Place
) -> None:
    job = site.submit("true", partition="downp")
    site.until(job, lambda view: explain(view).cause is Cause.NO_CAPACITY)
    number = site.slurm_id(job)
    comment = comment_of(site, number)
    site.lab.text("alice", "scontrol", "update", f"JobId={number}", f"Comment={EVIL}")
    for _ in zip(site.driving([job], 60), range(8), strict=False):
        assert site.system.view(job).verdict is None
    assert starts(site, job) == 1
    shows_whole(person, job)
    site.system.ask_stop(job)
    site.lab.text("alice", "scontrol", "update", f"JobId={number}", f"Comment={comment}")
    view = site.end(job)
    assert view.verdict is not None
    assert view.verdict.cause is Cause.STOPPED


def test_a_job_that_runs_under_a_changed_comment_is_not_started_again(
    own: Lab, tmp_path: Path
) -> None:
    """Its records have long had the time to vanish, and its policy would start it again."""
    own.set_conf(MinJobAge="2")
    site = Site(own, tmp_path)
    again = {"when": ["Unknown"], "do": "resubmit", "backoff": {"initial": "1s", "max": "1s"}}
    policy = {"rules": [again], "cessation": {"after": "1s"}}
    job = site.submit("sleep", "15", recovery=policy)
    number = (site.running(job), site.slurm_id(job))[1]
    site.lab.text("alice", "scontrol", "update", f"JobId={number}", "Comment=mine now")
    while state_of(site, number) == "RUNNING":
        next(site.driving([job], 60))
        assert starts(site, job) == 1, site.trace(job)
    site.close()
    own.set_conf(MinJobAge="300")


def test_a_job_that_runs_under_another_name_is_followed_to_its_end(
    own: Lab, tmp_path: Path
) -> None:
    """It is looked for by its id too, so it never counts as vanished, and its policy does not start it again."""
    site = Site(own, tmp_path)
    again = {"when": ["Unknown"], "do": "resubmit", "backoff": {"initial": "1s", "max": "1s"}}
    policy = {"rules": [again], "cessation": {"after": "1s"}}
    job = site.submit("sh", "-c", "sleep 8; exit 3", recovery=policy)
    number = (site.running(job), site.slurm_id(job))[1]
    site.lab.text("alice", "scontrol", "update", f"JobId={number}", "JobName=mine-now")
    view = site.end(job)
    assert starts(site, job) == 1, site.trace(job)
    assert site.events(job, Vanished) == []
    assert view.verdict is not None
    assert (view.verdict.cause, view.verdict.detail.exit_code) == (Cause.NON_ZERO_EXIT, 3)
    site.close()


def test_a_reason_of_an_administrator_is_shown_and_not_obeyed(site: Site, person: Place) -> None:
    lab = site.lab
    job = site.submit("true", slurm={"options": {"nodelist": "n1"}})
    lab.text("root", "scontrol", "update", "NodeName=n1", "State=DRAIN", f"Reason={EVIL}")
    try:
        waits = site.until(job, lambda view: explain(view).cause is Cause.NO_CAPACITY)
        assert explain(waits).state is State.PENDING
        number = site.slurm_id(job)
        lab.text("root", "scontrol", "update", f"JobId={number}", f"AdminComment={EVIL}")
        for _ in zip(site.driving([job], 60), range(4), strict=False):
            assert site.system.view(job).verdict is None
        shows_whole(person, job)
    finally:
        lab.text("root", "scontrol", "update", "NodeName=n1", "State=RESUME")
    view = site.end(job)
    assert view.verdict is not None
    assert view.verdict.state is State.SUCCEEDED


def test_a_name_is_shown_in_tables_and_kept_in_json(site: Site, person: Place) -> None:
    name = "evil\x9b2J\u202e \u2028 end"
    job = site.submit("true", name=name, labels={name: name})
    site.end(job)
    shows_whole(person, job)
    [listed] = person.jobs()
    assert (listed["name"], listed["labels"]) == (name, {name: name})
    assert "evil\\x9b2J\\u202e" in person.run("status", "--all").out


def test_output_is_given_as_it_was_written(site: Site, person: Place) -> None:
    job = site.submit("printf", "\\033[31mred\\377\\n")
    site.end(job)
    said = person.run("logs", job, "--json")
    assert said.documents[0]["text"] == "\x1b[31mred\ufffd\n"


def test_no_shell_has_run_any_of_it(own: Lab) -> None:
    assert list((own.directory / "fs").rglob(CANARY)) == []
    assert not Path(CANARY).exists()
