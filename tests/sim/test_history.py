"""What a rule may look at: the events of a record, and what the record as it stands has read."""

from __future__ import annotations

from core.builders import ended, entry, opened, read
from dispatch.sim.history import History
from dispatch.sim.invariants import MOST_SKEW
from dispatch.testing.clock import START


def test_what_is_recorded_is_what_the_record_as_it_was_set_back_has_read() -> None:
    # A record that is set back twice may stand in its first past again, which met another object (seed 57916).
    history = History("job", "j1", MOST_SKEW)
    first = [entry(number, event) for number, event in enumerate((*opened(), read(ended())), 1)]
    for one in first:
        history.write(one, START)
    history.write(entry(len(first) + 1, read(ended(ref="twin"))), START)
    assert history.recorded[1].ref == "twin"
    history.rewind(first)
    assert history.recorded[1].ref == "ref-1"
    assert history.set_back == [history.length]
