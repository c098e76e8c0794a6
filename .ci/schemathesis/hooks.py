"""What Schemathesis cannot know of the API: where its document says less than the API does, and why."""
import re

import schemathesis
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.openapi.checks import RejectedPositiveData

# What a schema cannot say of a single request, so that one that its schema takes may be refused with 400: the field and
# the rule, as the reply names them. Another rule is a fault of the document.
UNSAID = [
    ("cursor|after", "was altered, or was not issued by this API"),
    ("from", "must not be given together with after"),
    ("at|from|to|.*effective_at", r"must not be before 2014-05-13T16:53:20Z(, the earliest time of a KSUID)?"),
    ("at|from|to|.*effective_at", "must (not be in the future|be in the past)"),
    ("from", "must not be after to"),
    (".*effective_at", "is not for a hold"),
    (r"metadata\.KEY", "is not indexed; the indexed keys are .*"),
    ("cursor", "belongs to another list or to other filters"),
    ("consistency", "is supported only together with asset"),
    ("currency", "must name another asset"),
    ("scale", "must be a whole number"),  # 2.0 is an integer of JSON Schema's
    ("id", "must be equal to the id in the path"),
    ("created_at|actor|version|state", "must be equal to the stored value"),
    ("version", "must be a whole number above zero"),  # 2.0, likewise
    (r"requests\[\d+\]\.\w+\.id", "is required"),
    ("If-Match", 'must be ETags of the account, such as "3", or *'),
    (r"hold\.expires_at", "must be after now and at most 31 days ahead"),
    ("quantity", "is required with cost"),
    ("id|Idempotency-Key", "must be the same in id and Idempotency-Key"),
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
    if isinstance(failure, AcceptedNegativeData):
        return case.operation.path != "/v1/batches"  # each request of a batch is refused for itself, within a 200
    if not isinstance(failure, RejectedPositiveData):
        return True
    if response.status_code in (412, 422):
        return False
    errors = response.json().get("errors", []) if response.status_code == 400 else []
    return not errors or not all(
        any(re.fullmatch(field, e["field"]) and (rule == e["rule"] or re.fullmatch(rule, e["rule"])) for field, rule in UNSAID) for e in errors
    )
