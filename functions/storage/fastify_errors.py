"""Fastify's sentences for what pydantic finds wrong with a body or a query string.

Clients and the recorded requests of the real Storage API know these texts, for example
`body/limit must be >= 1`. One failure is reported: at each level first what is missing, then the properties
in the order in which they were sent.
"""

from collections.abc import Mapping, Sequence
from typing import Any

# By pydantic's type of error; the validators of `schemas` bring sentences of their own.
_SENTENCES = {
    "greater_than_equal": "must be >= {ge}",
    "too_short": "must NOT have fewer than {min_length} items",
    "too_long": "must NOT have more than {max_length} items",
    "string_too_short": "must NOT have fewer than {min_length} characters",
    "literal_error": "must be equal to one of the allowed values",
    "model_attributes_type": "must be object",
}


def first_failure(failures: Sequence[Mapping[str, Any]], sent: Mapping[str, Any]) -> str:
    """Return the sentence for the failure that Fastify would report; `sent` holds `body` and `query`."""
    failure = min(failures, key=lambda one: _position(one["loc"], sent))
    places = ["querystring" if failure["loc"][0] == "query" else "body", *map(str, failure["loc"][1:])]
    if failure["type"] == "missing":
        missing = places.pop()
        return f"{'/'.join(places)} must have required property '{missing}'"
    sentence = _SENTENCES.get(failure["type"], failure["msg"]).format(**failure.get("ctx", {}))
    return f"{'/'.join(places)} {sentence}"


def _position(place: Sequence[str | int], sent: Any) -> list[int]:
    """Return where a place lies in what was sent, level by level; before everything where it is missing."""
    positions = []
    for part in place:
        if isinstance(sent, Mapping):
            positions.append(list(sent).index(part) if part in sent else -1)
            sent = sent.get(part)
        elif isinstance(sent, list) and isinstance(part, int):
            positions.append(part)
            sent = sent[part]
    return positions
