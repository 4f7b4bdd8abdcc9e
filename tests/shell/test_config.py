"""The configuration: two files over each other, every fault of both, and where the records are."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatch.model.errors import Invalid, NotFound
from dispatch.model.quantity import Duration
from dispatch.shell.config import (
    ClusterConfig,
    Config,
    config_paths,
    find_config,
    load_config,
    records_place,
)

USER = """
defaultCluster = "big"
records = "state/r.db"

[clusters.big]
adapter = "slurm"
settings = { host = "login1", depth = 2 }

[clusters.small]
adapter = "slurm"

[policies.spot]
unmatched = "hold"
[[policies.spot.rules]]
when = ["Preempted"]
do = "resubmit"

[supervisor]
poll = "10s"
concurrency = 4
"""
LOCAL = """
defaultCluster = "small"

[clusters.small]
adapter = "memory"

[supervisor]
poll = "5s"
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    user, local = tmp_path / "user" / "config.toml", tmp_path / "here" / "dispatch.toml"
    for path, text in ((user, USER), (local, LOCAL)):
        path.parent.mkdir()
        path.write_text(text)
    return user, local


def test_the_later_file_overrides_by_key(files: tuple[Path, Path]) -> None:
    config = load_config(files)
    assert config.clusters == {
        "big": ClusterConfig(adapter="slurm", settings={"host": "login1", "depth": 2}),
        "small": ClusterConfig(adapter="memory"),
    }
    assert config.default_cluster == "small"
    assert config.policies["spot"].rules[0].do == "resubmit"
    assert (config.supervisor.poll, config.supervisor.concurrency) == (Duration(seconds=5), 4)
    assert config.files == tuple(map(str, files))


def test_a_relative_place_of_records_is_beside_the_file_that_says_it(
    files: tuple[Path, Path],
) -> None:
    assert records_place(load_config(files), {"HOME": "/h"}) == files[0].parent / "state" / "r.db"


def test_no_file_is_an_empty_configuration_that_says_where_it_looked(tmp_path: Path) -> None:
    config = load_config([tmp_path / "a.toml", tmp_path / "b.toml"])
    assert config == Config(looked_for=(str(tmp_path / "a.toml"), str(tmp_path / "b.toml")))
    assert config.origin == f"there is no {tmp_path}/a.toml and no {tmp_path}/b.toml"


def test_an_empty_file_is_an_empty_configuration(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("")
    assert load_config([tmp_path / "a.toml"]) == Config(files=(str(tmp_path / "a.toml"),))


def test_every_fault_of_every_file_is_told_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(
        'default-cluster = "x"\nrecords = 5\n[clusters.big]\nadaptor = "slurm"\nsettings = { x = 1.5 }\n'
        '[policies.p]\nrules = [{when = ["Preempt"], do = "hold"}]\n[supervisor]\npoll = "1ms"\nconcurrency = 0\n'
    )
    (tmp_path / "b.toml").write_text("[clusters.small]\n")
    (tmp_path / "c.toml").write_text("[clusters.small\n")
    with pytest.raises(Invalid) as caught:
        load_config([tmp_path / name for name in ("a.toml", "b.toml", "c.toml")])
    assert [fault.path.removeprefix(f"{tmp_path}/") for fault in caught.value.faults] == [
        "a.toml: default-cluster",
        "a.toml: clusters.big.adaptor",
        "a.toml: clusters.big.settings.x",
        "a.toml: clusters.big.adapter",
        "a.toml: policies.p.rules[0].when[0]",
        "a.toml: records",
        "a.toml: supervisor.concurrency",
        "a.toml: supervisor.poll",
        "b.toml: clusters.small.adapter",
    ]
    assert "c.toml is no TOML" in caught.value.what


def test_a_default_cluster_must_be_there(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('defaultCluster = "x"\n')
    with pytest.raises(Invalid) as caught:
        load_config([tmp_path / "a.toml"])
    assert caught.value.faults[0].path == "defaultCluster"


def test_a_file_that_cannot_be_read_is_no_missing_file(tmp_path: Path) -> None:
    (tmp_path / "a.toml").mkdir()
    with pytest.raises(Invalid, match="is a directory"):
        load_config([tmp_path / "a.toml"])


# ---------------------------------------------------------------- clusters


def config(*names: str, default: str | None = None) -> Config:
    clusters = {name: ClusterConfig(adapter="memory") for name in names}
    return Config(clusters=clusters, default_cluster=default, files=("c.toml",))


def test_a_cluster_is_the_named_one_the_default_or_the_only_one() -> None:
    assert config("a", "b").cluster("b")[0] == "b"
    assert config("a", "b", default="b").cluster(None)[0] == "b"
    assert config("a").cluster(None)[0] == "a"


def test_an_unknown_cluster_lists_the_known_ones_and_the_files() -> None:
    with pytest.raises(Invalid) as caught:
        config("alpha", "beta").cluster("alpah")
    assert caught.value.what == (
        "There is no cluster 'alpah'; did you mean alpha? (known: alpha, beta; read from c.toml)."
    )
    with pytest.raises(Invalid, match=r"No cluster is named.*known: alpha, beta; read from c.toml"):
        config("alpha", "beta").cluster(None)
    with pytest.raises(Invalid, match=r"known: none; none was read"):
        Config().cluster(None)


# ---------------------------------------------------------------- places


def test_the_files_are_the_users_and_the_directorys() -> None:
    here = Path("/w")
    assert config_paths({"HOME": "/h"}, here) == (
        Path("/h/.config/dispatch/config.toml"),
        Path("/w/dispatch.toml"),
    )
    assert config_paths({"XDG_CONFIG_HOME": "/x"}, here)[0] == Path("/x/dispatch/config.toml")
    assert config_paths({"HOME": "/h", "XDG_CONFIG_HOME": "x"}, here)[0] == Path(
        "/h/.config/dispatch/config.toml"
    )
    assert config_paths({"HOME": "/h", "DISPATCH_CONFIG": "/c.toml"}, here) == (Path("/c.toml"),)


def test_a_file_that_the_environment_names_must_exist(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="There is no file"):
        find_config({"DISPATCH_CONFIG": str(tmp_path / "a.toml")})
    assert find_config({"HOME": str(tmp_path)}, tmp_path).files == ()


@pytest.mark.parametrize(
    ("env", "records", "place"),
    [
        ({"HOME": "/h"}, None, "/h/.local/state/dispatch/records.db"),
        ({"HOME": "/h", "XDG_STATE_HOME": "/s"}, None, "/s/dispatch/records.db"),
        ({"HOME": "/h", "XDG_STATE_HOME": "s"}, None, "/h/.local/state/dispatch/records.db"),
        ({"HOME": "/h"}, "/c/r.db", "/c/r.db"),
        ({"HOME": "/h", "DISPATCH_RECORDS": "/e/r.db"}, "/c/r.db", "/e/r.db"),
        ({"HOME": "/h", "DISPATCH_RECORDS": "~/r.db"}, None, "/h/r.db"),
    ],
)
def test_the_records_are_where_the_nearest_says(
    env: dict[str, str], records: str | None, place: str
) -> None:
    assert records_place(Config(records=records), env) == Path(place)


def test_a_home_in_the_configuration_is_the_users(tmp_path: Path, home: Path) -> None:
    (tmp_path / "a.toml").write_text('records = "~/r.db"\n')
    assert records_place(load_config([tmp_path / "a.toml"]), {}) == home / "r.db"
