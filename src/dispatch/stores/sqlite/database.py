"""One connection to the file: opening it, its transactions, and what is checked before each."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from dispatch.model.errors import DispatchError, NewerSchema, ReadOnly, StoreError
from dispatch.stores.filesystem import file_system_of, refuse_shared
from dispatch.stores.sqlite import faults, files, schema

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

_Identity = tuple[tuple[int, int], tuple[int, int] | None]


class Database:
    """A connection in WAL mode. It belongs to the thread and the process that opened it: none may cross a fork."""

    def __init__(
        self,
        path: Path,
        raw: sqlite3.Connection,
        lock: files.WriterLock | None,
        patience: float,
        warning: str = "",
    ) -> None:
        self.path = path
        self.raw = raw
        self.warning = warning
        self.patience = patience
        self.present = True
        self.newest = len(schema.MIGRATIONS)
        self._lock = lock
        self._identity: _Identity | None = None
        self._closed = False

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        patience: float,
        migrations: Sequence[schema.Migration] = schema.MIGRATIONS,
    ) -> Database:
        """Open for writing; make or migrate the file where needed."""
        with _explaining("open", path):
            # By type first: nothing shall be made where nothing may be kept.
            warning = refuse_shared(file_system_of(path))
            files.make_directory(path.parent)
            files.check_directory(path.parent)
            lock = files.WriterLock(path.parent)
            try:
                with lock.held(patience):
                    files.create(path)
                    _check_content(path, files.check_file(path).st_size)
                    files.check_writable(path)
                    # By each opener: another may have made the file and not come so far.
                    files.sync_directory(path.parent)
                    raw = _connect(path, "mode=rw", patience)
                    try:
                        _prepare(path, raw, migrations)
                    except BaseException:
                        raw.close()
                        raise
            except BaseException:
                lock.close()
                raise
        opened = cls(path, raw, lock, patience, warning)
        opened.newest = len(migrations)
        return opened

    @classmethod
    def open_read_only(
        cls,
        path: Path,
        *,
        patience: float,
        migrations: Sequence[schema.Migration] = schema.MIGRATIONS,
    ) -> Database:
        """Open for reading. Nothing is made or migrated; what is not there reads as empty."""
        with _explaining("open", path):
            try:
                size = files.check_file(path).st_size
            except (FileNotFoundError, NotADirectoryError):
                size = 0
            if size == 0:
                return cls._nothing(path, patience)
            _check_content(path, size)
            warning = refuse_shared(file_system_of(path))
            raw = _connect(path, _reading_mode(path), patience)
            try:
                raw.execute("PRAGMA query_only = ON")
                _check_version(path, raw, len(migrations))
                version = schema.version_of(raw)
            except BaseException:
                raw.close()
                raise
        if version == 0:  # somebody is making it just now
            raw.close()
            return cls._nothing(path, patience)
        if version < len(migrations):
            raw.close()
            raise StoreError(
                f"The records {path} have schema {version}, and this dispatch reads {len(migrations)}.",
                todo="Any command that writes brings them up to date, such as `dispatch supervise --once`.",
            )
        return cls(path, raw, None, patience, warning)

    @classmethod
    def _nothing(cls, path: Path, patience: float) -> Database:
        raw = sqlite3.connect(":memory:", isolation_level=None)
        schema.migrate(raw, schema.MIGRATIONS)
        raw.execute("PRAGMA query_only = ON")
        opened = cls(path, raw, None, patience)
        opened.present = False
        return opened

    @contextmanager
    def write(self, doing: str, *, durable: bool = True) -> Generator[sqlite3.Connection]:
        """One transaction that writes, all or nothing; when it returns, it is on the disk.

        With ``durable=False`` only its order is kept, not its presence, through a power cut: for hints.
        """
        self._check_open(doing)
        if self._lock is None:
            raise ReadOnly(
                f"Cannot {doing}: the records {self.path} were opened for reading only.",
                todo="Open them for writing.",
            )
        with (
            self._lock.held(self.patience),
            self._transaction(doing, "IMMEDIATE", durable=durable) as raw,
        ):
            # Another process may have migrated the file since it was opened here.
            if (found := schema.version_of(raw)) != self.newest:
                raise _newer(self.path, found, self.newest)
            yield raw

    @contextmanager
    def read(self, doing: str) -> Generator[sqlite3.Connection]:
        """One transaction that reads one state of the records."""
        self._check_open(doing)
        with self._transaction(doing, "DEFERRED", durable=True) as raw:
            yield raw

    @contextmanager
    def _transaction(
        self, doing: str, kind: str, *, durable: bool
    ) -> Generator[sqlite3.Connection]:
        raw = self.raw
        with _explaining(doing, self.path):
            # Set each time, so that no path leaves the connection less durable than the next one needs.
            raw.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            raw.execute(f"BEGIN {kind}")
            try:
                yield raw
                self._check_still_there()
                raw.execute("COMMIT")
            except BaseException:
                # Not every failure leaves a transaction to roll back: SQLite ends it itself when the disk is full.
                with suppress(sqlite3.Error):
                    if raw.in_transaction:
                        raw.execute("ROLLBACK")
                raise

    def _check_open(self, doing: str) -> None:
        if self._closed:
            raise StoreError(
                f"Cannot {doing}: the records {self.path} are closed.", todo="Open them again."
            )

    def _check_still_there(self) -> None:
        """Refuse to go on when the file under the name is no longer the one that is open.

        SQLite would go on writing to the deleted file, and acknowledge what nobody will ever read.
        """
        if not self.present:
            return
        found = (_key(self.path), _key(files.sidecar(self.path, "-wal")))
        if self._identity is None and found[0] is not None:
            self._identity = (found[0], found[1])
        elif found != self._identity:
            raise StoreError(
                f"The records {self.path} were deleted, moved or replaced while they were open; nothing was written.",
                todo="Put them back if that was a mistake, then start dispatch again.",
            )

    def close(self) -> None:
        """Let go of the file; a second close does nothing."""
        self._closed = True
        with suppress(sqlite3.Error):
            self.raw.close()
        if self._lock is not None:
            self._lock.close()


def _key(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def _explaining(doing: str, path: Path) -> Generator[None]:
    try:
        yield
    except DispatchError:
        raise
    except UnicodeEncodeError as error:
        raise faults.of_text(error, doing) from error
    except sqlite3.Error as error:
        raise faults.of_sqlite(error, doing, path) from error
    except OSError as error:
        raise faults.of_system(error, doing, path) from error


def _connect(path: Path, mode: str, patience: float) -> sqlite3.Connection:
    raw = sqlite3.connect(
        f"{path.as_uri()}?{mode}", uri=True, timeout=patience, isolation_level=None
    )
    # A file that came from elsewhere shall not run functions by its views and triggers.
    for pragma in ("trusted_schema = OFF", "foreign_keys = ON", "temp_store = MEMORY"):
        raw.execute(f"PRAGMA {pragma}")
    return raw


def _reading_mode(path: Path) -> str:
    """How to read without leaving anything behind.

    A reader of a WAL needs its files. Where it may write, it removes them again when it is the last to close, which a
    ``mode=ro`` connection does not. Where it may not (a read-only mount) and there is no log, the file alone is the whole
    truth, and ``immutable`` reads it without the log that cannot be made.
    """
    if files.is_writable(path):
        return "mode=rw"
    return "mode=ro" if files.sidecar(path, "-wal").exists() else "mode=ro&immutable=1"


def _check_content(path: Path, size: int) -> None:
    """Refuse a file shorter than the smallest page: SQLite would take it for an empty database and write over it."""
    if 0 < size < 512 and not files.sidecar(path, "-journal").exists():
        raise faults.of_sqlite(
            sqlite3.DatabaseError(f"{size} bytes"), "open", path, sqlite3.SQLITE_NOTADB
        )


def _prepare(path: Path, raw: sqlite3.Connection, migrations: Sequence[schema.Migration]) -> None:
    _check_version(path, raw, len(migrations))
    mode = raw.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise StoreError(f"SQLite cannot keep a write-ahead log for {path} (it chose {mode!r}).",
                         todo="Name a path on another local file system with `--records PATH`.")  # fmt: skip
    # On macOS only this makes a sync reach the disk; elsewhere it does nothing.
    raw.execute("PRAGMA fullfsync = ON")
    raw.execute("PRAGMA checkpoint_fullfsync = ON")
    raw.execute("PRAGMA synchronous = FULL")
    if schema.version_of(raw) == len(migrations):
        return
    raw.execute("BEGIN IMMEDIATE")
    try:
        schema.migrate(raw, migrations)
        raw.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            raw.execute("ROLLBACK")
        raise


def _check_version(path: Path, raw: sqlite3.Connection, known: int) -> None:
    if not schema.is_ours(raw):
        raise StoreError(f"{path} is a database of another program; nothing was changed in it.",
                         todo="Name another path with `--records PATH`.")  # fmt: skip
    if (found := schema.version_of(raw)) > known:
        raise _newer(path, found, known)


def _newer(path: Path, found: int, known: int) -> NewerSchema:
    return NewerSchema(
        f"The records {path} have schema {found}, written by a newer dispatch; this one knows {known}. They were left alone.",
        todo="Upgrade dispatch here to the version that is used beside it, or name other records with `--records PATH`.",
    )
