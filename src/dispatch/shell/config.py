"""The configuration: clusters, policies and where the records are, from the user's file and the directory's."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from dispatch.model.base import Value
from dispatch.model.documents_leaves import is_mapping
from dispatch.model.documents_words import perhaps, show
from dispatch.model.errors import Fault, Invalid, NotFound
from dispatch.model.job import Line
from dispatch.model.names import Name
from dispatch.model.policy import Policy
from dispatch.model.quantity import Duration
from dispatch.shell.files import Document, decode, open_document

CONFIG_VARIABLE = "DISPATCH_CONFIG"
"""Names one configuration file that is read in place of the usual ones."""
RECORDS_VARIABLE = "DISPATCH_RECORDS"
"""Names where the records are, whatever the configuration says."""

LOCAL_FILE = Path("dispatch.toml")
SHORTEST_POLL = Duration(seconds=1)


class ClusterConfig(Value):
    """How a cluster is reached: an adapter by name, and settings that this adapter decodes."""

    adapter: Name
    settings: dict[str, Any] = {}


class SupervisorConfig(Value):
    """How a supervisor works: the time between two looks at a cluster, and how many calls it makes there at once."""

    poll: Duration = Duration(seconds=10)
    concurrency: Annotated[int, Meta(ge=1, le=256)] = 8

    def __post_init__(self) -> None:
        if self.poll < SHORTEST_POLL:
            fault = Fault(path="poll", found=str(self.poll), allowed=f"at least {SHORTEST_POLL}")
            raise Invalid("The supervisor's settings are wrong.", faults=(fault,))


class ConfigFile(Value):
    """One configuration file, as it is written."""

    clusters: dict[Name, ClusterConfig] = {}
    policies: dict[Name, Policy] = {}
    records: Line | None = None
    default_cluster: Name | None = None
    supervisor: SupervisorConfig = SupervisorConfig()


class Config(Value):
    """The configuration in force: all files laid over each other, and which were read."""

    clusters: dict[str, ClusterConfig] = {}
    policies: dict[str, Policy] = {}
    records: str | None = None
    """An absolute path."""
    default_cluster: str | None = None
    supervisor: SupervisorConfig = SupervisorConfig()
    files: tuple[str, ...] = ()
    looked_for: tuple[str, ...] = ()
    """Files that are not there, but would have been read."""

    @property
    def origin(self) -> str:
        """Tell which files were read, or would have been."""
        if self.files:
            return f"read from {' and '.join(self.files)}"
        return (
            f"there is no {' and no '.join(self.looked_for)}"
            if self.looked_for
            else "none was read"
        )

    def cluster(self, name: str | None) -> tuple[str, ClusterConfig]:
        """Find a cluster by name; without a name the default one, or the only one. Raises ``Invalid``."""
        known = ", ".join(sorted(self.clusters)) or "none"
        if name is None:
            name = self.default_cluster or (
                next(iter(self.clusters)) if len(self.clusters) == 1 else None
            )
        if name is None:
            what = f"No cluster is named, and there is no default (known: {known}; {self.origin})."
            raise Invalid(what, todo=_HOW_TO_NAME if self.clusters else _HOW_TO_CONFIGURE)
        if name not in self.clusters:
            what = f"There is no cluster {show(name)}{perhaps(name, self.clusters)} (known: {known}; {self.origin})."
            raise Invalid(what, todo=_HOW_TO_CONFIGURE)
        return name, self.clusters[name]


_HOW_TO_NAME = (
    "Write `cluster: NAME` in the job, give --cluster, or set defaultCluster in the configuration."
)
_HOW_TO_CONFIGURE = 'Describe it in the configuration: a table [clusters.NAME] with adapter = "slurm" and its settings.'


def config_paths(env: Mapping[str, str], directory: Path) -> tuple[Path, ...]:
    """List the files to read, later ones over earlier ones: the user's, then the directory's."""
    if only := env.get(CONFIG_VARIABLE):
        return (Path(only),)
    return (
        _base(env, "XDG_CONFIG_HOME", ".config") / "dispatch" / "config.toml",
        directory / LOCAL_FILE,
    )


def find_config(env: Mapping[str, str] | None = None, directory: Path | None = None) -> Config:
    """Load the configuration that is in force here; a file that ``DISPATCH_CONFIG`` names must exist."""
    env = os.environ if env is None else env
    return load_config(
        config_paths(env, directory or Path()), required=bool(env.get(CONFIG_VARIABLE))
    )


def load_config(paths: Sequence[Path], *, required: bool = False) -> Config:
    """Read the files that exist, each later one over the earlier ones, key by key; ``Invalid`` has every fault of all."""
    config, errors = Config(), list[Invalid]()
    for path in paths:
        try:
            document = open_document(path)
            config = _over(config, document, path)
        except NotFound:
            if required:
                raise
            config = msgspec.structs.replace(config, looked_for=(*config.looked_for, str(path)))
        except Invalid as error:
            errors.append(_of_file(error, path))
    if len(errors) > 1:
        what = " ".join(error.what for error in errors)
        raise Invalid(what, faults=tuple(fault for error in errors for fault in error.faults))
    if errors:
        raise errors[0]
    if config.default_cluster is not None and config.default_cluster not in config.clusters:
        known = ", ".join(sorted(config.clusters)) or "none yet"
        fault = Fault(
            path="defaultCluster",
            found=show(config.default_cluster),
            allowed=f"a cluster of the configuration ({known})",
        )
        raise Invalid(f"The configuration has one fault ({config.origin}).", faults=(fault,))
    return config


def records_place(config: Config, env: Mapping[str, str] | None = None) -> Path:
    """Say where the records are: ``DISPATCH_RECORDS``, the configuration's ``records``, or the state directory."""
    env = os.environ if env is None else env
    if named := env.get(RECORDS_VARIABLE):
        return _expanded(named, env)
    if config.records is not None:
        return Path(config.records)
    return _base(env, "XDG_STATE_HOME", ".local/state") / "dispatch" / "records.db"


