"""Scripts on this host: what reaches them, what comes back, and that nothing is left behind."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from dispatch.model.errors import OutcomeUnknown, Unavailable
from dispatch.model.quantity import Duration
from dispatch.spi.transport import Completed
from dispatch.transports import LocalTransport

LONG = Duration(seconds=20)
HOSTILE = (
    "",
    "-n",
    "a b",
    "it's",
    '"$(reboot)`x`"',
    "line\nbreak\n",
    "\\",
    "*",
    "naïve ☃",
    "x" * 100_000,
)


def run(
    script: str,
    *args: str,
    transport: LocalTransport | None = None,
    stdin: bytes = b"",
    timeout: Duration = LONG,
) -> Completed:
    return asyncio.run(
        (transport or LocalTransport()).run(script, args, stdin=stdin, timeout=timeout)
    )


def await_that(condition: Callable[[], bool]) -> None:
    """Wait for another process, by asking it again and again, for a bounded number of times."""
    for _ in range(100_000):
        if condition():
            return
        os.sched_yield()
    raise AssertionError("waited in vain")


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def ended(pid: int) -> bool:
    """Whether it runs no more; a container's first process may never collect the orphans that end."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in {"Z", "X"}
    except FileNotFoundError:
        return True


def test_arguments_arrive_byte_for_byte() -> None:
    done = run('for a; do printf "%s\\0" "$a"; done', *HOSTILE)
    assert done.stdout.decode().split("\0")[:-1] == list(HOSTILE)


def test_input_output_errors_and_the_return_code_are_told_apart() -> None:
    done = run("cat; echo oops >&2; exit 7", stdin=b"\0\xff" * 100_000)
    assert (done.stdout, done.stderr, done.returncode) == (b"\0\xff" * 100_000, b"oops\n", 7)


def test_a_script_need_not_read_its_input() -> None:
    assert run("exit 3", stdin=b"x" * 1_000_000).returncode == 3


def test_a_script_that_a_signal_ends_tells_so() -> None:
    assert run("kill -TERM $$").returncode == -15


def test_the_environment_holds_what_finds_the_cluster_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("SBATCH_PARTITION", "SQUEUE_FORMAT", "LC_ALL", "AWS_SECRET", "BASH_ENV", "ENV"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("SLURM_CONF", "/etc/other.conf")
    names = {line.split("=")[0] for line in run("env").out.splitlines()}
    assert "SLURM_CONF" in names
    allowed = {
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SLURM_CONF",
        "SLURM_JWT",
        "LANG",
        "LC_ALL",
        "PWD",
        "_",
        "SHLVL",
        "OLDPWD",
    }
    assert names <= allowed


def test_a_prefix_runs_the_script_somewhere_else() -> None:
    transport = LocalTransport(("env", "WHERE=there"))
    assert run('echo "$WHERE $1"', "x", transport=transport).out == "there x\n"


def test_a_command_that_is_missing_surely_did_not_run() -> None:
    with pytest.raises(Unavailable, match="no-such-command"):
        run("echo", transport=LocalTransport(("no-such-command",)))


def test_an_argument_beyond_the_kernels_limit_surely_did_not_run() -> None:
    with pytest.raises(Unavailable, match="Argument list too long"):
        run("echo", "x" * 200_000)


def test_a_closed_transport_runs_nothing() -> None:
    transport = LocalTransport()
    asyncio.run(transport.close())
    asyncio.run(transport.close())
    with pytest.raises(Unavailable):
        run("echo", transport=transport)


def test_a_script_that_lasts_too_long_is_killed_with_all_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with pytest.raises(OutcomeUnknown, match="still running after 300ms"):
        run('sleep 1000 & echo $! $$ >"$1"; wait', str(pids), timeout=Duration.of_ms(300))
    await_that(lambda: all(ended(int(pid)) for pid in pids.read_text().split()))


def test_a_child_that_left_the_group_holds_nothing_up(tmp_path: Path) -> None:
    pids = tmp_path / "pid"
    with pytest.raises(OutcomeUnknown):
        run(
            'setsid sh -c \'echo $$ >"$1"; exec sleep 20\' sh "$1" & wait',
            str(pids),
            timeout=Duration.of_ms(300),
        )
    os.kill(int(pids.read_text()), 9)


def test_output_beyond_the_bound_ends_the_script() -> None:
    with pytest.raises(OutcomeUnknown, match="more than 1000 bytes on standard error"):
        run("yes >&2", transport=LocalTransport(max_output=1_000))


def test_a_cancelled_call_leaves_no_process(tmp_path: Path) -> None:
    pids = tmp_path / "pid"

    async def cancelled() -> None:
        call = asyncio.create_task(
            LocalTransport().run('echo $$ >"$1"; sleep 1000', [str(pids)], timeout=LONG)
        )
        for _ in range(1_000_000):
            if pids.exists() and pids.read_text():
                break
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        # Collected before the call returned: no zombie is left.
        assert gone(int(pids.read_text()))

    asyncio.run(cancelled())


def test_many_calls_leave_no_descriptor_open() -> None:
    async def calls() -> tuple[int, int]:
        transport = LocalTransport()
        await transport.run("true", timeout=LONG)
        before = descriptors()
        many: list[Coroutine[Any, Any, Completed]] = [
            transport.run("cat", stdin=b"x", timeout=LONG) for _ in range(20)
        ]
        await asyncio.gather(*many)
        return before, descriptors()

    before, after = asyncio.run(calls())
    assert after <= before
