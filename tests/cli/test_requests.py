"""Stopping, holding, releasing, waiting: what people ask of jobs that are there."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cli.bench import Bench
from dispatch.cli.exits import Exit
from dispatch.model.errors import Unavailable
from dispatch.model.status import Cause, State


def test_stop_tells_which_of_the_two_it_has_reached(bench: Bench) -> None:
    job = bench.submit()
    said = bench.run("stop", "train", "--why", "wrong data")
    assert said.code == Exit.OK
    assert "is stopped; its end becomes certain" in said.out
    assert bench.view(job).verdict is None
    assert bench.env.live() == ()
    said = bench.run("stop", "train", "--wait", "--json")
    assert said.documents[0]["job"]["state"] == "Cancelled"
    verdict = bench.view(job).verdict
    assert verdict is not None
    assert (verdict.state, verdict.cause) == (State.CANCELLED, Cause.STOPPED)


def test_cancel_is_stop(bench: Bench) -> None:
    bench.submit()
    assert "is stopped" in bench.run("cancel", "train").out


def test_stopping_what_has_ended_is_no_error(bench: Bench) -> None:
    bench.submit()
    bench.run("stop", "train", "--wait")
    said = bench.run("stop", "train")
    assert said.code == Exit.OK
    assert "has ended: Cancelled, Stopped" in said.out


def test_several_jobs_are_stopped_together_each_once(bench: Bench) -> None:
    first, second = bench.submit("--key", "a"), bench.submit("--key", "b")
    said = bench.run("stop", "a", first, "b", "--json")
    assert [document["job"]["id"] for document in said.documents] == [first, second]


def test_nothing_is_asked_for_where_one_name_is_wrong(bench: Bench) -> None:
    job = bench.submit("--key", "a")
    assert bench.run("stop", "a", "nobody").code == Exit.NOT_FOUND
    assert bench.view(job).stop is None


def test_a_stop_is_recorded_although_the_cluster_is_away(bench: Bench) -> None:
    job = bench.submit()
    bench.env.make_unavailable()
    said = bench.run("stop", "train", "--json")
    assert (said.code, said.error["kind"]) == (Exit.UNREACHABLE, "Unavailable")
    assert "The request is recorded" in said.error["what"]
    assert bench.view(job).stop is not None
    bench.env.make_available()
    bench.supervise()
    assert bench.view(job).verdict is not None


def test_a_cluster_that_cannot_be_opened_is_no_end_either(bench: Bench) -> None:
    job = bench.submit()
    bench.refusal = Unavailable("ssh: no route.")
    said = bench.run("stop", "train", "--json")
    assert said.code == Exit.UNREACHABLE
    assert bench.view(job).stop is not None


def test_a_hold_keeps_the_job_and_a_release_lets_it_go(bench: Bench) -> None:
    job = bench.submit()
    said = bench.run("hold", "train", "--why", "maintenance", "--until", "2h", "--json")
    assert said.code == Exit.OK
    assert said.documents[0]["result"].startswith("is held until ")
    assert bench.env.runnable() == ()
    hold = bench.view(job).hold
    assert hold is not None
    assert hold.why == "maintenance"
    assert hold.until is not None
    assert "maintenance" in bench.run("show", "train").out
    assert "is released" in bench.run("release", "train").out
    assert len(bench.env.runnable()) == 1


def test_a_hold_on_a_running_job_is_for_its_next_execution(bench: Bench) -> None:
    job = bench.submit()
    bench.env.run(job)
    bench.supervise()
    assert "is running; it is held before its next execution" in bench.run("hold", "train").out


def test_another_hold_and_a_release_of_none_are_refused(bench: Bench) -> None:
    bench.submit()
    assert bench.run("release", "train", "--json").error["kind"] == "Conflict"
    bench.run("hold", "train")
    assert bench.run("hold", "train").code == Exit.OK  # the same again, as after a kill
    said = bench.run("hold", "train", "--why", "another reason", "--json")
    assert (said.code, said.error["kind"]) == (Exit.REFUSED, "Conflict")


def test_what_has_ended_is_neither_held_nor_released(bench: Bench) -> None:
    bench.submit()
    bench.run("stop", "train", "--wait")
    for verb in ("hold", "release"):
        said = bench.run(verb, "train", "--json")
        assert (said.code, said.error["kind"]) == (Exit.REFUSED, "Finished")


@pytest.mark.parametrize("until", ["2000-01-01", "never", "2h30"])
def test_a_hold_ends_in_the_future(until: str, bench: Bench) -> None:
    job = bench.submit()
    said = bench.run("hold", "train", "--until", until, "--json")
    assert (said.code, said.error["kind"]) == (Exit.USAGE, "Usage")
    assert bench.view(job).hold is None


# ---------------------------------------------------------------- waiting


def test_waiting_gives_the_exit_code_of_the_job(bench: Bench) -> None:
    job = bench.submit()
    bench.clock.after(5, lambda: bench.env.run(job))
    bench.clock.after(60, bench.finish)
    said = bench.run("wait", "train", "--json")
    assert said.code == Exit.OK
    assert [document["event"] for document in said.documents] == [
        "changed",
        "changed",
        "changed",
        "changed",
        "ended",
    ]
    assert bench.run("wait", "train").code == Exit.OK


def test_waiting_for_several_fails_where_one_does(bench: Bench) -> None:
    first, second = bench.submit("--key", "a"), bench.submit("--key", "b")
    for job, code in ((first, 0), (second, 1)):
        bench.env.run(job)
        bench.env.finish(job, code)
    assert bench.run("wait", "a", "b").code == Exit.ENDED_OTHERWISE
    assert bench.run("wait", "a").code == Exit.OK


def test_waiting_gives_up_in_time(bench: Bench) -> None:
    bench.submit()
    before = bench.clock.now()
    said = bench.run("wait", "train", "--timeout", "10m", "--json")
    assert said.code == Exit.TIMED_OUT
    assert said.documents[-1]["event"] == "timedOut"
    assert timedelta(minutes=10) <= bench.clock.now() - before <= timedelta(minutes=11)
