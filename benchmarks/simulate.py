# ruff: noqa: INP001  a script
"""Measure what a simulated policy costs: `python benchmarks/simulate.py [--seeds SEEDS] [--days DAYS] [--nodes NODES]`.

One process, so that the processor time is that of the simulation alone; the command itself uses all processors.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

from dispatch.model.answers import Action
from dispatch.model.job import Job
from dispatch.model.policy import Limits, Policy, Rule
from dispatch.model.quantity import Duration
from dispatch.model.status import Cause
from dispatch.whatif.conditions import Conditions, Program
from dispatch.whatif.measures import summarize
from dispatch.whatif.simulating import tallies
from dispatch.whatif.weather import Source


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def job_of(nodes: int) -> Job:
    """A job whose policy goes on for ever, so that every day is simulated."""
    rules = (
        Rule(when=(Cause.PREEMPTED,), do=Action.RESUBMIT),
        Rule(when=(Cause.NODE_LOST,), do=Action.RESUBMIT),
    )
    return Job(command=("train",), nodes=nodes, recovery=Policy(rules=rules, limits=Limits(total=100_000)))  # fmt: skip


def conditions_of(days: int) -> Conditions:
    """Those of the standard example: each node lost once in 30 days, a preemption every six hours."""
    return Conditions(
        sources=(
            Source(cause=Cause.NODE_LOST, mean=Duration(days=30), per_node=True),
            Source(cause=Cause.PREEMPTED, mean=Duration(hours=6)),
        ),
        program=Program(checkpoint_cost=Duration(minutes=1), restart_cost=Duration(minutes=5)),
        horizon=Duration(days=days),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what a simulated policy costs.")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--nodes", type=int, default=128)
    options = parser.parse_args()
    job, conditions = job_of(options.nodes), conditions_of(options.days)
    tallies(job, conditions, [0])  # what is only done once
    began, before = time.process_time(), _memory()
    found = tallies(job, conditions, range(1, options.seeds + 1))
    took, grown = time.process_time() - began, _memory() - before
    executions = sum(one.executions for one in found)
    ratio = summarize(job, found).ettr.mean
    say(
        f"{options.seeds} seeds of {options.days} days on {options.nodes} nodes: {executions} executions, ratio {ratio:.3f}"
    )
    say(
        f"{took:.2f} s of processor time, {took / executions * 1e3:.2f} ms an execution, {grown / 1024:.0f} MB"
    )


def _memory() -> int:
    """The most memory that this process has had, in kB (Linux)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
