"""Submitting: from files to the queue, and to the end."""

from __future__ import annotations

import pytest

from cli.bench import JOB, Bench
from dispatch.cli.exits import Exit
from dispatch.model.errors import Busy, Rejected, Unavailable
from dispatch.model.status import Cause, State
from dispatch.model.view import Phase


def test_a_job_is_accepted_and_opened(bench: Bench) -> None:
    said = bench.run("submit", "train.yaml")
    assert said.code == Exit.OK, said
    first, second = said.out.splitlines()
    name, job, word = first.split()
    assert (name, word) == ("train", "accepted")
    assert second.startswith(f"train {job} ")
    current = bench.view(job).current
    assert current is not None
    assert current.phase is Phase.OPEN
    assert "dispatch supervise" in said.err


def test_every_step_is_a_document(bench: Bench) -> None:
    said = bench.run("submit", "train.yaml", "--json")
    accepted, opened = said.documents
    assert (accepted["schemaVersion"], accepted["event"], accepted["created"]) == (
        1,
        "accepted",
        True,
    )
    assert (opened["event"], opened["job"]["state"]) == ("opened", "Pending")
    assert opened["job"]["acceptedAt"].endswith("Z")


def test_the_same_key_gives_the_same_job(bench: Bench) -> None:
    first = bench.submit("--key", "k1")
    assert bench.submit("--key", "k1") == first
    said = bench.run("submit", "train.yaml", "--key", "k1", "--json")
    assert said.documents[0]["created"] is False
    other = bench.run(
        "submit", bench.write("b.yaml", JOB + "exclusive: true\n"), "--key", "k1", "--json"
    )
    assert (other.code, other.error["kind"]) == (Exit.REFUSED, "Conflict")


def test_waiting_runs_the_job_to_its_end(bench: Bench) -> None:
    bench.clock.after(3, bench.env.run_all)
    bench.clock.after(60, bench.finish)
    said = bench.run("submit", "train.yaml", "--wait", "--json")
    assert said.code == Exit.OK, said
    assert [document["event"] for document in said.documents][-1] == "ended"
    assert said.documents[-1]["job"]["state"] == "Succeeded"


def test_the_exit_code_tells_that_a_job_failed(bench: Bench) -> None:
    bench.clock.after(3, bench.env.run_all)
    bench.clock.after(60, lambda: bench.finish(3))
    said = bench.run("submit", "train.yaml", "--wait")
    assert said.code == Exit.ENDED_OTHERWISE
    assert "NonZeroExit (exit code 3" in said.out.splitlines()[-1]


def test_a_preempted_job_is_recovered_while_it_is_waited_for(bench: Bench) -> None:
    bench.clock.after(3, bench.env.run_all)
    bench.clock.after(30, bench.preempt)
    for seconds in range(60, 400, 10):
        bench.clock.after(seconds, bench.env.run_all)
    bench.clock.after(500, bench.finish)
    said = bench.run("submit", bench.write("s.yaml", JOB + "recovery: spot\n"), "--wait", "--json")
    assert said.code == Exit.OK, said
    assert said.documents[-1]["job"]["submission"] == 2
    causes = [document["job"]["cause"] for document in said.documents]
    assert "Preempted" in causes
    assert "BackingOff" in causes


def test_waiting_ends_with_its_time(bench: Bench) -> None:
    said = bench.run("submit", "train.yaml", "--wait", "--timeout", "2m", "--json")
    assert said.code == Exit.TIMED_OUT
    assert said.documents[-1]["event"] == "timedOut"


def test_several_files_are_submitted_in_order(bench: Bench) -> None:
    names = [
        bench.write(f"{name}.yaml", f"name: {name}\ncommand: [x]\n") for name in ("a", "b", "c")
    ]
    said = bench.run("submit", *names, "--json")
    accepted = [
        document["job"]["name"] for document in said.documents if document["event"] == "accepted"
    ]
    assert accepted == ["a", "b", "c"]
    assert bench.opened == 1


def test_nothing_is_submitted_where_one_file_is_wrong(bench: Bench) -> None:
    wrong = bench.write("b.yaml", "nodes: 0\n")
    worse = bench.write("c.yaml", "command: [x]\nlauncher: x\n")
    said = bench.run("submit", "train.yaml", wrong, worse, "away.yaml", "--json")
    assert (said.code, said.error["kind"]) == (Exit.USAGE, "Invalid")
    assert [fault["path"] for fault in said.error["faults"]] == [
        "b.yaml: nodes",
        "b.yaml: command",
        "c.yaml: launcher",
    ]
    assert "There is no file away.yaml" in said.error["what"]
    assert bench.run("status", "--json").documents[0]["jobs"] == []


