"""What does harm in a chaos run: faults by the schedule, strikes by fate, and kills that are aimed at calls."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from chaos.judge import Deed, Done, Killed
from chaos.schedule import Fault, Kind
from chaos.site import Note, Site
from dispatch.model.journal import Verb
from lab import LabError

SUPERVISORS = 2
KILLABLE_NODES = 6
"""n1 to n6: on n7 jobs wait behind another user's, and on n8 the one runs that takes a minute."""


class Injector:
    """Carries out faults, and remembers what it did."""

    def __init__(self, site: Site, seed: int, aims: dict[Verb, int]) -> None:
        self.site = site
        self.done: list[Done] = []
        self.killed: list[Killed] = []
        self.troubles: list[str] = []
        """What could not be done, such as a fault of a daemon that was already dead."""
        self._chance = random.Random(f"{seed} aims")
        self._aims = dict(aims)
        self._daemons: dict[str, threading.Lock] = {}
        self._supervisors: list[subprocess.Popen[bytes] | None] = [None] * SUPERVISORS
        self._notes: set[str] = set()
        self._calls: dict[int, Note] = {}

    # --- supervisors, and kills of any process of ours

    def keep_supervisors(self) -> None:
        """Start the supervisors, and start again each that has died, until the run is over."""
        while not self.site.over.is_set():
            for number, process in enumerate(self._supervisors):
                if process is None or process.poll() is not None:
                    begun = self.site.begin(f"supervisor-{number}", "supervise")
                    self._supervisors[number] = begun
            self.site.wait_for(0.5)

    def kill(self, process: int) -> None:
        """Kill a process of ours, and note what it was calling."""
        self._look()
        note = self._calls.get(process)
        with suppress(ProcessLookupError):
            at = time.time()
            os.kill(process, signal.SIGKILL)
            role = self.site.roles.get(process, "")
            told = (note.verb, note.deadline, note.job) if note else (None, 0, "")
            self.killed.append(Killed(at, role, *told))

    def _look(self) -> list[Note]:
        new = self.site.notes(self._notes)
        self._calls |= {note.caller: note for note in new}
        return new

    def aim(self) -> None:
        """Kill processes while their call is under way, each verb so often as it was aimed at; their calls go on, or not."""
        while not self.site.wait_for(0.02):
            for note in self._look():
                wanted = self._aims.get(note.verb, 0)
                rare = note.verb in (Verb.HOLD, Verb.RELEASE, Verb.STOP)
                if wanted == 0 or note.caller not in self.site.roles:
                    continue
                if self._chance.random() > (0.8 if rare else 0.25):
                    continue
                self._aims[note.verb] = wanted - 1
                self.kill(note.caller)
                if self._chance.random() < 0.5:
                    with suppress(ProcessLookupError):
                        os.killpg(note.wrapper, signal.SIGKILL)

    # --- the schedule

    def follow(self, schedule: tuple[Fault, ...], begin: float) -> None:
        """Carry out each fault at its time, each in a thread of its own."""
        for fault in schedule:
            if self.site.wait_for(max(0, begin + fault.at - time.time())):
                return
            self.apart(partial(self._carry_out, fault))

    def apart(self, work: Callable[[], object]) -> threading.Thread:
        """Do it in a thread of its own; what it cannot do is remembered, and no end of the run."""

        def guarded() -> None:
            try:
                work()
            except (LabError, OSError, subprocess.SubprocessError) as error:
                self.troubles.append(f"{type(error).__name__}: {error}")

        thread = threading.Thread(target=guarded, daemon=True)
        thread.start()
        return thread

    def _carry_out(self, fault: Fault) -> None:
        node = f"n{fault.target % KILLABLE_NODES + 1}"
        match fault.kind:
            case Kind.KILL_SUPERVISOR | Kind.PAUSE_SUPERVISOR:
                process = self._supervisors[fault.target % SUPERVISORS]
                if process is None or process.poll() is not None:
                    return
                if fault.kind is Kind.KILL_SUPERVISOR:
                    self.kill(process.pid)
                else:
                    self.pause(process, fault.length)
            case Kind.KILL_SLURMD:
                self._restart(f"slurmd:{node}", fault.length, Deed.SLURMD_KILLED, node)
            case Kind.PAUSE_SLURMD:
                self._pause_daemon(f"slurmd:{node}", fault.length, Deed.SLURMD_PAUSED, node)
            case Kind.KILL_CONTROLLER:
                self._restart("slurmctld", fault.length, Deed.CONTROLLER_KILLED)
            case Kind.PAUSE_CONTROLLER:
                self._pause_daemon("slurmctld", fault.length, Deed.CONTROLLER_PAUSED)

    def pause(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        """Pause a process of ours."""
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGSTOP)
            self.site.wait_for(seconds)
            process.send_signal(signal.SIGCONT)

    def _lock(self, daemon: str) -> threading.Lock:
        return self._daemons.setdefault(daemon, threading.Lock())

    def _restart(self, daemon: str, away: float, deed: Deed, node: str = "") -> None:
        with self._lock(daemon):
            since = time.time()
            self.site.lab.kill(daemon)
            self.site.wait_for(away)
            self._start(daemon)
            self.done.append(Done(deed, since, time.time(), node=node))

    def _pause_daemon(self, daemon: str, seconds: float, deed: Deed, node: str = "") -> None:
        with self._lock(daemon):
            since = time.time()
            self.site.lab.kill(daemon, signal.SIGSTOP)
            self.site.wait_for(seconds)
            self.site.lab.kill(daemon, signal.SIGCONT)
            self.done.append(Done(deed, since, time.time(), node=node))

    def _start(self, daemon: str) -> None:
        self.site.lab.start(daemon, *(["-i"] if daemon == "slurmctld" else []))

    # --- strikes

    def kill_node(self, node: str, away: float) -> None:
        """Kill all that runs on a node, and boot it again after so long."""
        daemon = f"slurmd:{node}"
        with self._lock(daemon):
            since = time.time()
            self.site.lab.kill_node(node)
            self.site.wait_for(away)
            self._start(daemon)
            self.done.append(Done(Deed.NODE_KILLED, since, time.time(), node=node))

    def boot_all(self) -> None:
        """Restart every slurmd, as an operator does in the end; a node that registers anew tells what it runs."""
        for node in self.site.lab.nodes:
            with suppress(LabError):
                self._restart(f"slurmd:{node}", 0, Deed.SLURMD_KILLED, node)

    def preempt(self, key: str, node: str) -> None:
        """Let another user have all the accelerators of a node for a moment, in a partition that comes first."""
        since = time.time()
        self.site.insist(
            "bob", "sbatch", "-p", "high", "-w", node, "--gres=gpu:8", "-t", "1", "-o", "/dev/null",
            "--wrap", "sleep 2",
        )  # fmt: skip
        self.done.append(Done(Deed.PREEMPTED, since, since + 25, key))

    def cancel(self, key: str, job: str, number: str) -> None:
        """Cancel a running job as its owner, outside of dispatch; by its name too, a number may be another's by now."""
        since = time.time()
        self.site.insist("alice", "scancel", f"--name=dj-{job}", number)
        self.done.append(Done(Deed.CANCELLED, since, time.time() + 5, key))

    def stop(self, key: str) -> None:
        """Ask dispatch to stop a job, again where the command is killed, until it has said that it will."""
        since = time.time()
        self.site.finish(f"stop-{key}", "stop", "--json", "--why", "chaos", key)
        self.done.append(Done(Deed.STOPPED, since, time.time() + 2, key))

    def hold(self, key: str, job: str, seconds: float) -> None:
        """Ask dispatch to hold a job, and to release it so long after Slurm shows the hold."""
        self.site.finish(f"hold-{key}", "hold", "--json", "--why", "chaos", key)
        end = time.time() + 40
        while time.time() < end and not self.site.is_held(job):
            self.site.wait_for(0.5)
        since = time.time()
        placed = self.site.is_held(job)
        self.site.wait_for(seconds)
        until = time.time()
        self.site.finish(f"release-{key}", "release", "--json", key)
        if placed:
            self.done.append(Done(Deed.HELD, since, until, key))

    def user_hold(self, key: str, job: str, seconds: float) -> None:
        """Hold a pending job as its owner by ``scontrol``, and release it after so long."""
        numbers = [one.number for one in self.site.living() if one.job == job]
        for number in numbers:
            self.site.insist("alice", "scontrol", "hold", number)
        since = time.time()
        self.site.wait_for(seconds)
        until = time.time()
        for number in numbers:
            self.site.insist("alice", "scontrol", "release", number)
        if numbers:
            self.done.append(Done(Deed.USER_HELD, since, until, key))
