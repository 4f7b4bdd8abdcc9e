"""Text to values and back: canonical JSON out, strict in."""

from __future__ import annotations

import hashlib
from typing import Any, TypeVar

import msgspec

from dispatch.model.errors import Invalid
from dispatch.model.quantity import Duration, Size

T = TypeVar("T")


def _to_text(value: Any) -> Any:
    if isinstance(value, Duration | Size):
        return str(value)
    raise NotImplementedError(type(value).__name__)


def _from_text(kind: type, value: Any) -> Any:
    if issubclass(kind, Duration | Size):
        if not isinstance(value, str):
            raise ValueError(kind.ALLOWED)
        return kind.parse(value)
    raise NotImplementedError(kind.__name__)


def encode(value: Any) -> bytes:
    """Encode a value as canonical JSON: keys in a fixed order, no spaces, defaults left out."""
    return msgspec.json.encode(value, enc_hook=_to_text, order="deterministic")


def to_builtins(value: Any) -> Any:
    """Turn a value into plain dicts, lists and text, as its JSON would read."""
    return msgspec.to_builtins(value, enc_hook=_to_text, str_keys=True)


def decode(data: bytes | str, kind: type[T]) -> T:
    """Decode JSON that dispatch itself wrote; ``Invalid`` names the first fault.

    A document that a person wrote goes through ``documents.decode_document``, which finds every fault.
    """
    try:
        return msgspec.json.decode(data, type=kind, dec_hook=_from_text)
    except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Invalid(f"This is no {kind.__name__}: {error}.") from error


def fingerprint(value: Any) -> str:
    """Hash the canonical encoding: equal values give equal text on every machine."""
    return hashlib.sha256(encode(value)).hexdigest()
