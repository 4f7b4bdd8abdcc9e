"""Scripts run on this very host, or through a command such as ``sudo -u``."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from typing import cast

from dispatch.model.errors import OutcomeUnknown, Unavailable
from dispatch.model.quantity import Duration
from dispatch.spi.transport import Completed

MAX_OUTPUT = 64 * 1024 * 1024
"""A listing of some thousand jobs is 17 MB; what is larger is no answer to a question of ours."""

_PASSED = ("PATH", "HOME", "USER", "LOGNAME", "SLURM_CONF", "SLURM_JWT")
_REAP_SECONDS = 5.0


class LocalTransport:
    """Run scripts by ``[*through, "sh", "-c", script, "sh", *args]`` with a clean environment.

    ``through`` is a prefix such as ``("sudo", "-u", "alice")``. More than ``max_output`` bytes of standard output or
    of standard error end the script, and its outcome is unknown.
    """

    def __init__(self, through: Sequence[str] = (), *, max_output: int = MAX_OUTPUT) -> None:
        self._through = tuple(through)
        self._max_output = max_output
        self._closed = False

    def __repr__(self) -> str:
        return f"<LocalTransport{' through ' + ' '.join(self._through) if self._through else ''}>"

    async def run(
        self, script: str, args: Sequence[str] = (), *, stdin: bytes = b"", timeout: Duration
    ) -> Completed:
        """Run the script and wait for its end; see ``spi.transport.Transport``."""
        if self._closed:
            raise Unavailable("The transport is closed.", todo="Open the cluster again.")
        talk = await self._start([*self._through, "sh", "-c", script, "sh", *args])
        try:
            talk.say(stdin)
            async with asyncio.timeout(timeout.total_seconds()):
                await talk.ended
        except TimeoutError:
            raise OutcomeUnknown(
                f"A command on this host was still running after {timeout} and was ended.",
                todo="Look at the load of this host and at the scheduler's controller.",
            ) from None
        finally:
            await talk.finish()
        return talk.completed()

    async def close(self) -> None:
        """Refuse further calls; those under way end by themselves."""
        self._closed = True

    async def _start(self, argv: list[str]) -> _Conversation:
        loop = asyncio.get_running_loop()
        environment = clean_environment(os.environ)
        # A session of its own: a signal to our terminal's group must not cut a write in two.
        making = asyncio.ensure_future(
            loop.subprocess_exec(
                lambda: _Conversation(self._max_output),
                *argv,
                env=environment,
                start_new_session=True,
            )
        )
        try:
            # Shielded: asyncio, cancelled while it connects the pipes, may wait for ever and kills only the first process.
            _, talk = await asyncio.shield(making)
        except asyncio.CancelledError:
            with contextlib.suppress(OSError, ValueError):
                _, talk = await making
                await talk.finish()
            raise
        except (OSError, ValueError) as error:
            raise Unavailable(
                f"Cannot start {argv[0]!r} on this host: {error}.",
                todo="See that the command exists and may be run, and that no argument passes the kernel's 128 KiB.",
            ) from error
        return talk


class _Conversation(asyncio.SubprocessProtocol):
    """One process: what goes in, what comes out, and its end.

    A protocol of our own, since asyncio's ``Process`` cannot let go of pipes that a process which has left the group
    still holds.
    """

    def __init__(self, max_output: int) -> None:
        loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = loop.create_future()
        """Done when the process has ended and both of its outputs are closed."""
        self._exited: asyncio.Future[None] = loop.create_future()
        self._max_output = max_output
        self._output = {1: bytearray(), 2: bytearray()}
        self._transport: asyncio.SubprocessTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._output[fd] += data
        if len(self._output[fd]) > self._max_output and not self.ended.done():
            stream = "output" if fd == 1 else "error"
            self.ended.set_exception(
                OutcomeUnknown(
                    f"A command on this host printed more than {self._max_output} bytes on standard {stream} and was ended.",
                    todo="See what it prints, such as a shell profile's endless output.",
                )
            )

    def process_exited(self) -> None:
        self._exited.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (asyncio's signature)
        if not self.ended.done():
            self.ended.set_result(None)

    def say(self, data: bytes) -> None:
        """Write all of standard input and close it. A script need not read it: its return code tells the story then."""
        stdin = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
        stdin.write(data)
        stdin.close()

    def completed(self) -> Completed:
        """What came of it, once it has ended."""
        returncode = self._transport.get_returncode()
        assert returncode is not None
        return Completed(
            returncode=returncode, stdout=bytes(self._output[1]), stderr=bytes(self._output[2])
        )

    async def finish(self) -> None:
        """Leave nothing behind: kill the whole group unless all went well, close the pipes, collect the process."""
        if not (
            self.ended.done() and not self.ended.cancelled() and self.ended.exception() is None
        ):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._transport.get_pid(), signal.SIGKILL)
        self._transport.close()
        # Uncollected, it would stay as a zombie where the loop ends with this call.
        await asyncio.wait([self._exited], timeout=_REAP_SECONDS)


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Keep of an environment what finds the commands and the cluster; the language is always the same."""
    kept = {name: environment[name] for name in _PASSED if name in environment}
    kept.setdefault("PATH", "/usr/local/bin:/usr/bin:/bin")
    return kept | {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
