"""A request that is recorded while a round is under way is not slept over because of that round."""

from __future__ import annotations

from datetime import timedelta

from crash.exploring import Plan, Telling
from crash.site import Process, Records
from crash.stories import BY_NAME
from dispatch.model.journal import StopAsked
from dispatch.testing.faults import Fault, Pause, Points


def test_a_stop_that_is_asked_for_while_a_round_ends_is_seen_long_before_the_backoff_ends(
    records: Records,
) -> None:
    story = BY_NAME["stopped while backing off"]
    names = told(records).lives[0].passed
    # The last time that the job is rescheduled before the stop: to the end of its backoff, an hour away.
    stop = names.index("append StopAsked, before")
    last = stop - 1 - names[:stop][::-1].index("reschedule, before")

    def asked_meanwhile(telling: Telling) -> Fault:
        def ask() -> None:
            other = Process(telling.site, "host2", Points())
            other.operator.ask_stop(telling.tale.job)  # and the person's process is gone

        return Pause(lambda: telling.site.elsewhere(ask))

    telling = Telling(story, records, Plan("asked meanwhile", (last, asked_meanwhile)), Process)
    telling.tell()
    assert telling.failure() is None
    history = telling.site.history(telling.tale.job)
    asked = next(entry.at for entry in history if isinstance(entry.event, StopAsked))
    assert history[-1].at - asked < timedelta(minutes=5)


def told(records: Records) -> Telling:
    """The story, without faults."""
    telling = Telling(BY_NAME["stopped while backing off"], records, Plan("no fault"), Process)
    telling.tell()
    return telling
