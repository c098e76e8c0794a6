# Reads a book with beancount's loader (2.3 and newer), and writes the parts that an import needs as JSON: an object of the
# book, and one for each transaction.
# It runs with the Python that has beancount, as `python3 - BOOK [DAY]`, with this script on standard input.
import json
import sys
from collections import Counter
from datetime import date

sys.path = [folder for folder in sys.path if folder]  # do not import modules of the current folder

from beancount import loader
from beancount.core import data
from beancount.core.amount import Amount
from beancount.ops import summarize

HIDDEN = {"filename", "lineno"}


def number(value):
    return format(value, "f")


def amount(value):
    return None if value is None else {"number": number(value.number), "commodity": value.currency}


def text(value):
    if isinstance(value, str):
        return value
    if isinstance(value, Amount):
        return number(value.number) + " " + value.currency
    return "" if value is None else str(value)


def meta(value):
    names = [k for k in value or {} if k not in HIDDEN and not k.startswith("__")]
    return [[k, text(value[k])] for k in names]


def weight(posting):
    units, cost, price = posting.units, posting.cost, posting.price
    of = cost if cost is not None and getattr(cost, "number", None) is not None else price
    if of is None or of.currency == units.currency:
        return None
    return {"number": number(units.number * of.number), "commodity": of.currency}


def beside(posting):
    """The price beside a cost. A price without a cost is the weight."""
    return text(posting.price) if posting.cost is not None else ""


def lot(posting):
    cost = posting.cost
    return ["", ""] if cost is None else [text(getattr(cost, "date", None)), text(getattr(cost, "label", None))]


def place(posting):
    """Sort key for the order in the file. Booking sorts postings by currency. Postings without a line come last."""
    return (posting.meta or {}).get("lineno") or sys.maxsize


def transaction(entry):
    return {
        "file": entry.meta.get("filename"), "line": entry.meta.get("lineno", 0),
        "date": entry.date.isoformat(), "flag": entry.flag,
        "payee": entry.payee or "", "narration": entry.narration or "",
        "tags": sorted(entry.tags or ()), "links": sorted(entry.links or ()), "meta": meta(entry.meta),
        "postings": [{
            "account": p.account, "units": amount(p.units), "weight": weight(p),
            "line": (p.meta or {}).get("lineno", 0), "meta": meta(p.meta),
            "flag": p.flag or "", "price": beside(p), "lot": lot(p),
            "inferred": bool((p.meta or {}).get("__automatic__")),
        } for p in sorted(entry.postings, key=place)],
    }


def left_out(directive, kind, tag):
    """Counts metadata of an account or a commodity, but not those of an export, which have a tag."""
    names = [name for name, _ in meta(directive.meta)]
    if names and tag not in names:
        book["metadata"][kind] += 1


entries, errors, _ = loader.load_file(sys.argv[1])
book = {"errors": [], "accounts": [], "commodities": [], "left_out": Counter(), "metadata": Counter()}
for error in errors:
    at = error.source or {}
    book["errors"].append({"file": at.get("filename"), "line": at.get("lineno", 0), "text": error.message})
for entry in entries:
    if isinstance(entry, data.Open):
        book["accounts"].append({"name": entry.account, "meta": meta(entry.meta)})
        left_out(entry, "accounts", "ledger-account")
    elif isinstance(entry, data.Commodity):
        book["commodities"].append({"name": entry.currency, "meta": meta(entry.meta)})
        left_out(entry, "commodities", "ledger-asset")
    elif not isinstance(entry, (data.Transaction, data.Pad)):  # the loader has added the transactions of pads
        book["left_out"][type(entry).__name__.lower()] += 1
if len(sys.argv) > 2:  # the balances at the beginning of a day
    balances, _ = summarize.balance_by_account(entries, date.fromisoformat(sys.argv[2]))
    book = {"balances": [
        {"account": account, "number": number(of.units.number), "commodity": of.units.currency}
        for account, inventory in balances.items() for of in inventory.get_positions()
    ]}
print(json.dumps(book))
for entry in entries:
    if isinstance(entry, data.Transaction) and len(sys.argv) == 2:
        print(json.dumps(transaction(entry)))
