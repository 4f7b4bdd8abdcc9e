"""What befalls the cluster and the hosts at moments of their own, and how all of it is made good again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, assert_never

from msgspec.structs import replace

from dispatch.adapters.memory import Relaunch
from dispatch.model.errors import DispatchError
from dispatch.model.quantity import Duration
from dispatch.sim.pausing import pause_one
from dispatch.sim.scenario import Kind
from dispatch.sim.upgrading import upgrade_all, upgrade_one
from dispatch.sim.waiting import stop_and_wait

if TYPE_CHECKING:
    from dispatch.adapters.memory.records import WorldObject
    from dispatch.sim.chance import Stream
    from dispatch.sim.records import Backup
    from dispatch.sim.site import Site


@dataclass(frozen=True)
class Act:
    """Something that befalls the site: ``do`` it with numbers of its own."""

    name: str
    weight: float
    do: Callable[[Site, Stream], None]


def plan(site: Site) -> None:
    """Draw what befalls the site, and when: some kinds never, others often, and now and then all at once."""
    draw = site.chance.stream("acts")
    kinds = [act for act in ACTS if draw.happens(0.5)]
    count = draw.weighed(((0, 1.0), (2, 2.0), (5, 3.0), (12, 1.0)))
    if settled := site.options.climate.acts:
        kinds, count = _named(settled), 12
    crowded = draw.between(0, site.weather.seconds) if draw.happens(0.4) else None
    for number in range(count if kinds else 0):
        own = site.chance.stream(f"act {number}")
        act = own.weighed([(act, act.weight) for act in kinds])
        at = own.between(0, site.weather.seconds)
        if crowded is not None:
            at = crowded + own.waiting(40)
        name = f"act {number}: {act.name}"
        site.loop.call_later(at, _befall, site, act, name, own)
    for act, probability in APART:
        own = site.chance.stream(act.name)
        if own.happens(probability):
            at = own.between(0, site.weather.seconds)
            site.loop.call_later(at, _befall, site, act, act.name, own)


def _befall(site: Site, act: Act, name: str, draw: Stream) -> None:
    if not site.faults.allow(name):
        return
    site.step("cluster", name)
    with suppress(DispatchError):
        act.do(site, draw)
    site.begun()
    site.scheduler.stir()


# --- the controller and the way to it


def _go_away(site: Site, draw: Stream) -> None:
    site.env.make_unavailable(timedelta(seconds=draw.waiting(240)))


def _hang(site: Site, draw: Stream) -> None:
    site.env.hang()
    reverse, wait = draw.happens(0.5), draw.waiting(90)
    lag = draw.between(0, 0.99) if draw.happens(0.4) else 0.0
    site.loop.call_later(wait, _resume, site, reverse, lag)


def _hang_a_minute(site: Site, draw: Stream) -> None:
    """Hang for about as long as a write waits to be settled, and work off slowly what was sent meanwhile."""
    site.env.hang()
    site.loop.call_later(draw.between(45, 75), _resume, site, False, draw.between(0.5, 0.99))


def _resume(site: Site, reverse: bool, lag: float = 0.0) -> None:  # noqa: FBT001 - a timer passes no keywords
    if site.world.hung:
        site.step("cluster", "resumes")
        if lag:
            _keep_for_later(site, lag * site.settings.call_bound.total_seconds())
        with site.watched_all():
            site.env.resume(reverse=reverse)
        site.begun()


def _keep_for_later(site: Site, lag: float) -> None:
    """Let some of what it was sent have its effect within a call bound only, while it answers reads again (12, R2)."""
    world, boot = site.world, site.world.boot
    world.backlog, kept = world.backlog[1::2], world.backlog[::2]

    def land(action: Callable[[], None]) -> None:
        if world.up and world.boot == boot:
            # What is in service is finished, though the controller may hang again: two reads a call bound apart prove that.
            hung, world.hung = world.hung, False
            with site.watched_all():
                action()
            world.hung = hung
            site.begun()

    for action in kept:
        site.loop.call_later(lag, land, action)


def _crash(site: Site, draw: Stream) -> None:
    window = site.settings.save_window.total_seconds()
    lost = timedelta(seconds=draw.between(0, window)) if not site.world.shape.durable else None
    site.env.crash(lost, partly=draw.happens(0.4))
    site.forget()
    relaunch = draw.pick(tuple(Relaunch))
    site.loop.call_later(draw.waiting(20), _reboot, site, relaunch)


def _reboot(site: Site, relaunch: Relaunch) -> None:
    if not site.world.up:
        site.step("cluster", "the controller is up again")
        site.env.reboot(relaunch=relaunch)
        for seconds in (2.1, 4.1, 6.1):  # what follows from the registration of the nodes
            site.loop.call_later(seconds, site.begun)


def _restart(site: Site, draw: Stream) -> None:
    if site.world.up:
        site.env.reboot(relaunch=draw.pick(tuple(Relaunch)))
        site.forget()


def _shrink(site: Site, draw: Stream) -> None:
    site.env.set_capacity(draw.whole(0, 1))
    site.loop.call_later(draw.waiting(300), site.env.set_capacity, None)


# --- nodes


def _lose_node(site: Site, draw: Stream) -> None:
    site.lose_node(draw.pick(list(site.world.machines.nodes)), draw)


# --- other people


def _some(site: Site, draw: Stream) -> WorldObject | None:
    queue = [item for item in site.world.queue.values() if site.knows(item.order.id)]
    return draw.pick(queue) if queue else None


def _on_some(do: Callable[[Site, str, Stream], object]) -> Callable[[Site, Stream], None]:
    def act(site: Site, draw: Stream) -> None:
        if (item := _some(site, draw)) is not None:
            do(site, site.world.shape.ref(item), draw)

    return act


def _hold_as_admin(site: Site, ref: str, draw: Stream) -> None:
    site.env.admin_hold(ref)
    site.loop.call_later(draw.waiting(300), _release, site, site.env.admin_release, ref)


def _hold_by_hand(site: Site, ref: str, draw: Stream) -> None:
    site.env.person_hold(ref)
    site.loop.call_later(draw.waiting(300), _release, site, site.env.person_release, ref)


def _release(site: Site, do: Callable[[str], object], ref: str) -> None:
    with suppress(DispatchError):
        do(ref)
    site.begun()


def _release_by_hand(site: Site, ref: str, _: Stream) -> None:
    _release(site, site.env.person_release, ref)


def _open_by_hand(site: Site, ref: str, _: Stream) -> None:
    site.history_of(site.world.named(ref)).opened_by_hand.add(ref)
    site.env.person_release(ref)
    site.env.person_begin(ref, None)


def _purge(site: Site, ref: str, _: Stream) -> None:
    site.env.purge_now(ref)


def _cancel(site: Site, ref: str, draw: Stream) -> None:
    site.env.cancel(ref, who=draw.pick(("owner", "root", "bob")))
    item = site.world.named(ref)
    if item.record.cancelled_by is not None:  # what had ended before cannot be cancelled any more
        site.history_of(item).cancelled.add(ref)


# --- the hosts


def _kill_one(site: Site, draw: Stream) -> None:
    if site.processes:
        draw.pick(site.processes).die()


def _cut_power(site: Site, draw: Stream) -> None:
    for process in list(site.processes):
        process.die()
    for records in site.stores:
        records.cut_power(draw)
    site.check_promises()


def _back_up(site: Site, draw: Stream) -> None:
    backup = site.records.back_up()
    site.loop.call_later(draw.waiting(400), _set_back, site, backup)


def _set_back(site: Site, backup: Backup) -> None:
    """A person stops what runs on the records, and puts an older copy in their place."""
    if site.faults.ceased:
        return
    site.step("cluster", "the records are set back")
    for process in list(site.processes):
        if process.records is site.records:
            process.die()
    site.records.restore(backup)
    for job, history in site.histories.items():
        if site.others is None or job not in site.others.jobs:
            kept = site.records.jobs.get(job)
            history.rewind(kept.entries if kept else ())


def _grow_the_bounds(site: Site, draw: Stream) -> None:
    grown = site.declared.call_bound + timedelta(seconds=draw.whole(1, 20))
    site.declared = replace(site.declared, call_bound=Duration(seconds=grown.total_seconds()))


def _ask_for_more_reads(site: Site, _: Stream) -> None:
    site.declared = replace(site.declared, settling_reads=3)


def _slow_down(site: Site, draw: Stream) -> None:
    """From now on a call takes longer; whoever uses the cluster is started anew, and told so (12, T5)."""
    longer = Duration(seconds=draw.whole(40, 100))
    if longer <= site.settings.call_bound:
        return
    for process in list(site.processes):
        process.die()
    site.settings = site.world.settings = replace(site.settings, call_bound=longer)
    site.declared = replace(site.declared, call_bound=max(longer, site.declared.call_bound))
    site.weather.slow_down(longer)


def _mislead(site: Site, draw: Stream) -> None:
    """Let a supervisor be started anew with a configuration in which another cluster has the alias (12, T2)."""
    supervisors = [process for process in site.processes if process.is_supervisor]
    if supervisors:
        process = draw.pick(supervisors)
        site.misled.add(process.life_of)
        process.die()


def _put_right(site: Site) -> None:
    for process in list(site.processes):
        if process.life_of in site.misled:
            process.die()
    site.misled.clear()


def _set_a_clock(site: Site, draw: Stream) -> None:
    draw.pick(site.clocks).offset = site.offset(draw)


ACTS: tuple[Act, ...] = (
    Act("the cluster is away", 2.0, _go_away),
    Act("the controller hangs", 2.0, _hang),
    Act("the controller crashes", 3.0, _crash),
    Act("the controller restarts", 1.0, _restart),
    Act("fewer may run", 1.0, _shrink),
    Act("a node is lost", 2.0, _lose_node),
    Act("an administrator holds", 1.0, _on_some(_hold_as_admin)),
    Act("a person holds by hand", 1.0, _on_some(_hold_by_hand)),
    Act("a person releases by hand", 1.0, _on_some(_release_by_hand)),
    Act("a person opens by hand", 0.3, _on_some(_open_by_hand)),
    Act("somebody cancels", 1.0, _on_some(_cancel)),
    Act("somebody requeues", 1.0, _on_some(lambda s, ref, _: s.env.requeue_externally(ref))),
    Act("the queue forgets", 2.0, _on_some(_purge)),
    Act("a process is killed", 2.0, _kill_one),
    Act("the power fails", 1.0, _cut_power),
    Act("a clock is set", 1.0, _set_a_clock),
    Act("the records are backed up, and set back later", 1.0, _back_up),
)


REACTIONS: tuple[tuple[Act, float], ...] = tuple(
    (act, weight)
    for act, weight in (
        (Act("the controller crashes", 0, _crash), 4.0),
        (Act("the controller hangs", 0, _hang), 1.0),
        (Act("the cluster is away", 0, _go_away), 1.0),
        (Act("a process is killed", 0, _kill_one), 2.0),
        (Act("the power fails", 0, _cut_power), 1.0),
        (Act("the records are backed up, and set back later", 0, _back_up), 1.0),
    )
)


def react(site: Site, what: str) -> None:
    """Let something happen just after a write has landed or an execution has begun, when much is in the balance."""
    draw = site.chance.stream(f"after {what}")
    climate = site.options.climate
    if draw.happens(site.weather.spite) and climate.reacts_to(what):
        settled = [(act, act.weight) for act in _named(climate.reactions)]
        act = draw.weighed(settled or REACTIONS)
        site.loop.call_later(
            draw.waiting(climate.within), _befall, site, act, f"after {what}: {act.name}", draw
        )


def strike(site: Site, who: str, kind: Kind) -> None:
    """Let something strike just now, with the numbers that a scenario has for it; what strikes a process is its own."""
    match kind:
        case Kind.CRASH | Kind.PARTLY:
            site.loop.call_soon(_crash_now, site, kind is Kind.PARTLY)
        case Kind.HANG:
            site.env.hang()
            site.loop.call_later(40, _resume, site, True)
        case Kind.POWER:
            site.loop.call_soon(_cut_power, site, site.chance.stream(f"power {who}"))
        case Kind.DIE | Kind.LOST | Kind.LATE:
            pass
        case _:
            assert_never(kind)


def _crash_now(site: Site, partly: bool) -> None:  # noqa: FBT001 - a timer passes no keywords
    site.env.crash(partly=partly)
    site.forget()
    site.loop.call_later(5, _reboot, site, Relaunch.OTHER_NODES)


APART: tuple[tuple[Act, float], ...] = (
    (Act("the bounds grow", 1.0, _grow_the_bounds), 0.1),
    (Act("the cluster slows down", 1.0, _slow_down), 0.05),
    (Act("another cluster has the alias", 1.0, _mislead), 0.05),
    (Act("the controller hangs for a minute", 1.0, _hang_a_minute), 0.05),
    (Act("somebody upgrades", 1.0, upgrade_one), 0.05),
    (Act("more reads are asked for", 1.0, _ask_for_more_reads), 0.03),
    (Act("a process stands still", 1.0, pause_one), 0.1),
    (Act("a person waits for a stop", 1.0, stop_and_wait), 0.0),
)
"""Drawn apart from the others, each with its probability (0: in a climate alone): what is added here moves nothing that a seed draws elsewhere."""


def _named(names: tuple[str, ...]) -> list[Act]:
    return [act for act in (*ACTS, *(one for one, _ in APART)) if act.name in names]


def make_good(site: Site) -> None:
    """Let everything that went wrong be well again."""
    _put_right(site)
    upgrade_all(site)
    env, world = site.env, site.world
    env.make_available()
    if not world.up:
        _reboot(site, Relaunch.NONE)
    _resume(site, reverse=False)
    env.set_capacity(None)
    for name, node in world.machines.nodes.items():
        if node.silent is not None or node.kill_fails or node.fenced:
            env.return_node(name)
    for item in list(world.queue.values()):
        if site.knows(item.order.id):
            for release in (env.admin_release, env.person_release):
                _release(site, release, world.shape.ref(item))
