"""What goes wrong, and how often: drawn by the seed, in bursts, each fault under a name of its own."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from dispatch.adapters.memory.faults import Cut, Fault, Refuse
from dispatch.model.errors import Busy, Rejected
from dispatch.sim.climate import MIXED, Climate, only

if TYPE_CHECKING:
    from dispatch.model.answers import Declarations
    from dispatch.sim.chance import Chance, Stream

NEVER = 10**9


class Faults:
    """Which of the faults that the seed draws happen: all, or some by name, until they cease."""

    def __init__(self, only: frozenset[str] | None, *, enabled: bool = True) -> None:
        self.only = only
        self.ceased = not enabled
        self.happened: list[str] = []

    def allow(self, name: str) -> bool:
        """Whether the fault of that name happens now; if so it is noted."""
        if self.ceased or (self.only is not None and name not in self.only):
            return False
        self.happened.append(name)
        return True


class Journey(Struct, frozen=True):
    """The way of one call, in seconds; ``login`` is the node on which its command runs.

    ``again`` is when it lands a second time. ``queued``: how long its command waits on the login node before it begins. ``lost``: no reply comes. ``patient``: where the controller keeps it, the
    caller hears nothing, rather than that the outcome is unknown.
    """

    name: str
    request: float
    landing: float
    reply: float
    login: int = 0
    lost: bool = False
    patient: bool = False
    again: float | None = None
    queued: float = 0.0
    disturbed: Fault | None = None


class Weather:
    """The rates of one seed: calm, or with bursts in which more than half of all calls go wrong."""

    def __init__(
        self,
        chance: Chance,
        faults: Faults,
        storm: timedelta,
        declared: Declarations,
        climate: Climate = MIXED,
    ) -> None:
        self._chance = chance
        self._faults = faults
        self._bound = declared.call_bound.total_seconds()
        self._window = declared.call_window.total_seconds()
        draw = chance.stream("weather")
        self.seconds = storm.total_seconds()
        self._usual = draw.weighed(((0.0, 1.0), (0.03, 2.0), (0.1, 3.0), (0.3, 1.0)))
        self._bursts = [self._burst(draw) for _ in range(draw.whole(0, 4))]
        self.spite = draw.weighed(((0.0, 3.0), (0.03, 2.0), (0.15, 1.0)))
        """How often something happens just when a write has landed or an execution has begun."""
        self._lifetime: float = draw.weighed(((NEVER, 2.0), (300, 2.0), (60, 2.0), (15, 1.0)))
        self._settle(climate)

    def _settle(self, climate: Climate) -> None:
        self._writes = only(_WRITES, climate.writes)
        if climate.rate is not None:
            self._usual, self._bursts = climate.rate, []
        if climate.spite is not None:
            self.spite = climate.spite
        if climate.life is not None:
            self._lifetime = climate.life

    def slow_down(self, bound: timedelta) -> None:
        """Let calls take up to this time to land."""
        self._bound = bound.total_seconds()

    def _burst(self, draw: Stream) -> tuple[float, float]:
        begin = draw.between(0, self.seconds)
        return begin, begin + draw.waiting(120)

    def rate(self, now: float) -> float:
        """The share of calls that go wrong now."""
        for begin, end in self._bursts:
            if begin <= now < end:
                return max(self._usual, 0.6)
        return self._usual

    def fatal_point(self, process: str) -> int:
        """The number of the point at which a process dies."""
        if self._lifetime == NEVER:
            return NEVER
        return 1 + int(self._chance.stream(f"{process}/death").waiting(self._lifetime))

    def write(self, name: str, now: float) -> Journey:
        """Draw the way of a write."""
        draw = self._chance.stream(f"call/{name}")
        request, landing, reply = (draw.between(0.005, most) for most in (0.2, 0.5, 0.2))
        login, patient = draw.whole(0, 1), draw.happens(0.5)
        plain = Journey(name, request, landing, reply, login, patient=patient)
        if draw.unit() >= self.rate(now):
            return plain
        kind = draw.weighed(self._writes)
        bad = self._bad_write(plain, kind, draw)
        return bad if self._faults.allow(f"{name}: {kind}") else plain

    def _bad_write(self, plain: Journey, kind: str, draw: Stream) -> Journey:
        request, landing, reply = plain.request, plain.landing, plain.reply
        lost, again, queued = False, None, 0.0
        disturbed: Fault | None = None
        match kind:
            case "sent late":
                request = draw.between(0, 2 * self._window)
            case "begins late":
                queued = draw.between(0, 10 * self._window)
            case "lands late":
                landing = draw.between(0, 0.99 * self._bound)
            case "lands late, unheard":
                landing, lost = draw.between(0, 0.99 * self._bound), True
            case "sent and lands late, unheard":
                request = draw.between(0.5, 1) * self._window
                landing, lost = draw.between(0.5, 0.99) * self._bound, True
            case "reply late":
                reply = draw.between(0, 60)
            case "reply lost":
                lost = True
            case "lands twice":
                again = draw.between(0, 0.99 * self._bound)
            case "cut short":
                disturbed = Cut(1)
            case "refused for good":
                disturbed = Refuse(Rejected("The scheduler refuses it."))
            case _:
                disturbed = Refuse(Busy("The scheduler takes no more for now."))
        return Journey(
            plain.name, request, landing, reply, plain.login, lost=lost, again=again,
            queued=queued, patient=plain.patient, disturbed=disturbed,
        )  # fmt: skip

    def read(self, name: str, now: float) -> Journey:
        """Draw the way of a read; ``lost`` means that it is not answered."""
        draw = self._chance.stream(f"call/{name}")
        request, reply, login = draw.between(0.005, 0.2), draw.between(0.005, 0.3), draw.whole(0, 1)
        plain = Journey(name, request, 0.0, reply, login)
        if draw.unit() >= self.rate(now):
            return plain
        kind = draw.weighed((("sent late", 1.0), ("answered late", 2.0), ("not answered", 1.0)))
        long = draw.between(0, 90)
        if not self._faults.allow(f"{name}: {kind}"):
            return plain
        if kind == "sent late":
            return Journey(name, long, 0.0, reply, login)
        return Journey(name, request, 0.0, long, login, lost=kind == "not answered")


_WRITES: tuple[tuple[str, float], ...] = (
    ("sent late", 1.0),
    ("begins late", 1.0),
    ("lands late", 2.0),
    ("lands late, unheard", 2.0),
    ("sent and lands late, unheard", 1.0),
    ("reply late", 2.0),
    ("reply lost", 2.0),
    ("lands twice", 1.0),
    ("cut short", 1.0),
    ("refused for now", 1.0),
    ("refused for good", 0.1),
)
