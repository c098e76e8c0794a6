"""A second implementation of the canonical form of events, in the standard library of Python 3.

It reads stored events from the standard input, one JSON object a line, with the members of the golden files. For each
it writes a line with the canonical form and the checksum, as a JSON list.
"""

import base64
import hashlib
import json
import sys


def canonical(value):
    """Returns the canonical form of a stored value: RFC 8785, with the digits of each number as a string."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(canonical(name) + ":" + canonical(value[name]) for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if value is True:
        return "true"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    raise ValueError(f"events do not have {value!r}")


def refuse(number):
    raise ValueError(f"{number} is not a whole number")


for line in sys.stdin:
    stored = json.loads(line, parse_int=str, parse_float=refuse, parse_constant=refuse)
    text = canonical({**stored["fields"], "Type": stored["name"], "V": stored["version"]}).encode("utf-8")
    digest = hashlib.sha256(text).digest()[:16]
    checksum = base64.urlsafe_b64encode(digest).decode("ascii").rstrip("=")
    print(json.dumps([text.decode("utf-8"), checksum]))
