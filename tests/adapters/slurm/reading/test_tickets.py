"""The tickets of the job script, and the marks on an object."""

from __future__ import annotations

import pytest

from adapters.slurm.reading.given import BASE, COMMENT, JOB, KEY, REF, STARTED, tickets
from dispatch.adapters.slurm.reading.hostlist import expand
from dispatch.adapters.slurm.reading.key import Ref, decode_comment, encode_comment, job_of
from dispatch.adapters.slurm.reading.tickets import decode_tickets, merge
from dispatch.model.epoch import Epoch
from dispatch.model.errors import Invalid
from dispatch.model.status import ObjectKey


def test_a_comment_reads_back_as_it_was_written() -> None:
    comment = encode_comment(KEY, BASE, "0011" * 16)
    assert comment.isascii()
    assert len(comment) <= 1024
    marks = decode_comment(comment)
    assert marks is not None
    assert marks.key(JOB) == KEY
    assert (marks.base, marks.spec) == (BASE, "0011" * 4)


def test_unknown_marks_are_ignored_and_missing_ones_make_it_not_ours() -> None:
    assert decode_comment(f"{COMMENT} later=1") == decode_comment(COMMENT)
    for gone in ("store", "n", "a", "base", "spec"):
        assert (
            decode_comment(
                " ".join(part for part in COMMENT.split() if not part.startswith(f"{gone}="))
            )
            is None
        )


@pytest.mark.parametrize(
    "text",
    ["", "dispatch/2 store=s n=1 a=a base=1 spec=0", "x" * 2000, "dispatch/1", "dispatch/1 n=1"],
)
def test_what_is_no_comment_of_ours_is_none(text: str) -> None:
    assert decode_comment(text) is None


def test_the_marks_are_found_in_a_submit_line() -> None:
    line = f"sbatch --parsable --hold -J dj-{JOB} --comment={COMMENT} -o /dev/null --export=ALL run.sh a=b"
    assert decode_comment(line) == decode_comment(COMMENT)


@pytest.mark.parametrize("store", ["", "two words", "a\nb", "x" * 65, "ü"])
def test_a_key_that_no_comment_can_carry_is_refused(store: str) -> None:
    with pytest.raises(Invalid):
        encode_comment(ObjectKey(job=JOB, store=store, submission=1, attempt="a"), BASE, "00")


def test_a_ref_reads_back_as_it_was_written() -> None:
    assert Ref.parse(str(REF)) == REF
    assert str(REF) == f"7:{JOB}:1:{BASE}:a1"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7",
        "7:x:1:1:a",
        f"7:{JOB}:1:1:",
        f"-7:{JOB}:1:1:a",
        f"7:{JOB}:1:1:a:b",
        f"٣:{JOB}:1:1:a",
    ],
)
def test_what_is_no_ref_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        Ref.parse(text)


def test_a_name_is_ours_only_with_a_whole_ulid() -> None:
    assert job_of(f"dj-{JOB}") == JOB
    for name in ("dj-", f"dp-{JOB}", f"dj-{JOB}x", JOB, f"dj-{JOB.lower()}"):
        assert job_of(name) is None


def test_all_kinds_of_tickets_are_read() -> None:
    left = tickets(
        start_1000000=STARTED,
        end_1000000="status=3 signal=SIGTERM ended=9 attempt=a1",
        fenced_1000000="epoch=1000000 attempt=a1 jobid=7 node=n2 seen=same at=5",
    )
    epoch = Epoch(1, 0)
    start, end = left.start_of(epoch, 7, "a1"), left.end_of(epoch, "a1")
    assert start is not None
    assert (start.node, start.nodes, start.at) == ("n1", "n[1-2]", 2000)
    assert end is not None
    assert (end.status, end.signal, end.at) == (3, "TERM", 9)
    fenced = left.fenced_of(epoch, 7, "a1")
    assert fenced is not None
    assert (fenced.node, fenced.seen) == ("n2", "same")


@pytest.mark.parametrize(
    "line",
    [
        "", "x", f"./{JOB}/1000000.end:status=256", f"./{JOB}/1000000.end:status=", f"./{JOB}/1000000.end:status=-1",
        f"./{JOB}/x.start:jobid=1", "./nosuch/1.start:jobid=1", f"./{JOB}/{10**13}.start:jobid=1", f"./{JOB}/1.end.tmp:status=0",
    ],
)  # fmt: skip
def test_what_is_no_ticket_is_ignored(line: str) -> None:
    assert decode_tickets(line) == {}


def test_an_end_without_its_status_is_none() -> None:
    assert not tickets(end_1000000="signal= ended=9 attempt=a1").ends


def test_tickets_of_two_reads_are_each_there_once() -> None:
    one = tickets(start_1000000=STARTED)
    assert merge(one, one) == one


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ()), ("n1", ("n1",)), ("n[1-3]", ("n1", "n2", "n3")), ("n[1,3-4]", ("n1", "n3", "n4")),
        ("gpu[08-10],cpu1", ("gpu08", "gpu09", "gpu10", "cpu1")), ("r[0-1]n[0-1]", ("r0n0", "r0n1", "r1n0", "r1n1")),
        ("n[1-2]-ib", ("n1-ib", "n2-ib")), ("n[x]", ("n[x]",)), ("n[1", ("n[1",)), ("n[1-999999999]", ("n[1-999999999]",)),
        ("a[0-999]b[0-999]c[0-999]", ("a[0-999]b[0-999]c[0-999]",)),
    ],
)  # fmt: skip
def test_a_host_list_stands_for_its_names(text: str, names: tuple[str, ...]) -> None:
    assert expand(text) == names
