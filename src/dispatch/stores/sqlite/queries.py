"""The questions that are asked of the jobs, as SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dispatch.stores.shared import MOST_MATCHES, micros
from dispatch.stores.sqlite.rows import SUMMARY

if TYPE_CHECKING:
    from dispatch.spi.store import Query

# S608: what is put together here are names of our own columns; every value is bound.
BY_ID = f"SELECT {SUMMARY} FROM jobs WHERE id = ?"  # noqa: S608
BY_KEY = f"SELECT {SUMMARY} FROM jobs WHERE key = ?"  # noqa: S608

# The index is named, so that the query fails rather than crawl should the planner ever not see that it fits.
DUE = (
    f"SELECT {SUMMARY} FROM jobs INDEXED BY jobs_due"  # noqa: S608
    " WHERE finished = 0 AND due IS NOT NULL AND due <= ? ORDER BY due, id LIMIT ?"
)

BY_NAME_OR_PREFIX = (
    f"SELECT {SUMMARY} FROM jobs WHERE name = :text OR (id >= :low AND id < :high)"  # noqa: S608
    f" ORDER BY accepted_at DESC, id DESC LIMIT {MOST_MATCHES}"
)

VERSIONS = "SELECT id, version FROM jobs WHERE id IN (SELECT value FROM json_each(?))"

RESCHEDULE = "UPDATE jobs SET due = ? WHERE id = ? AND version = coalesce(?, version)"

CLAIM = """
    INSERT INTO claims (job, owner, until) SELECT id, :owner, :until FROM jobs WHERE id = :job
    ON CONFLICT (job) DO UPDATE SET owner = excluded.owner, until = excluded.until
        WHERE claims.owner = excluded.owner OR claims.until <= :now
"""


def listing(query: Query) -> tuple[str, dict[str, Any]]:
    """The statement of a query and its arguments."""
    where: list[str] = []
    bound: dict[str, Any] = {"limit": max(query.limit, 0)}

    def one_of(column: str, values: tuple[str, ...]) -> None:
        names = [f"{column}{index}" for index in range(len(values))]
        bound.update(zip(names, values, strict=True))
        where.append(f"{column} IN ({', '.join(f':{name}' for name in names)})")

    if query.finished is not None:
        where.append(f"finished = {int(query.finished)}")
    if query.states:
        one_of("state", tuple(state.value for state in query.states))
    if query.causes:
        one_of("cause", tuple(cause.value for cause in query.causes))
    for column, value in (("cluster", query.cluster), ("user", query.user), ("name", query.name)):
        if value is not None:
            one_of(column, (value,))
    for index, (label, value) in enumerate(query.labels.items()):
        bound |= {f"label{index}": label, f"value{index}": value}
        where.append(
            f"EXISTS (SELECT 1 FROM json_each(labels) AS l"  # noqa: S608
            f" WHERE l.key = :label{index} AND l.value = :value{index})"
        )
    if query.since is not None:
        bound["since"] = micros(query.since)
        where.append("accepted_at >= :since")
    if query.until is not None:
        bound["until"] = micros(query.until)
        where.append("accepted_at < :until")
    hint = "INDEXED BY jobs_unfinished" if query.finished is False else ""
    statement = (
        f"SELECT {SUMMARY} FROM jobs {hint} WHERE {' AND '.join(where) or 'TRUE'}"  # noqa: S608
        " ORDER BY accepted_at DESC, id DESC LIMIT :limit"
    )
    return statement, bound
