"""The rules by which an end is judged: a table of rows, the first whose condition holds gives the verdict."""

from __future__ import annotations

from dispatch.adapters.slurm.reading.cancelling import (
    cancelled,
    cancelled_at_launch,
    maybe_not_launched,
)
from dispatch.adapters.slurm.reading.documents import StepRow
from dispatch.adapters.slurm.reading.facts import Seen
from dispatch.adapters.slurm.reading.hostlist import expand
from dispatch.adapters.slurm.reading.rules import Rule, always
from dispatch.adapters.slurm.reading.tables import (
    EXIT_HINTS,
    LAUNCH_SIGNALS,
    LIMIT_MARGIN,
    OUT_OF_MEMORY_SIGNAL,
    SIGNALS,
    Code,
    Kind,
)
from dispatch.adapters.slurm.reading.tickets import LAUNCH_FAILED_EXIT, Ended
from dispatch.model.status import Cause, Detail, State, Verdict

_SCRIPT_REFUSED = "the job script could not start the command; its output says why"
_STEP_UNLAUNCHED = "srun could not launch the command: slurmd of a node did not answer"

_LAST_SIGNAL = 64
_KILLED_EXIT = 128 + 9

_KILLS = frozenset({"KILL", "TERM"})
_KILLED_EXITS = frozenset({_KILLED_EXIT, 128 + 15})

# --- conditions


def _is_success(end: Ended) -> bool:
    return end.status == 0 and not end.signal


def _refused_after_an_end(s: Seen) -> bool:
    return s.fenced is not None and s.own_end is not None


def _ran_where_slurm_says_not(s: Seen) -> bool:
    return s.never_ran and s.own_end is not None


def _started_where_slurm_says_not(s: Seen) -> bool:
    return s.never_ran and s.started is not None


def _was_killed(end: Ended) -> bool:
    return end.signal in _KILLS or end.status in _KILLED_EXITS


def _end_before_the_loss(s: Seen) -> Ended | None:
    # A controller that forgot a completion shows the job running for minutes more, and then a lost node (12, E6). From the
    # loss on, Slurm ends what it finds, and a program that exits with 0 when it is told to end has not succeeded.
    end = s.own_end if s.base in {"NODE_FAIL", "BOOT_FAIL"} else None
    if end is None or end.told:
        return None
    # A node that goes down kills what runs on it, one after the other: the script may still note such an end.
    return None if _was_killed(end) else end


def _ended_where_slurm_lost_the_node(s: Seen) -> bool:
    end = _end_before_the_loss(s)
    return end is not None and (_is_success(end) or s.ran_on_one_node)


def _failed_beside_a_lost_node(s: Seen) -> bool:
    # The other nodes' part of a program fails because its peer is lost, or failed before that: nothing tells which.
    return _end_before_the_loss(s) is not None


def _unlaunched(s: Seen) -> bool:
    return s.base in {"FAILED", "CANCELLED"} and s.exit.signal in LAUNCH_SIGNALS


def _step_unlaunched(s: Seen) -> bool:
    # The end of a step that could not be launched is an error's number, of which Slurm shows the bits of a signal: none
    # has such a number. Where the script wrote its end, that tells more.
    worst = s.derived.signal
    error = worst > _LAST_SIGNAL and worst != OUT_OF_MEMORY_SIGNAL
    return s.base == "FAILED" and s.ended is None and error and s.exit.code == 128 + worst


def _success_contradicted(s: Seen) -> bool:
    return (
        s.base == "COMPLETED"
        and s.ended is not None
        and (s.ended.status != 0 or s.ended.signal != "")
    )


def _of_unusual_flag(s: Seen) -> bool:
    return s.base in {"FAILED", "COMPLETED", ""} and s.has(
        "LAUNCH_FAILED", "RECONFIG_FAIL", "REVOKED"
    )


def _told_by_state(s: Seen) -> bool:
    return s.base not in {"", "FAILED", "CANCELLED", "COMPLETED"}


def _unsatisfiable(s: Seen) -> bool:
    return s.base == "FAILED" and s.never_ran and s.reason == "BadConstraints"


def _programs(s: Seen) -> list[StepRow]:
    return [step for step in s.steps if step.name not in {"batch", "extern", "interactive"}]


