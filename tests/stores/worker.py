"""A process of its own that writes to a store, for the tests of races and of sudden death.

It is told what to do by its arguments, begins when a line comes in, and prints what was acknowledged.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
from pathlib import Path

from dispatch.stores.directory import DirectoryStore
from dispatch.stores.opening import AnyStore
from dispatch.stores.sqlite import SqliteStore
from stores.samples import NOW, grow, header, hold, job_id, summary


def say(*words: object) -> None:
    """Print one line in one write, so that a line is there whole or not at all."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def opened(path: Path) -> AnyStore:
    """Open the store of the kind that the name says."""
    if path.suffix == ".d":
        return DirectoryStore.open(path, now=NOW)
    return SqliteStore.open(path, now=NOW, patience=60)


def create(path: Path, first: int, threads: int) -> None:
    """Create a job with the same key in each of so many threads at once, each with a store of its own."""
    barrier = threading.Barrier(threads)

    def one(number: int) -> None:
        barrier.wait()
        store = opened(path)
        job = job_id(number)
        say(job, store.create(header(job), summary(job, key="the key")).id)
        store.close()

    running = [threading.Thread(target=one, args=(first + n,)) for n in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def race(path: Path, writer: int, last: int) -> None:
    """Append on the newest version until there are ``last``, and print each version that was won."""
    store, job = opened(path), job_id(1)
    version = 1
    while version < last:
        if grow(store, job, version, [hold(version + 1, nonce=f"{writer}-{version}")]):
            say(version + 1, writer)
        version = store.summary(job).version
    store.close()


def die(path: Path, deaths: int, seed: int) -> None:
    """Let a child append three entries at a time, kill it at a random moment, and so on; print what was acknowledged."""
    choose = random.Random(seed)
    for life in range(deaths):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            append_for_ever(path, life, writer)
        os.close(writer)
        with os.fdopen(reader, "rb") as acknowledged:
            for _ in range(choose.randrange(1, 12)):
                acknowledged.readline()
            # A moment within the next append, not always at its beginning.
            for _ in range(choose.randrange(20_000)):
                pass
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            acknowledged_rest = acknowledged.read()
        say(life, acknowledged_rest.count(b"\n"))


def append_for_ever(path: Path, life: int, writer: int) -> None:
    store, job = opened(path), job_id(1)
    while True:
        version = store.summary(job).version
        nonce = f"{life}-{version}"
        entries = [hold(version + n, nonce=nonce) for n in (1, 2, 3)]
        assert grow(store, job, version, entries)
        say(nonce)
        os.write(writer, b"\n")


if __name__ == "__main__":
    sys.stdin.readline()
    what, place, *numbers = sys.argv[1:]
    {"create": create, "race": race, "die": die}[what](Path(place), *map(int, numbers))
