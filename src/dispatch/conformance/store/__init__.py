"""The store suite, a module a subject."""

from dispatch.conformance.store import questions, records, together
from dispatch.conformance.store.suite import STORE, OpenStore

__all__ = ["STORE", "OpenStore", "questions", "records", "together"]
