"""The scheduler's side, in the hands of the checks: what a harness can make it do."""

# ruff: noqa: ARG002 - a power that is not there takes what the power would

from __future__ import annotations

from dataclasses import dataclass

from dispatch.conformance.verdicts import CannotDo
from dispatch.spi.adapter import StartOrder


@dataclass(frozen=True)
class Made:
    """An object that a check has made: its ref, and the order that it was made by."""

    ref: str
    order: StartOrder


class Scheduler:
    """The scheduler's side, in the hands of the checks. Whatever a harness leaves out is skipped, with this reason.

    A method returns once the thing has been set going; the checks wait until the backend shows it.
    """

    # ---------------------------------------------------------------- the program

    async def finish(self, made: Made, code: int) -> None:
        """Let its program end by itself with that code."""
        raise CannotDo("the harness cannot let a program end with a code of its choice")

    async def signal(self, made: Made, name: str) -> None:
        """Let its program be killed by a signal, such as ``SEGV``."""
        raise CannotDo("the harness cannot send a signal to a program")

    async def out_of_memory(self, made: Made) -> None:
        """Let the kernel kill its program for its memory."""
        raise CannotDo("the harness cannot make a program run out of memory")

    async def time_out(self, made: Made) -> None:
        """Let it reach its time limit."""
        raise CannotDo("the harness cannot let a job reach its time limit")

    async def preempt(self, made: Made) -> None:
        """Let the scheduler take its nodes for another job."""
        raise CannotDo("the harness cannot preempt a job")

    async def fail_launch(self, made: Made) -> None:
        """Let an opened, pending object fail to start on its node."""
        raise CannotDo("the harness cannot make a launch fail")

    async def spoil_launch(self, made: Made) -> None:
        """Let the launch of a gated object fail, once it has been opened."""
        raise CannotDo("the harness cannot spoil a launch")

    # ------------------------------------------------------------------- nodes

    async def lose_node(self, made: Made) -> str:
        """Let the first node of a running object fall silent for good; give its name."""
        raise CannotDo("the harness cannot lose a node")

    async def return_node(self, node: str) -> None:
        """Let a node that ``lose_node`` has named answer again; it kills what it should not run."""
        raise CannotDo("the harness cannot bring a lost node back")

    async def fill(self) -> None:
        """Let nothing start any more, as on a cluster that is full."""
        raise CannotDo("the harness cannot fill the cluster")

    async def make_room(self) -> None:
        """Let things start again after ``fill``."""
        raise CannotDo("the harness cannot make room on the cluster")

    # ------------------------------------------------------------ other people

    async def cancel_as_administrator(self, made: Made) -> None:
        """Let an administrator cancel it."""
        raise CannotDo("the harness is no administrator")

    async def hold_as_administrator(self, made: Made) -> None:
        """Let an administrator hold it."""
        raise CannotDo("the harness is no administrator")

    async def hold_as_owner(self, made: Made) -> None:
        """Let the owner hold it by hand, past dispatch."""
        raise CannotDo("the scheduler knows no hold by hand")

    async def release_as_owner(self, made: Made) -> None:
        """Let the owner release everything of it by hand, past dispatch."""
        raise CannotDo("the scheduler knows no release by hand")

    async def mark_requeueable(self, made: Made) -> None:
        """Let somebody allow the scheduler to run it again by itself."""
        raise CannotDo("the scheduler runs nothing again by itself")

    async def requeue_as_owner(self, made: Made) -> None:
        """Let somebody try to run an ended object again; it is no error where the scheduler refuses."""
        raise CannotDo("the scheduler runs nothing again by itself")

    async def rename(self, made: Made) -> None:
        """Let the owner give it another name by hand."""
        raise CannotDo("the scheduler's objects cannot be renamed")

    # -------------------------------------------------------------- bookkeeping

    async def purge(self, made: Made) -> None:
        """Let the scheduler forget an ended object, with all evidence of it."""
        raise CannotDo("the harness cannot make the scheduler forget an object")

    async def reuse_id(self, made: Made) -> None:
        """Let the scheduler give the id of this ended object to the next one, where ids are reused."""
        raise CannotDo("the scheduler does not reuse ids")

    async def restart_controller(self) -> None:
        """Restart the controller; it forgets nothing."""
        raise CannotDo("the harness cannot restart the controller")

    async def go_away(self) -> None:
        """Let nobody reach the cluster."""
        raise CannotDo("the harness cannot cut the cluster off")

    async def come_back(self) -> None:
        """Let the cluster be reached again after ``go_away``."""
        raise CannotDo("the harness cannot cut the cluster off")

    # ------------------------------------------------------------------- calls

    async def drop_next_reply(self) -> None:
        """Let the next write have its effect, and its reply be lost."""
        raise CannotDo("the harness cannot lose a reply")

    async def cut_next_call(self, steps: int) -> None:
        """Let the process that makes the next write die after so many of its steps."""
        raise CannotDo("the harness cannot cut a call between its steps")

    async def refuse_next_for_now(self) -> None:
        """Let the scheduler refuse the next write for now, as with a full queue."""
        raise CannotDo("the harness cannot make the scheduler busy")
