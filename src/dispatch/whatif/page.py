"""A page about simulated policies: the picture, every table, and the conditions. It fetches nothing."""

from __future__ import annotations

from collections.abc import Sequence

from dispatch.whatif.drawing import text
from dispatch.whatif.reporting import Report
from dispatch.whatif.sheets import Sheet, sentences, sheets, told_conditions

STYLE = (
    ":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:1000px;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;margin:.5rem 0 1.5rem;display:block;overflow-x:auto}"
    "th,td{padding:.2rem .8rem .2rem 0;text-align:left;border-bottom:1px solid #8886;white-space:pre-wrap}"
    "caption{font-weight:600;text-align:left}svg{max-width:100%;height:auto}"
)
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(reports: Sequence[Report], picture: str) -> str:
    """Write the page. ``picture`` is the SVG of these reports."""
    first = reports[0]
    names = text(" and ".join(one.name for one in reports))
    told = [f"{one.name}: {words}." for one in reports for words in sentences(one)]
    head = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Simulation of {names}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>\n<body><main>'
    )
    return "\n".join([
        head,
        f"<h1>Simulation of {names}</h1>",
        picture.strip(),
        *_list(told),
        *map(_table, sheets(reports)),
        "<h2>Conditions</h2>",
        *_list(told_conditions(first.conditions)),
        "</main></body></html>\n",
    ])  # fmt: skip


def _list(lines: Sequence[str]) -> list[str]:
    return ["<ul>", *(f"<li>{text(line)}</li>" for line in lines), "</ul>"] if lines else []


def _table(sheet: Sheet) -> str:
    heads = "".join(f'<th scope="col">{text(name)}</th>' for name in sheet.headings)
    rows = "\n".join(
        f'<tr><th scope="row">{text(row[0])}</th>{"".join(f"<td>{text(cell)}</td>" for cell in row[1:])}</tr>'
        for row in sheet.rows
    )
    return f"<table><caption>{text(sheet.title)}</caption>\n<thead><tr>{heads}</tr></thead>\n<tbody>{rows}</tbody></table>"