def _out_of_memory_in_steps(s: Seen) -> bool:
    failed = [step for step in _programs(s) if "COMPLETED" not in step.states]
    # Every step that failed: an earlier step's kill does not explain a later step's own failure.
    all_killed = bool(failed) and all("OUT_OF_MEMORY" in step.states for step in failed)
    return s.base == "FAILED" and s.exit.signal == 0 and all_killed


def _first_killed_in_step_out_of_memory(s: Seen) -> bool:
    # Without accounting the steps are not known one by one, but the queue shows the worst end of them; that it is the
    # end of ours is told by the script: the first task of ours that failed was killed.
    killed = s.ended is not None and (s.ended.signal == "KILL" or s.ended.status == _KILLED_EXIT)
    worst = not s.steps and s.derived.signal == OUT_OF_MEMORY_SIGNAL
    return _exit_told_by_ticket(s) and killed and worst


def _killed_for_memory(s: Seen) -> bool:
    return s.base == "FAILED" and s.exit.signal == OUT_OF_MEMORY_SIGNAL


def _signalled(s: Seen) -> bool:
    return s.base == "FAILED" and s.exit.signal != 0


def _unstarted(s: Seen) -> bool:
    # The script starts no command before its start ticket is there, so no command can have had this exit.
    return (
        s.base == "FAILED"
        and s.exit.code == LAUNCH_FAILED_EXIT
        and s.started is None
        and s.ended is None
    )


def _told_otherwise_by_ticket(s: Seen) -> bool:
    told = s.ended is not None and (s.ended.signal != "" or not s.ended.launched)
    return _exit_told_by_ticket(s) and told


def _exit_told_by_ticket(s: Seen) -> bool:
    return s.base == "FAILED" and s.ended is not None and s.ended.status == s.exit.code != 0


def _exit_told_by_batch(s: Seen) -> bool:
    agreed = s.batch is not None and "FAILED" in s.batch.states and s.batch.exit == s.exit
    return s.base == "FAILED" and s.ended is None and s.exit.code != 0 and agreed and s.one_boot


def _overtaken(s: Seen) -> bool:
    # The controller restarted during the run and tells of another end than the script wrote: it is a launch of its own
    # that the controller tells of (12, E5), and the program's end is the script's.
    return s.base == "FAILED" and s.own_end is not None and 0 < s.start < s.facts.boot


# --- verdicts


def _by_ticket(s: Seen) -> Verdict:
    assert s.ended is not None
    return of_end(s.ended, proven=True)


def of_end(end: Ended, *, proven: bool) -> Verdict:
    """The verdict that the script's own end record gives."""
    if not end.launched:
        detail = Detail(exit_code=end.status, reason=_SCRIPT_REFUSED)
        return Verdict(state=State.FAILED, cause=Cause.LAUNCH_FAILED, detail=detail, proven=proven)
    if _is_success(end):
        return Verdict(state=State.SUCCEEDED, proven=proven)
    if end.signal:
        return Verdict(
            state=State.FAILED,
            cause=Cause.SIGNALLED,
            detail=Detail(exit_code=end.status, signal=end.signal),
            proven=proven,
        )
    detail = Detail(exit_code=end.status, suspected=EXIT_HINTS.get(end.status))
    return Verdict(state=State.FAILED, cause=Cause.NON_ZERO_EXIT, detail=detail, proven=proven)


def of_end_alone(end: Ended, *, one_node: bool) -> Verdict:
    """The verdict where nothing but the script's own end record is left.

    Where the script was told to end, that was by Slurm: for a preemption, a limit, a cancellation. Nobody can tell which
    any more, and a program that saved its work and exited with 0 has not succeeded. Nor can anybody tell of a program on
    several nodes that failed, or of one that was killed, whether a node was lost.
    """
    own = one_node and not _was_killed(end)
    if not end.told and (own or _is_success(end) or not end.launched):
        return of_end(end, proven=True)
    reason = (
        f"Slurm told it to end ({end.told}), and no record is left that says why"
        if end.told
        else "only the job script tells of its end, and a lost node may have caused it"
    )
    detail = Detail(exit_code=end.status, signal=end.signal or None, reason=reason)
    return Verdict(state=State.FAILED, cause=Cause.UNKNOWN, detail=detail, proven=False)


