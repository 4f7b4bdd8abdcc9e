"""The simulator's records keep what every store keeps."""

from __future__ import annotations

import pytest

from dispatch.conformance import OpenStore
from dispatch.conformance.pytest import store_suite
from dispatch.model.epoch import ulid
from dispatch.sim.records import Records, RecordsStore

test_the_simulated_records_pass = store_suite()


@pytest.fixture
def open_store() -> OpenStore:
    records = Records(ulid(0, bytes(10)))
    return lambda: RecordsStore(records)