def test_every_fault_of_a_file_is_told_with_its_line(bench: Bench) -> None:
    said = bench.run("submit", bench.write("b.yaml", 'command: [x]\nnodes: "16"\nworker: 3\n'))
    assert said.code == Exit.USAGE
    assert said.err.splitlines()[0] == "error: b.yaml has 2 faults."
    assert "  line 2, nodes" in said.err
    assert "  line 3, worker" in said.err


def test_a_refused_plan_tells_every_reason(bench: Bench) -> None:
    text = JOB + "matrix: {lr: [1]}\nafter: [{job: x}]\n"
    said = bench.run("submit", bench.write("b.yaml", text), "--json")
    assert (said.code, said.error["kind"]) == (Exit.REFUSED, "Refused")
    assert len(said.error["reasons"]) == 2
    both = bench.run("plan", "b.yaml", "b.yaml", "--json")
    assert len(both.error["reasons"]) == 4


def test_nothing_is_submitted_where_one_plan_is_refused(bench: Bench) -> None:
    refused = bench.write("b.yaml", JOB + "matrix: {lr: [1]}\n")
    assert bench.run("submit", "train.yaml", refused).code == Exit.REFUSED
    assert bench.run("status", "--all", "--json").documents[0]["jobs"] == []


def test_a_dry_run_submits_nothing(bench: Bench) -> None:
    text = JOB + "recovery: spot\n"
    dry = bench.run("submit", bench.write("b.yaml", text), "--dry-run", "--json")
    plan = bench.run("plan", "b.yaml", "--json")
    assert dry == plan
    [document] = plan.documents
    assert document["plan"]["rules"][0]["action"] == "resubmit"
    assert bench.run("status", "--all", "--json").documents[0]["jobs"] == []
    assert "1. Preempted: resubmit, by the supervisor" in bench.run("plan", "b.yaml").out


@pytest.mark.parametrize(
    "words",
    [("--key", "k", "a.yaml", "b.yaml"), ("-", "a.yaml"), (), ("a.yaml", "--timeout", "5m")],
)
def test_words_that_do_not_fit_together_are_refused(words: tuple[str, ...], bench: Bench) -> None:
    said = bench.run("submit", *words, "--json")
    assert (said.code, said.error["kind"]) == (Exit.USAGE, "Usage")


def test_an_unknown_cluster_lists_the_known(bench: Bench) -> None:
    said = bench.run("submit", "train.yaml", "--cluster", "d", "--json")
    assert said.code == Exit.USAGE
    assert "known: c; read from dispatch.toml" in said.error["what"]


def test_an_unreachable_cluster_accepts_nothing(bench: Bench) -> None:
    bench.refusal = Unavailable("ssh login1: connection refused.", todo="Try again later.")
    said = bench.run("submit", "train.yaml", "--json")
    assert (said.code, said.error["kind"]) == (Exit.UNREACHABLE, "Unavailable")
    assert bench.run("status", "--all", "--json").documents[0]["jobs"] == []


def test_a_cluster_that_goes_away_keeps_the_job_recorded(bench: Bench) -> None:
    bench.env.make_unavailable()
    said = bench.run("submit", "train.yaml", "--json")
    assert (said.code, said.error["kind"]) == (Exit.UNREACHABLE, "Unavailable")
    assert "The job is accepted" in said.error["what"]
    [job] = bench.run("status", "--json").documents[0]["jobs"]
    assert job["state"] == "Pending"


def test_a_refusal_of_the_scheduler_is_the_jobs_end(bench: Bench) -> None:
    bench.env.refuse_next(Rejected("sbatch: invalid account"))
    said = bench.run("submit", "train.yaml")
    assert said.code == Exit.REFUSED
    job = said.out.split()[1]
    verdict = bench.view(job).verdict
    assert verdict is not None
    assert (verdict.state, verdict.cause) == (State.FAILED, Cause.REJECTED)


def test_a_busy_scheduler_is_tried_again(bench: Bench) -> None:
    bench.env.refuse_next(Busy("too many jobs"))
    said = bench.run("submit", "train.yaml", "--json")
    assert said.code == Exit.OK
    assert said.documents[-1]["event"] == "opened"


def test_a_lost_reply_is_read_back_and_not_repeated(bench: Bench) -> None:
    bench.env.drop_next_reply()
    job = bench.submit()
    bench.run("wait", job, "--timeout", "5m")
    assert len(bench.env.truths(job)) == 1
    current = bench.view(job).current
    assert current is not None
    assert current.phase is Phase.OPEN