def _script_refused(s: Seen) -> Verdict:
    detail = Detail(exit_code=s.exit.code, nodes=expand(s.nodes), reason=_SCRIPT_REFUSED)
    return Verdict(state=State.FAILED, cause=Cause.LAUNCH_FAILED, detail=detail, proven=s.one_boot)


def _fenced(s: Seen) -> Verdict:
    assert s.fenced is not None
    # The first launch may still live, on the node that its ticket names.
    elsewhere = _ticket_nodes(s)
    reason = f"a second launch was refused on {s.fenced.node or 'a node'}: {s.fenced.seen or 'a ticket'} was there"
    return Verdict(
        state=State.FAILED, cause=Cause.FENCED, detail=Detail(nodes=elsewhere, reason=reason)
    )


def _ticket_nodes(s: Seen) -> tuple[str, ...]:
    started = s.started
    return expand(started.nodes or started.node) if started else ()


def _start_forgotten(s: Seen) -> Verdict:
    reason = "the job script started, but the controller shows an end that never ran"
    detail = Detail(nodes=_ticket_nodes(s), reason=reason)
    state = State.CANCELLED if s.base == "CANCELLED" else State.FAILED
    return Verdict(state=state, cause=Cause.FORGOTTEN, detail=detail)


def _launch_failed(s: Seen) -> Verdict:
    detail = Detail(nodes=expand(s.nodes), reason=LAUNCH_SIGNALS[s.exit.signal])
    return Verdict(state=State.FAILED, cause=Cause.LAUNCH_FAILED, detail=detail)


def _not_launched(_: Seen) -> Verdict:
    # Which of its nodes it was, only the job's output tells.
    detail = Detail(reason=_STEP_UNLAUNCHED)
    return Verdict(state=State.FAILED, cause=Cause.LAUNCH_FAILED, detail=detail)


def _contradicted(s: Seen) -> Verdict:
    assert s.ended is not None
    return of_end(s.ended, proven=False)


def _by_flag(s: Seen) -> Verdict:
    return _of_code(
        next(code for code in s.codes if code.kind is Kind.FLAG and code.state != State.RUNNING)
    )


def _by_state(s: Seen) -> Verdict:
    return _of_code(next(code for code in s.codes if code.kind is Kind.BASE), _nodes_of_cause(s))


def _of_code(code: Code, nodes: tuple[str, ...] = ()) -> Verdict:
    detail = Detail(nodes=nodes, reason=code.why or None)
    return Verdict(
        state=code.state, cause=code.cause, detail=detail, proven=code.cause is not Cause.UNKNOWN
    )


def _lost_or_failed(s: Seen) -> Verdict:
    end = s.own_end
    assert end is not None
    detail = Detail(
        exit_code=end.status,
        signal=end.signal or None,
        nodes=_nodes_of_cause(s),
        reason="the script ended, and Slurm tells of a lost node: nothing says which came first",
        suspected=Cause.NODE_LOST,
    )
    return Verdict(state=State.FAILED, cause=Cause.UNKNOWN, detail=detail, proven=False)


def _nodes_of_cause(s: Seen) -> tuple[str, ...]:
    # Where the lost node is not named (22.05), any of them may be the one that still has processes.
    return expand(s.failed_node or s.nodes) if s.base in {"NODE_FAIL", "BOOT_FAIL"} else ()


def _success(s: Seen) -> Verdict:
    hint = Cause.OUT_OF_MEMORY if s.derived.signal == OUT_OF_MEMORY_SIGNAL else None
    return Verdict(state=State.SUCCEEDED, detail=Detail(exit_code=0, suspected=hint))


def _never_to_run(_: Seen) -> Verdict:
    reason = "BadConstraints: no nodes of the cluster satisfy it"
    return Verdict(state=State.FAILED, cause=Cause.UNSATISFIABLE, detail=Detail(reason=reason))


def _step_out_of_memory(s: Seen) -> Verdict:
    reason = "the kernel killed a process of its steps for memory"
    detail = Detail(exit_code=s.exit.code or None, reason=reason)
    return Verdict(state=State.FAILED, cause=Cause.OUT_OF_MEMORY, detail=detail)


