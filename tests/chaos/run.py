"""A chaos run: a stream of submitters, two supervisors, and everything that can happen to them.

``python -m chaos.run --jobs 300 --seed 7`` is the large one; `python3 dev.py chaos` calls it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue

from chaos.fates import HELD_NODE, VICTIMS, Fate, Plan, make_plans
from chaos.faults import KILLABLE_NODES, SUPERVISORS, Injector
from chaos.judge import Deed, Evidence, judge
from chaos.report import Report, make_report
from chaos.schedule import make_aims, make_schedule
from chaos.site import OPTIONS, Site
from lab import Lab, Options

SECONDS_PER_JOB = 1.7
SUBMITTERS = 12
SUBMITTING = 0.7
"""The part of the time in which jobs are submitted."""

SETTLING = 210.0
"""Seconds from the last fault within which every job must have its verdict; of very many, each adds to it."""


class Run:
    """One run on one cluster."""

    def __init__(self, lab: Lab, place: Path, *, jobs: int, seed: int) -> None:
        self.site = Site(lab, place)
        self.seed = seed
        self.plans = make_plans(seed, jobs)
        self.length = max(60.0, jobs * SECONDS_PER_JOB)
        self.injector = Injector(self.site, seed, make_aims(jobs))
        self.jobs: dict[str, str] = {}
        """Of each key, the job that was printed."""

    def go(self) -> Report:
        """Do everything, and judge it."""
        begin = time.time()
        try:
            self._prepare()
            self._disturb(begin)
            self._settle()
            evidence = self._evidence()
        finally:
            self.site.over.set()
            self.site.close()
        findings = judge(evidence)
        return make_report(
            evidence,
            findings,
            seed=self.seed,
            seconds=time.time() - begin,
            troubles=self.injector.troubles,
        )

    def _prepare(self) -> None:
        for plan in self.plans:
            self.site.write_job(plan.key, plan.document())
        # Another user has what the jobs wait for that are to be held.
        minutes = str(int(self.length / 60) + 2)
        self.site.lab.text(
            "bob", "sbatch", "-p", "high", "-w", HELD_NODE, "--gres=gpu:8", "-t", minutes,
            "-o", "/dev/null", "-J", "blocker", "--wrap", f"sleep {int(self.length * 0.6)}",
        )  # fmt: skip

    def _disturb(self, begin: float) -> None:
        """Submit and strike until the time is up and every job was submitted."""
        injector = self.injector
        schedule = make_schedule(
            self.seed, self.length, supervisors=SUPERVISORS, nodes=KILLABLE_NODES
        )
        following = [
            injector.apart(injector.keep_supervisors),
            injector.apart(injector.aim),
        ]
        scheduled = injector.apart(lambda: injector.follow(schedule, begin))
        waiting: SimpleQueue[tuple[float, Plan]] = SimpleQueue()
        for number, plan in enumerate(self.plans):
            waiting.put((begin + number * SUBMITTING * self.length / len(self.plans), plan))
        with ThreadPoolExecutor(SUBMITTERS) as pool:
            submitting = [pool.submit(self._submit_all, waiting) for _ in range(SUBMITTERS)]
            struck: set[str] = set()
            while not all(one.done() for one in submitting) or time.time() < begin + self.length:
                self._strike(struck)
                self.site.wait_for(0.2)
            for one in submitting:
                one.result()
        scheduled.join()
        self._strike_the_rest(struck)
        assert all(thread.is_alive() for thread in following), injector.troubles

    # --- submitting

    def _submit_all(self, waiting: SimpleQueue[tuple[float, Plan]]) -> None:
        while not self.site.over.is_set():
            try:
                due, plan = waiting.get_nowait()
            except Empty:
                return
            self.site.wait_for(max(0, due - time.time()))
            self._submit(plan)

    def _submit(self, plan: Plan) -> None:
        """Submit one job; where the process is killed, the same again with the same key."""
        words = ("submit", "--json", "--key", plan.key, f"{plan.key}.json")
        interruptions = list(plan.interruptions)
        out = self.site.place / f"{plan.key}.out"
        while True:
            process = self.site.begin(f"submit-{plan.key}", *words, out=out)
            if interruptions:
                interruption = interruptions.pop(0)
                self._await(process, interruption.after)
                if interruption.pause is not None:
                    self.injector.pause(process, interruption.pause)
                elif process.poll() is None:
                    self.injector.kill(process.pid)
            code = process.wait(120)
            # A cluster that is away for too long is an answer too; a person then waits for a supervisor.
            printed = _printed(out)
            if code >= 0 and printed:
                self.jobs[plan.key] = printed[-1]
                if plan.fate in (Fate.HELD, Fate.USER_HELD):
                    self._hold(plan)
                return
            self.site.wait_for(0.5)

    def _await(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        """Wait for the end of a process, no longer than so many seconds."""
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)

    def _hold(self, plan: Plan) -> None:
        seconds = 6.0 + plan.seconds * self.length / 20
        job = self.jobs[plan.key]
        if plan.fate is Fate.HELD:
            self.injector.apart(lambda: self.injector.hold(plan.key, job, seconds))
        else:
            self.injector.apart(lambda: self.injector.user_hold(plan.key, job, 5))

    # --- striking

    def _strike(self, struck: set[str]) -> None:
        """Do to each running victim what its fate is, once."""
        for plan in self.plans:
            if plan.fate not in VICTIMS or plan.key in struck or plan.key not in self.jobs:
                continue
            lines = self.site.told(plan.key)
            starts = [line for line in lines if line.what == "start"]
            # A moment later, so that some are seen running before and some are not.
            if starts and time.time() - starts[-1].at > int(plan.key[1:]) % 4 * 0.7:
                struck.add(plan.key)
                (self.site.proofs / plan.key / "struck").touch()
                self._strike_one(plan, starts[-1].node, starts[-1].number)

    def _strike_one(self, plan: Plan, node: str, number: str) -> None:
        injector, key = self.injector, plan.key
        match plan.fate:
            case Fate.PREEMPTED:
                injector.apart(lambda: injector.preempt(key, node))
            case Fate.NODE_KILLED if node != "n8":
                away = 1.0 if int(key[1:]) % 2 else 15.0
                injector.apart(lambda: injector.kill_node(node, away))
            case Fate.CANCELLED:
                injector.apart(lambda: injector.cancel(key, self.jobs[key], number))
            case Fate.STOPPED:
                injector.apart(lambda: injector.stop(key))
            case _:
                pass

    def _strike_the_rest(self, struck: set[str]) -> None:
        """A victim that did not run in time runs as if it had been struck."""
        for plan in self.plans:
            if plan.fate in VICTIMS and plan.key not in struck:
                (self.site.proofs / plan.key / "struck").touch()

    # --- the end

    def _settle(self) -> None:
        """Wait until every job has its verdict, and nothing of ours lives; no longer than is bounded.

        What is aimed at a call strikes when there is such a call, as often as it was to: perhaps now only, and one job alone.
        """
        begin = time.time()
        # Within BatchStartTimeout of its own start a controller does not heed what a node tells.
        self.site.wait_for(16)
        self.injector.boot_all()
        while time.time() < self._patience(begin) and not self._settled():
            self._release_what_was_forgotten()
            self.site.wait_for(2)

    def _patience(self, begin: float) -> float:
        """Until when is waited: so long from the begin of the wait, or from the last process that was killed."""
        last = max((killed.at for killed in self.injector.killed), default=begin)
        return max(begin, last) + max(SETTLING, SECONDS_PER_JOB * len(self.plans))

    def _release_what_was_forgotten(self) -> None:
        """Release again what its owner has released: a controller that was killed may have forgotten that."""
        released = {
            self.jobs[deed.key] for deed in self.injector.done if deed.deed is Deed.USER_HELD
        }
        for one in self.site.living():
            if one.job in released and one.state == "PENDING":
                self.site.insist("alice", "scontrol", "release", one.number)

    def _settled(self) -> bool:
        records = self.site.records()
        return (
            len(records) >= len(self.plans)
            and all(record.verdict for record in records)
            and not self.site.living()
        )

    def _evidence(self) -> Evidence:
        printed = [
            (plan.key, job)
            for plan in self.plans
            for job in _printed(self.site.place / f"{plan.key}.out")
        ]
        return Evidence(
            fates={plan.key: plan.fate for plan in self.plans},
            printed=tuple(dict.fromkeys(printed)),
            records=self.site.records(),
            told={
                plan.key: (
                    *self.site.told(plan.key),
                    *self.site.overs(self.jobs.get(plan.key, "-")),
                )
                for plan in self.plans
            },
            done=tuple(self.injector.done),
            living=self.site.living(),
            killed=tuple(self.injector.killed),
        )


def _printed(out: Path) -> list[str]:
    """The jobs that ``submit`` said it has accepted."""
    lines = out.read_text().splitlines() if out.exists() else []
    documents = [json.loads(line) for line in lines if line.endswith("}")]
    return [one["job"]["id"] for one in documents if one.get("event") == "accepted"]


def save(report: Report, failures: Path) -> Path:
    """Keep the report as JSON, and say where."""
    failures.mkdir(parents=True, exist_ok=True)
    path = failures / f"chaos-{report.seed}-{report.jobs}.json"
    path.write_text(report.as_json())
    return path


def main() -> int:
    """Run it, print the report, and say by the exit code whether all was well."""
    parser = argparse.ArgumentParser(prog="dev.py chaos", description=__doc__)
    parser.add_argument("--jobs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="a directory for records and logs")
    given = parser.parse_args()
    place = given.keep or Path(tempfile.mkdtemp(prefix="dispatch-chaos-"))
    place.mkdir(parents=True, exist_ok=True)
    with Lab.up(f"chaos-{os.getpid()}", Options(**OPTIONS), owner=os.getpid()) as lab:
        run = Run(lab, place, jobs=given.jobs, seed=given.seed)
        report = run.go()
        lab.save_logs(place / "slurm")
    sys.stdout.write(f"{report.as_text()}\nrecords and logs: {place}; {save(report, place)}\n")
    return 1 if report.findings or report.killed_inside < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
