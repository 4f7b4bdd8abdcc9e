"""What the memory adapter answers and declares: the defaults of its shape, and what its settings put in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch.model.answers import (
    Action,
    Answer,
    Answers,
    AnswerSource,
    Capability,
    Declarations,
    Feature,
    Tristate,
)  # fmt: skip
from dispatch.model.quantity import Duration

if TYPE_CHECKING:
    from dispatch.adapters.memory.settings import Settings


def _declared(yes: bool, reason: str = "") -> Answer:  # noqa: FBT001  the answer itself, first as in a sentence
    return Answer(
        value=Tristate.YES if yes else Tristate.NO, source=AnswerSource.DECLARED, reason=reason
    )


def _of_both() -> dict[Capability, Answer]:
    return {
        Capability.GATE: _declared(True),
        Capability.HOLD: _declared(True),
        Capability.ACCOUNTING_HISTORY: _declared(
            False, "this world keeps no accounting unless its settings say so"
        ),
        Capability.WATCH: _declared(True),
        Capability.OUTPUT: _declared(False, "nothing really runs, so there is no output"),
        Capability.CESSATION: _declared(True),
    }


def _of_slurm(settings: Settings) -> dict[Capability, Answer]:
    return {
        Capability.REQUEUE: _declared(True),
        Capability.READMISSION_GATE: _declared(
            False, "what Slurm itself requeues is not gated again"
        ),
        Capability.FENCE: _declared(
            settings.fence, "" if settings.fence else "the settings switch the start ticket off"
        ),
    }


def _of_kubeflow() -> dict[Capability, Answer]:
    return {
        Capability.REQUEUE: _declared(False, "a TrainJob that has ended never runs again"),
        Capability.READMISSION_GATE: _declared(True),
        Capability.FENCE: _declared(
            False, "pods take no start ticket; the admission check keeps executions apart"
        ),
    }


def capabilities_of(settings: Settings) -> dict[Capability, Answer]:
    """Work out what this world can do."""
    own = _of_kubeflow() if settings.shape == "kubeflow" else _of_slurm(settings)
    return {**_of_both(), **own, **settings.capabilities}


def rules_of(settings: Settings) -> dict[Action, Answer]:
    """Work out which actions a policy may use here."""
    hold = capabilities_of(settings)[Capability.HOLD]
    return {
        Action.RESTART: _declared(
            False, "restarting in place is not offered unless the settings say so"
        ),
        Action.RESUBMIT: _declared(True),
        Action.HOLD: hold
        if hold.yes
        else Answer(value=hold.value, source=hold.source, reason="holds are not proven"),
        Action.FAIL: _declared(True),
        **settings.rules,
    }


def answers_of(settings: Settings) -> Answers:
    """Work out everything that the backend answers."""
    unread = {Feature.AFTER, Feature.MATRIX, Feature.NOTIFY, Feature.PENDING_NOTICE}
    return Answers(
        capabilities=capabilities_of(settings),
        rules=rules_of(settings),
        native={
            **{action: _declared(False, "the supervisor carries it out") for action in Action},
            **settings.native,
        },
        features={
            feature: _declared(False, f"the memory adapter does not honour {feature.value}")
            if feature in unread
            else _declared(True)
            for feature in Feature
        },
    )


def declarations_of(settings: Settings) -> Declarations:
    """Work out the bounds that the backend declares. A Kubernetes API server forgets nothing that it acknowledged."""
    durable = settings.shape == "kubeflow"
    return Declarations(
        call_bound=settings.call_bound,
        call_window=settings.call_window,
        save_window=Duration() if durable else settings.save_window,
        evidence_window=settings.evidence_window or settings.min_job_age,
        clock_skew=settings.clock_skew,
        kill_wait=settings.kill_wait,
    )
