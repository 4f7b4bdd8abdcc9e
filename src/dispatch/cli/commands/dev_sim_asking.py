"""Which options of ``dispatch dev sim`` go together: it hunts, replays, enumerates or hunts mutants, and each takes its own."""

from __future__ import annotations

import click
from click.core import ParameterSource

HUNT = "a hunt over many seeds"
WORLD = frozenset({"shape", "supervisors", "jobs", "climate", "storm", "calm", "small"})
TAKEN: dict[str, frozenset[str]] = {
    "seed": WORLD | {"stop_at", "only", "without_job"},
    "scenario": frozenset({"pairs"}),
    "mutants": frozenset({"calm", "seeds", "workers"}),
    HUNT: WORLD | {"seeds", "first_seed", "workers", "coverage"},
}
"""By the option that asks for it, what each takes."""


def check_together(context: click.Context) -> None:
    """Refuse options that would be passed over. Raises ``click.UsageError``."""
    flags = {one.name or "": one.opts[0] for one in context.command.params}
    given = [name for name in context.params if _is_given(context, name)]
    asked = [name for name in given if name in TAKEN] or [HUNT]
    if len(asked) > 1:
        raise click.UsageError(f"{flags[asked[0]]} and {flags[asked[1]]} exclude one another.")
    mode = asked[0]
    for name in given:
        takers = [flags.get(one, one) for one, taken in TAKEN.items() if name in taken]
        if takers and name not in TAKEN[mode]:
            raise click.UsageError(
                f"{flags[name]} goes with {' or '.join(takers)}, and not with {flags.get(mode, mode)}."
            )


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE
