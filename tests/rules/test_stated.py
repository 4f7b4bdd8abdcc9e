"""Rules that no other suite states in so many words (12)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dispatch.adapters.memory.backend import MemoryBackend
from dispatch.adapters.memory.settings import decode_settings
from dispatch.model.answers import Declarations
from dispatch.model.errors import Busy
from dispatch.model.journal import Intended, Intent, Verb
from dispatch.model.quantity import Duration
from dispatch.shell.driving import Until, has_reached
from shell.world import World, ended, opened, run


def test_another_cluster_behind_the_alias_is_refused_for_that_job(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    job = world.submit()
    other = MemoryBackend.create(
        decode_settings({"clusterName": "another"}), clock=world.clock, alias="c"
    )
    world.process.clusters.named("c").use(other)
    world.advance(job)
    assert world.verbs(job) == []
    assert "accepted for the cluster 'memory'" in caplog.text


class Hasty(MemoryBackend):
    """A cluster that declares much shorter bounds than when the job was accepted."""

    @property
    def declarations(self) -> Declarations:
        short = Duration(seconds=1)
        return Declarations(call_bound=short, call_window=short, clock_skew=Duration())


def test_the_bounds_of_the_header_rule_whatever_the_cluster_declares_since(world: World) -> None:
    job = world.submit()
    declared = world.view(job).header.declarations
    world.behave(Hasty)
    deadline = world.clock.now() + timedelta(seconds=30)
    intent = Intent(
        id="i", verb=Verb.START, submission=1, deadline=deadline, boot="b", attempt="a", base=4_000_000_000,
    )  # fmt: skip
    assert world.process.ledger.append(world.view(job), (Intended(intent=intent),))
    (standing,) = run(world.process.clusters.advance("c", [job])).values()
    assert standing.until is not None
    assert standing.until - deadline >= declared.call_bound + declared.clock_skew


def test_a_start_that_is_made_again_has_a_new_attempt(world: World) -> None:
    job = world.submit()
    world.env.refuse_next(Busy("The queue is full."))
    world.until(job, opened)
    first, second = [
        event.intent
        for event in world.events(job)
        if isinstance(event, Intended) and event.intent.verb is Verb.START
    ]
    assert first.submission == second.submission == 1
    assert first.attempt != second.attempt


def test_a_stop_is_acknowledged_when_it_is_true_and_not_before(world: World) -> None:
    job = world.submit()
    world.until(job, opened)
    world.process.operator.ask_stop(job)
    assert not has_reached(world.view(job), Until.ACKNOWLEDGED)
    assert has_reached(world.until(job, ended), Until.ACKNOWLEDGED)
