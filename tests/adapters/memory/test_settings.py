"""The settings: strictly decoded, every fault at once, and the answers that follow from them."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.memory.bench import Bench, do
from dispatch.adapters.memory import Settings, decode_settings, factory
from dispatch.adapters.memory.answers import answers_of, declarations_of
from dispatch.model.answers import Action, AnswerSource, Capability, Feature, Tristate
from dispatch.model.errors import Invalid
from dispatch.model.quantity import Duration
from dispatch.spi.adapter import AdapterConfig

REFERENCE = """{
  "shape": "slurm",
  "maxJobId": 100,
  "minJobAge": "5m",
  "callBound": "25s",
  "slurmdTimeout": "40s",
  "watchBuffer": 64,
  "capabilities": {"AccountingHistory": {"value": "yes", "source": "probed"}},
  "rules": {"restart": {"value": "yes"}},
  "native": {"restart": {"value": "yes"}},
  "cessation": {"ceased": true, "detail": "node fenced"}
}"""


def faults(document: Any) -> dict[str, str]:
    with pytest.raises(Invalid) as caught:
        decode_settings(document)
    return {fault.path: fault.found for fault in caught.value.faults}


def test_the_reference_document_is_accepted() -> None:
    settings = decode_settings(REFERENCE)
    assert (settings.max_job_id, settings.slurmd_timeout) == (100, Duration(seconds=40))
    answers = answers_of(settings)
    history = answers.capability(Capability.ACCOUNTING_HISTORY)
    assert (history.value, history.source) == (Tristate.YES, AnswerSource.PROBED)
    assert answers.rule(Action.RESTART).yes
    assert answers.native[Action.RESTART].yes


def test_everything_is_optional() -> None:
    assert decode_settings({}) == Settings()
    assert decode_settings("{}") == Settings()


def test_every_key_is_camel_case_and_known() -> None:
    every: dict[str, Any] = {
        "shape": "slurm", "clusterName": "c", "maxJobId": 5, "minJobAge": "1m", "callBound": "1s",
        "callWindow": "2s", "slurmdTimeout": "3s", "killWait": "20s", "killDelay": "4s",
        "cleaningTime": "5s", "evidenceWindow": "6m", "saveWindow": "7s", "clockSkew": "8s",
        "watchBuffer": 9, "nodes": 10, "capacity": 11, "revival": True, "relaunch": "none",
        "reviveEnded": False, "submitTimeMoves": True, "requeueDelay": "1s",
        "fence": False, "capabilities": {}, "rules": {}, "native": {}, "cessation": {"ceased": False},
    }  # fmt: skip
    assert set(every) == {
        "".join([word if not i else word.title() for i, word in enumerate(name.split("_"))])
        for name in Settings.__struct_fields__
    }
    settings = decode_settings(every)
    assert (settings.capacity, settings.fence, settings.evidence_window) == (
        11,
        False,
        Duration(minutes=6),
    )


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"shapes": "slurm"}, "shapes"),
        ({"shape": "pbs"}, "shape"),
        ({"min_job_age": "5m"}, "min_job_age"),
        ({"minJobAge": 300}, "minJobAge"),
        ({"minJobAge": "5 minutes"}, "minJobAge"),
        ({"minJobAge": "-5m"}, "minJobAge"),
        ({"maxJobId": 0}, "maxJobId"),
        ({"maxJobId": "100"}, "maxJobId"),
        ({"maxJobId": True}, "maxJobId"),
        ({"nodes": 0}, "nodes"),
        ({"capacity": -1}, "capacity"),
        ({"fence": "no"}, "fence"),
        ({"relaunch": "always"}, "relaunch"),
        ({"capabilities": {"Fly": {"value": "yes"}}}, "capabilities.Fly"),
        ({"capabilities": {"Gate": {"value": "perhaps"}}}, "capabilities.Gate.value"),
        ({"capabilities": {"Gate": {"value": True}}}, "capabilities.Gate.value"),
        (
            {"capabilities": {"Gate": {"value": "yes", "source": "guessed"}}},
            "capabilities.Gate.source",
        ),
        ({"capabilities": {"Gate": {"value": "yes", "colour": "red"}}}, "capabilities.Gate.colour"),
        ({"capabilities": {"Gate": {}}}, "capabilities.Gate.value"),
        ({"capabilities": []}, "capabilities"),
        ({"rules": {"retry": {"value": "yes"}}}, "rules.retry"),
        ({"native": {"resubmit": {"value": "maybe"}}}, "native.resubmit.value"),
        ({"cessation": {"ceased": "yes"}}, "cessation.ceased"),
        ({"cessation": {"ceased": True, "details": ""}}, "cessation.details"),
        ({"cessation": {}}, "cessation.ceased"),
        ({"killDelay": "2m"}, "killDelay"),
    ],
    ids=str,
)
def test_what_is_wrong_is_refused_with_its_path(document: dict[str, Any], path: str) -> None:
    assert set(faults(document)) == {path}


@pytest.mark.parametrize(
    "text", ["{} {}", "{}x", "[1,", "", "\xff", '{"nodes": 1, "nodes": 2}'], ids=repr
)
def test_what_is_no_single_json_document_is_refused(text: str) -> None:
    assert set(faults(text)) == {"the document"}


@pytest.mark.parametrize("document", ["[]", "1", "null", [], None], ids=repr)
def test_settings_are_a_mapping(document: Any) -> None:
    assert set(faults(document)) == {"the document"}


@pytest.mark.parametrize("rule", ["no", "unknown", None])
def test_the_scheduler_may_not_do_natively_what_no_rule_may(rule: str | None) -> None:
    document: dict[str, Any] = {"native": {"restart": {"value": "yes"}}}
    if rule:
        document["rules"] = {"restart": {"value": rule}}
    assert set(faults(document)) == {"native.restart"}


def test_a_native_answer_of_no_needs_no_rule() -> None:
    assert (
        not answers_of(decode_settings({"native": {"restart": {"value": "no"}}}))
        .native[Action.RESTART]
        .yes
    )


def test_a_native_hold_needs_a_cluster_that_holds() -> None:
    held = {"native": {"hold": {"value": "yes"}}}
    assert answers_of(decode_settings(held)).native[Action.HOLD].yes
    assert set(faults({**held, "capabilities": {"Hold": {"value": "no"}}})) == {"native.hold"}


def test_every_fault_is_told_at_once() -> None:
    wrong = {
        "speed": 1,
        "minJobAge": "soon",
        "capabilities": {"Fly": {"value": "yes"}, "Gate": {"value": "perhaps"}},
        "native": {"restart": {"value": "yes"}},
    }
    assert set(faults(wrong)) == {
        "speed", "minJobAge", "capabilities.Fly", "capabilities.Gate.value", "native.restart",
    }  # fmt: skip


def test_the_default_answers_are_those_of_a_plain_slurm() -> None:
    answers = answers_of(Settings())
    yes = {
        Capability.GATE, Capability.HOLD, Capability.CESSATION, Capability.FENCE, Capability.REQUEUE,
        Capability.WATCH,
    }  # fmt: skip
    assert {name for name in Capability if answers.capability(name).yes} == yes
    assert {name for name in Action if answers.rule(name).yes} == {
        Action.RESUBMIT,
        Action.HOLD,
        Action.FAIL,
    }
    assert not any(answer.yes for answer in answers.native.values())
    refused = {Feature.AFTER, Feature.MATRIX, Feature.NOTIFY, Feature.PENDING_NOTICE}
    assert {name for name in Feature if not answers.feature(name).yes} == refused


def test_every_no_says_why() -> None:
    answers = answers_of(Settings(fence=False))
    tables = (answers.capabilities, answers.rules, answers.native, answers.features)
    for table in tables:
        assert all(answer.reason for answer in table.values() if not answer.yes)


def test_a_cluster_that_cannot_hold_offers_no_hold_rule() -> None:
    answers = answers_of(decode_settings({"capabilities": {"Hold": {"value": "no"}}}))
    assert not answers.rule(Action.HOLD).yes
    assert answers.rule(Action.RESUBMIT).yes


def test_a_world_without_fence_says_so() -> None:
    assert not answers_of(Settings(fence=False)).capability(Capability.FENCE).yes


def test_the_declarations_follow_from_the_settings() -> None:
    told = declarations_of(
        decode_settings({"callBound": "9s", "saveWindow": "5s", "minJobAge": "2m"})
    )
    assert (told.call_bound, told.save_window, told.evidence_window) == (
        Duration(seconds=9), Duration(seconds=5), Duration(minutes=2),
    )  # fmt: skip


def test_the_factory_opens_a_world_of_its_own_under_the_machines_clock() -> None:
    config = AdapterConfig(
        adapter="memory", alias="lab", settings={"clusterName": "hal"}, read_only=True
    )
    one, other = do(factory(config)), do(factory(config))
    assert (one.identity.alias, one.identity.adapter, one.identity.name) == ("lab", "memory", "hal")
    assert one.env.truths() == other.env.truths() == ()
    assert "read-only" in repr(one)


def test_the_factory_refuses_wrong_settings() -> None:
    with pytest.raises(Invalid, match="nodez"):
        do(factory(AdapterConfig(adapter="memory", alias="lab", settings={"nodez": 1})))


def test_a_repr_tells_the_state() -> None:
    bench = Bench()
    bench.running()
    assert "boot-1 up, 1 queued, 1 live" in repr(bench.backend)
    bench.env.hang()
    assert "hung" in repr(bench.env)
