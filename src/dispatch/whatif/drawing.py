"""Strokes of a picture in SVG: boxes, labels that fit, axes. All words are made safe here, and nowhere else."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from html import escape

WIDTH, LEFT, RIGHT = 960, 172, 28
WIDE = WIDTH - LEFT - RIGHT
"""What is left for bars, lines and axes, right of their labels."""
MARGIN = 16
BIG, SMALL = 13, 11
"""Sizes of letters, in pixels."""

# The colours of Okabe and Ito, which people who see few colours can tell apart.
POLICY_COLOURS = ("#2f86d1", "#d55e00", "#12a37c", "#cc79a7")
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1b1b1b}.t{font-size:17px;font-weight:600}.h{font-weight:600}"
    ".s{font-size:11px;fill:#555}.b{font-size:11px;fill:#1b1b1b}.w{font-size:11px;fill:#fff}"
    ".bg{fill:#fff}.track{fill:#ececec}.axis{stroke:#888;fill:none}.grid{stroke:#ddd;fill:none}"
    "@media(prefers-color-scheme:dark){text{fill:#eee}.s{fill:#aaa}.b{fill:#1b1b1b}.w{fill:#fff}"
    ".bg{fill:#161616}.track{fill:#333}.axis{stroke:#999}.grid{stroke:#363636}}"
)


def text(words: str) -> str:
    """Make words safe to stand in XML and HTML: no markup, and no letter that XML does not allow."""
    shown = (
        letter
        if letter.isprintable()
        else letter.encode("unicode_escape", "backslashreplace").decode()
        for letter in words
    )
    return escape("".join(shown))


def width_of(words: str, size: int = BIG) -> float:
    """Estimate how wide words are in a common font without serifs, rather too wide than too narrow."""
    return sum(_letter(letter) for letter in words) * size


def _letter(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.1
    if letter in "WM@%mw—…" or letter.isupper():
        return 0.9
    return 0.4 if letter in "iljt.,:;|!'() " else 0.65


def fitted(words: str, room: float, size: int = BIG) -> str:
    """Cut words where they would be wider than there is room."""
    if width_of(words, size) <= room:
        return words
    end = len(words)
    while end and width_of(words[:end] + "…", size) > room:
        end -= 1
    return words[:end] + "…"


def shortened(name: str, room: float) -> str:
    """Cut a name in its middle: names that begin alike are told apart by their ends."""
    if width_of(name) <= room:
        return name
    half = room / 2 - width_of("…")
    head = fitted(name, half + width_of("…")).removesuffix("…")
    tail = fitted(name[::-1], half + width_of("…")).removesuffix("…")[::-1]
    return f"{head}…{tail}"


def wrapped(words: str, room: float, size: int, lines: int) -> list[str]:
    """Break words into so many lines at the most; what is too much is cut."""
    found = [""]
    for word in words.split(" "):
        longer = f"{found[-1]} {word}".strip()
        if found[-1] and len(found) < lines and width_of(longer, size) > room:
            found.append(word)
        else:
            found[-1] = longer
    return [fitted(line, room, size) for line in found]


def label(
    x: float, y: float, words: str, style: str = "", *, anchor: str = "", full: str | None = None
) -> str:
    """Write words; ``full`` is what they were before they were cut, and is shown when one points at them."""
    kind = f' class="{style}"' if style else ""
    where = f' text-anchor="{anchor}"' if anchor else ""
    more = "" if full is None or full == words else f"<title>{text(full)}</title>"
    return f'<text x="{x:.1f}" y="{y:.1f}"{kind}{where}>{text(words)}{more}</text>'


def box(x: float, y: float, size: tuple[float, float], colour: str, words: str) -> str:
    """Draw a box that tells what it is when one points at it."""
    wide, high = size
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.0f}" fill="{colour}">'
        f"<title>{text(words)}</title></rect>"
    )


def is_dark(colour: str) -> bool:
    """Whether letters on this colour should be white."""
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue < 140


def ticks(most: float, count: int = 12) -> list[float]:
    """Choose round numbers from nothing to ``most``, at most ``count`` steps apart."""
    step = next(
        step
        for power in range(-3, 6)
        for step in (10.0**power, 2 * 10.0**power, 5 * 10.0**power)
        if most / step <= count
    )
    return [step * number for number in range(int(most / step + 1e-9) + 1)]


def across(most: float, y: float, unit: str) -> Iterator[str]:
    """Draw an axis from left to right, in round numbers of the unit, which stands with the last."""
    yield f'<path class="axis" d="M{LEFT} {y}h{WIDE}"/>'
    marks = ticks(most)
    for number in marks:
        x = LEFT + WIDE * number / most
        words = f"{number:g}"
        if number == marks[-1]:
            words = f"{words} %" if unit == "%" else f"{unit} {words}"
        yield f'<path class="axis" d="M{x:.1f} {y}v4"/>{label(x, y + 16, words, "s", anchor="middle")}'


def legend(entries: Sequence[tuple[str, str]], y: float) -> tuple[list[str], float]:
    """Name colours, in three columns below one another; answers where to go on."""
    lines: list[str] = []
    column = (WIDTH - 2 * MARGIN) / 3
    for place, (words, colour) in enumerate(entries):
        x, at = MARGIN + column * (place % 3), y + 18 * (place // 3)
        lines.append(
            f'<rect x="{x:.1f}" y="{at - 9:.1f}" width="11" height="11" rx="2" fill="{colour}"/>'
        )
        lines.append(label(x + 17, at, fitted(words, column - 24, SMALL), "s", full=words))
    return lines, y + 18 * -(-len(entries) // 3)
