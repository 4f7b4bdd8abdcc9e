"""What a third party registers wrongly is told with its name, and never as a fault of dispatch."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dispatch.cli.failures import report
from dispatch.conformance.harnesses import harness_named
from dispatch.model.errors import Invalid
from dispatch.spi.adapter import AdapterConfig
from dispatch.spi.registry import open_backend

MODULE = "registered_wrongly"
SOURCE = """
class Half:
    identity = None

def blocking(config):
    return Half()

async def half(config):
    return Half()

async def nothing(config):
    return None

async def raising(config):
    raise ValueError("no such queue")

number = 3
"""
ADAPTERS = {
    "blocking": f"{MODULE}:blocking",
    "half": f"{MODULE}:half",
    "nothing": f"{MODULE}:nothing",
    "number": f"{MODULE}:number",
    "raising": f"{MODULE}:raising",
    "no-module": "not_installed_anywhere:factory",
    "no-attribute": f"{MODULE}:absent",
}
HARNESSES = {"nothing": f"{MODULE}:number", "number": f"{MODULE}:blocking"}


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package with these entry points, as pip would have left it."""
    (tmp_path / f"{MODULE}.py").write_text(SOURCE)
    told = tmp_path / f"{MODULE}-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {MODULE}\nVersion: 1.0\n")
    groups = {"dispatch.adapters": ADAPTERS, "dispatch.conformance": HARNESSES}
    lines = [
        line
        for group, points in groups.items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in points.items()))
    ]
    (told / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield
    sys.modules.pop(MODULE, None)


@pytest.mark.parametrize(
    ("adapter", "why"),
    [
        ("blocking", "it is no `async def`"),
        ("half", "it gives a Half, which lacks answers, declarations, start, open"),
        ("nothing", "it gives a NoneType"),
        ("number", "it is of type int, which cannot be called"),
        ("no-module", "ModuleNotFoundError: No module named 'not_installed_anywhere'"),
        ("no-attribute", "has no attribute 'absent'"),
    ],
)
def test_an_adapter_that_is_registered_wrongly_is_told_by_its_package(
    adapter: str, why: str
) -> None:
    with pytest.raises(Invalid) as told:
        asyncio.run(open_backend(AdapterConfig(adapter=adapter, alias="here")))
    text = str(told.value)
    assert why in text, text
    assert ADAPTERS[adapter] in text
    assert f"of the package {MODULE}" in text


def test_what_a_factory_raises_of_its_own_is_told_with_the_adapter(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(ValueError, match="no such queue") as told:
        asyncio.run(open_backend(AdapterConfig(adapter="raising", alias="here")))
    report(told.value, as_json=False)
    assert "raised by the adapter raising as it was opened" in capsys.readouterr().err


def test_an_adapter_that_is_not_installed_is_told_where_adapters_come_from() -> None:
    with pytest.raises(Invalid, match=r"no adapter 'atd'.*memory.*slurm.*`dispatch\.adapters`"):
        asyncio.run(open_backend(AdapterConfig(adapter="atd", alias="here")))


@pytest.mark.parametrize(
    ("adapter", "why"),
    [
        ("nothing", "it is of type int, which cannot be called"),
        ("number", "it gives a Half, which is no Harness"),
    ],
)
def test_a_harness_that_is_registered_wrongly_is_told_by_its_package(
    adapter: str, why: str
) -> None:
    with pytest.raises(Invalid) as told:
        harness_named(adapter, {})
    text = str(told.value)
    assert why in text, text
    assert HARNESSES[adapter] in text
