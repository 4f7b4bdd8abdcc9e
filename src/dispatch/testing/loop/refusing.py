"""What no simulated loop does: real input and output, threads, processes, signals. Each is refused by name."""

from __future__ import annotations

import asyncio
from typing import Any, NoReturn


def _refused(call: str) -> Any:
    def refuse(loop: Refusing, *_: object, **__: object) -> NoReturn:
        loop.refuse(call)

    refuse.__name__ = call
    return refuse


class Refusing(asyncio.AbstractEventLoop):
    """The part of an event loop's interface that reaches for the real world; ``refuse`` answers for all of it.

    ``asyncio.to_thread`` ends in ``run_in_executor``; streams, servers and sub-processes in the ``create_…`` calls.
    """

    def refuse(self, call: str) -> NoReturn:
        """Refuse a call, by name."""
        raise NotImplementedError(call)

    run_in_executor: Any = _refused("run_in_executor")
    set_default_executor: Any = _refused("set_default_executor")
    getaddrinfo: Any = _refused("getaddrinfo")
    getnameinfo: Any = _refused("getnameinfo")
    create_connection: Any = _refused("create_connection")
    create_server: Any = _refused("create_server")
    create_unix_connection: Any = _refused("create_unix_connection")
    create_unix_server: Any = _refused("create_unix_server")
    create_datagram_endpoint: Any = _refused("create_datagram_endpoint")
    connect_accepted_socket: Any = _refused("connect_accepted_socket")
    connect_read_pipe: Any = _refused("connect_read_pipe")
    connect_write_pipe: Any = _refused("connect_write_pipe")
    subprocess_exec: Any = _refused("subprocess_exec")
    subprocess_shell: Any = _refused("subprocess_shell")
    sendfile: Any = _refused("sendfile")
    start_tls: Any = _refused("start_tls")
    add_reader: Any = _refused("add_reader")
    remove_reader: Any = _refused("remove_reader")
    add_writer: Any = _refused("add_writer")
    remove_writer: Any = _refused("remove_writer")
    add_signal_handler: Any = _refused("add_signal_handler")
    remove_signal_handler: Any = _refused("remove_signal_handler")
    sock_accept: Any = _refused("sock_accept")
    sock_connect: Any = _refused("sock_connect")
    sock_recv: Any = _refused("sock_recv")
    sock_recv_into: Any = _refused("sock_recv_into")
    sock_recvfrom: Any = _refused("sock_recvfrom")
    sock_recvfrom_into: Any = _refused("sock_recvfrom_into")
    sock_sendall: Any = _refused("sock_sendall")
    sock_sendfile: Any = _refused("sock_sendfile")
    sock_sendto: Any = _refused("sock_sendto")
