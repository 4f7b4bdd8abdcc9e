"""The parts of one store, put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch.stores.directory.accepting import Accepting
from dispatch.stores.directory.finished import Finished
from dispatch.stores.directory.keys import Keys
from dispatch.stores.directory.nonces import Nonces
from dispatch.stores.directory.queue import Queue
from dispatch.stores.directory.records import Records
from dispatch.stores.directory.scheduling import Scheduling
from dispatch.stores.directory.work import Work

if TYPE_CHECKING:
    from dispatch.stores.directory.files import Files


class Parts:
    """The records, and the lists that follow from them."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.records = Records(files)
        self.queue = Queue(files)
        self.keys = Keys(files)
        self.nonces = Nonces(files)
        self.finished = Finished(files, self.records, self.queue)
        self.accepting = Accepting(files, self.records, self.queue, self.keys)
        self.scheduling = Scheduling(self.records, self.queue)
        self.work = Work(files)