def _by_signal(s: Seen) -> Verdict:
    name = SIGNALS.get(s.exit.signal, str(s.exit.signal))
    near = s.limit and abs(s.end - s.start - s.limit * 60) <= LIMIT_MARGIN
    hint = Cause.TIMEOUT if name in {"TERM", "KILL"} and near else None
    agreed = s.batch is not None and s.batch.exit.signal == s.exit.signal
    detail = Detail(signal=name, suspected=hint, reason=s.description or None)
    return Verdict(
        state=State.FAILED, cause=Cause.SIGNALLED, detail=detail, proven=s.one_boot or agreed
    )


def _by_exit(s: Seen) -> Verdict:
    died = s.exit.code - 128
    # srun hands on the signal of the program as 128 + its number; a step's own end confirms it.
    hint = EXIT_HINTS.get(s.exit.code) or (
        Cause.SIGNALLED if died == s.derived.signal != 0 else None
    )
    if s.derived.signal == OUT_OF_MEMORY_SIGNAL:
        hint = Cause.OUT_OF_MEMORY
    detail = Detail(exit_code=s.exit.code, suspected=hint)
    return Verdict(state=State.FAILED, cause=Cause.NON_ZERO_EXIT, detail=detail)


def _exit_unproven(s: Seen) -> Verdict:
    reason = "Slurm tells of an exit that neither the job script nor a step proves; it may be a launch that Slurm refused"
    detail = Detail(
        exit_code=s.exit.code or None,
        reason=reason,
        suspected=Cause.NON_ZERO_EXIT if s.exit.code else None,
    )
    return Verdict(state=State.FAILED, cause=Cause.UNKNOWN, detail=detail, proven=False)


ENDED: tuple[Rule, ...] = (
    Rule("the script ended, and a later launch was refused", _refused_after_an_end, _by_ticket),
    Rule("the script refused the launch", lambda s: s.fenced is not None, _fenced),
    Rule("the script ended, in a run that Slurm forgot", _ran_where_slurm_says_not, _by_ticket),
    Rule(
        "the script started, in a run that Slurm forgot",
        _started_where_slurm_says_not,
        _start_forgotten,
    ),
    Rule(
        "the script ended, and Slurm tells of a lost node",
        _ended_where_slurm_lost_the_node,
        _by_ticket,
    ),
    Rule(
        "the script failed, and Slurm tells of one lost node of several",
        _failed_beside_a_lost_node,
        _lost_or_failed,
    ),
    Rule("slurmd could not launch the script", _unlaunched, _launch_failed),
    Rule("srun could not launch the command", _step_unlaunched, _not_launched),
    Rule("a flag tells", _of_unusual_flag, _by_flag),
    Rule("the state tells", _told_by_state, _by_state),
    Rule("Slurm says success, the script does not", _success_contradicted, _contradicted),
    Rule("success", lambda s: s.base == "COMPLETED", _success),
    Rule("cancelled before the script began", cancelled_at_launch, maybe_not_launched),
    Rule("cancelled", lambda s: s.base == "CANCELLED", cancelled),
    Rule("no nodes can satisfy it", _unsatisfiable, _never_to_run),
    Rule("its failed steps ran out of memory", _out_of_memory_in_steps, _step_out_of_memory),
    Rule(
        "its step ran out of memory, and its first failed task was killed",
        _first_killed_in_step_out_of_memory,
        _step_out_of_memory,
    ),
    Rule("it ran out of memory", _killed_for_memory, _step_out_of_memory),
    Rule("a signal ended the script", _signalled, _by_signal),
    Rule("the script could not start the command", _unstarted, _script_refused),
    Rule(
        "the script wrote this exit, and what it stands for", _told_otherwise_by_ticket, _by_ticket
    ),
    Rule("the script wrote this exit", _exit_told_by_ticket, _by_exit),
    Rule("the script wrote another end, and the controller restarted", _overtaken, _by_ticket),
    Rule("the batch step has this exit, under one boot", _exit_told_by_batch, _by_exit),
    Rule("an exit that nothing proves", always, _exit_unproven),
)
"""In this order."""
