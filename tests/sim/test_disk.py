"""A disk that fails: nothing is lost by it, and nothing of dispatch dies of it or tells it as a fault of its own."""

from __future__ import annotations

import pytest

from dispatch.adapters.memory import ShapeName
from dispatch.model.errors import StoreError
from dispatch.shell.supervisor import Supervisor
from dispatch.sim import Options, disk, run


@pytest.fixture(autouse=True)
def every_disk_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "SHARE", 1.0)


@pytest.mark.parametrize("shape", list(ShapeName), ids=str)
def test_no_rule_is_broken_on_disks_that_fail(shape: ShapeName) -> None:
    told: list[str] = []
    for seed in range(25):
        outcome = run(seed, Options(shape=shape))
        assert outcome.violation is None, f"{seed}: {outcome.violation}"
        told += [fault for fault in outcome.faults if "#" in fault]
    for how in ("append", "claim", "reschedule"):
        assert any(f" {how} #" in fault and "is refused" in fault for fault in told)
    assert any("append #" in fault and "is there, untold" in fault for fault in told)


def test_a_program_that_dies_of_its_disk_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def dies(self: Supervisor) -> object:
        try:
            return await rounds(self)
        except StoreError as error:
            raise ExceptionGroup("it dies", [error]) from error

    rounds = Supervisor.round
    monkeypatch.setattr(Supervisor, "round", dies)
    violations = [run(seed).violation for seed in range(10)]
    assert any(broken is not None and broken.rule == "fault" for broken in violations)
