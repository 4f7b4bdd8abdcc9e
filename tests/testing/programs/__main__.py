"""Print the traces of all programs, or of those that are named: `python -m testing.programs SEED|none [NAME …]`."""

from __future__ import annotations

import sys
from typing import Any

from dispatch.testing.loop import Trace, simulate
from testing.programs import PROGRAMS, Body, Log


def main() -> None:
    seed = None if sys.argv[1] == "none" else int(sys.argv[1])
    for each in PROGRAMS:
        if each.name in sys.argv[2:] or (each.since == (3, 11) and each.same_steps):
            trace, log = Trace(), Log()

            async def run(body: Body = each.body, log: Log = log) -> Any:
                return await body(log)

            result = simulate(run(), seed=seed, trace=trace)
            sys.stdout.write(f"── {each.name}\n{trace}\n= {result!r}\n")


if __name__ == "__main__":
    main()
