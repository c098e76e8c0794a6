"""What Schemathesis cannot know of the API: where its document says less than the API does, and why."""
import re

import schemathesis
from schemathesis.openapi.checks import RejectedPositiveData

# What a schema cannot say of a single request, so that one that its schema takes may be refused with 400: the field and
# the rule, as the reply names them. Another rule is a fault of the document.
UNSAID = [
    ("cursor", "is not one that this API gave out"),
    ("cursor", "belongs to another list or to other filters"),
    ("consistency", "is offered only with asset: the index over all assets cannot be read strongly"),
    ("currency", "must name another asset"),
    ("scale", "must be a whole number"),  # 2.0 is an integer of JSON Schema's
    ("id|Idempotency-Key", "must be the same as the other of id and Idempotency-Key"),
    ("profile", "must have at most 4096 bytes as compact JSON"),
    ("metadata", "must have at most 4096 bytes in all"),
]


@schemathesis.hook
def before_load_schema(context, raw_schema):
    # Nobody vouches for callers of a server on one's own machine: it asks for no Authorization.
    del raw_schema["security"]
    for path, operations in raw_schema["paths"].items():
        for operation in operations.values():
            # "default" would make a documented status of every one.
            other = operation["responses"].pop("default")
            if "{" in path:  # an empty id makes another path of it, where nothing is served
                operation["responses"].setdefault("404", other)


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Tells whether a failure is one: the rules over several fields and over what there is (422) are in no schema."""
    if not isinstance(failure, RejectedPositiveData):
        return True
    if response.status_code == 422:
        return False
    errors = response.json().get("errors", []) if response.status_code == 400 else []
    return not errors or not all(
        any(re.fullmatch(field, e["field"]) and rule == e["rule"] for field, rule in UNSAID) for e in errors
    )