def _over(config: Config, document: Document, path: Path) -> Config:
    file = decode(document, ConfigFile)
    tables = document.data if is_mapping(document.data) else dict[object, object]()
    table = tables.get("supervisor")
    given = table if is_mapping(table) else ()
    # By field, so that the directory's file may set one and leave the other to the user's.
    changes = {
        name: getattr(file.supervisor, name) for name in ("poll", "concurrency") if name in given
    }
    records = config.records
    if file.records is not None:
        records = str(path.absolute().parent / _expanded(file.records, os.environ))
    return msgspec.structs.replace(
        config,
        clusters={**config.clusters, **file.clusters},
        policies={**config.policies, **file.policies},
        records=records,
        default_cluster=file.default_cluster or config.default_cluster,
        supervisor=msgspec.structs.replace(config.supervisor, **changes),
        files=(*config.files, str(path)),
    )


def _of_file(error: Invalid, path: Path) -> Invalid:
    faults = tuple(
        msgspec.structs.replace(fault, path=f"{path}: {fault.path}") for fault in error.faults
    )
    return Invalid(error.what, faults=faults, todo=error.todo)


def _base(env: Mapping[str, str], variable: str, default: str) -> Path:
    """Find a base directory as the XDG specification says: a relative path in its variable is to be ignored."""
    named = env.get(variable, "")
    return Path(named) if named.startswith("/") else _home(env) / default


def _home(env: Mapping[str, str]) -> Path:
    try:
        return Path(env["HOME"]) if env.get("HOME") else Path.home()
    except RuntimeError as error:
        what = "Your home directory is not known: HOME is not set, and the password database has no entry."
        raise Invalid(
            what, todo=f"Set HOME, or {CONFIG_VARIABLE} and {RECORDS_VARIABLE}."
        ) from error


def _expanded(text: str, env: Mapping[str, str]) -> Path:
    return _home(env) / text[2:] if text.startswith("~/") else Path(text)
