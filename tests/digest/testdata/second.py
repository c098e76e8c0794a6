"""A second implementation of notes and proofs, written from docs/proof.md alone, in the standard library of Python 3.

It reads a JSON object from the standard input: "items", the table's items in the form of DynamoDB's JSON, "note", a note,
and "proofs", texts of proofs. It prints a JSON object: "leaves", in hexadecimal, "root", whether the "note" has it, and
"proofs", whether each proves its event under its note.
"""

import base64
import hashlib
import json
import sys


def value(stored):
    """Returns the canonical form of a value of DynamoDB."""
    (kind, inner), = stored.items()
    if kind in "SN":
        return json.dumps(inner, ensure_ascii=False)
    if kind == "BOOL" and inner:
        return "true"
    if kind == "L":
        return "[" + ",".join(map(value, inner)) + "]"
    if kind == "M":
        names = sorted(inner, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(value({"S": name}) + ":" + value(inner[name]) for name in names) + "}"
    raise ValueError(f"events do not have {stored!r}")


def canonical(item):
    left_out = {"PK", "SK", "PK2", "SK2", "Checksum"}
    return value({"M": {name: v for name, v in item.items() if name not in left_out}}).encode("utf-8")


def leaf(form):
    return hashlib.sha256(b"\0" + form).digest()


def node(left, right):
    return hashlib.sha256(b"\1" + left + right).digest()


def split(n):
    """Returns the largest power of two that is less than n."""
    return 1 << (n - 1).bit_length() - 1


def root(leaves):
    if len(leaves) == 1:
        return leaves[0]
    k = split(len(leaves))
    return node(root(leaves[:k]), root(leaves[k:]))


def climb(index, size, at, path):
    """Returns the root that a path leads to from the leaf at an index. The path begins next to the leaf."""
    if size == 1:
        if path:
            raise ValueError("the path is too long")
        return at
    k = split(size)
    if index < k:
        return node(climb(index, k, at, path[:-1]), path[-1])
    return node(path[-1], climb(index - k, size - k, at, path[:-1]))


def parse(note):
    origin, size, root, page = note.split("\n\n")[0].split("\n")
    return int(size), base64.b64decode(root), page.removeprefix("page ")


def proves(text):
    head, _, note = text.partition("\n\n")
    _, extra, index, *path = head.split("\n")
    size, root, _ = parse(note)
    form = base64.b64decode(extra.removeprefix("extra "))
    path = [base64.b64decode(hash) for hash in path]
    try:
        return climb(int(index.removeprefix("index ")), size, leaf(form), path) == root
    except (ValueError, IndexError):
        return False


given = json.load(sys.stdin)
table = {(item["PK"]["S"], item["SK"]["S"]): item for item in given["items"]}
size, signed, last = parse(given["note"])
leaves = []
for sk, pk in sorted((sk, pk) for pk, sk in table):
    page = table[pk, sk]
    if not pk.startswith("JOURNAL#") or sk > "ENTRIES#" + last or "Void" in page:
        continue
    for entry in page["Entries"]["L"]:
        leaves.append(leaf(canonical(table[tuple(entry["M"]["Event"]["S"].split("/"))])))
print(json.dumps({
    "leaves": [hash.hex() for hash in leaves],
    "root": base64.b64encode(root(leaves)).decode(),
    "note": len(leaves) == size and root(leaves) == signed,
    "proofs": [proves(text) for text in given["proofs"]],
}))
