"""Turns the transactions of another ledger into lines for `ledger import`: move.py qldb|formance|blnk < FILE > LINES.

FILE has a JSON object in each line: a block of an exported journal of QLDB, a transaction of Formance's or of Blnk's
list. All accounts get an unlimited overdraft, because history is not refused again: set limits afterwards.
"""
import json
import sys


def qldb(block):
    # A revision that was redacted has no data. What is in data is yours: change this to the fields of your documents.
    for r in block.get("revisions", []):
        if "data" in r and {"from", "to", "cents"} <= r["data"].keys():
            d, m = r["data"], r["metadata"]
            yield f"qldb-{m['id']}.{m['version']}", m["txTime"], [(d["from"], d["to"], "USD", 2, d["cents"])]


def formance(t):
    legs = []
    for p in t["postings"]:
        asset, _, scale = p["asset"].partition("/")  # USD/2
        legs.append((p["source"], p["destination"], asset, int(scale or 0), p["amount"]))
    yield f"formance-{t['id']}", t["timestamp"], legs


def blnk(t):
    if t["status"] != "APPLIED":  # queued, in flight, void or rejected: it moved nothing
        return
    scale = len(str(t["precision"])) - 1  # 100 is a scale of 2
    source, destination = (t[end].replace("@", "internal:") for end in ("source", "destination"))  # no id begins with @
    leg = (source, destination, t["currency"], scale, int(t["precise_amount"]))
    yield t["transaction_id"], t["created_at"], [leg]


def line(kind, body):
    print(json.dumps({kind: body}))


assets, accounts = {}, set()
read = {"qldb": qldb, "formance": formance, "blnk": blnk}[sys.argv[1]]
for text in sys.stdin:
    for id, at, legs in read(json.loads(text)):
        sums = {}
        for source, destination, asset, scale, amount in legs:
            if asset not in assets:
                line("asset", {"id": asset, "name": asset, "scale": scale})
            if assets.setdefault(asset, scale) != scale:
                sys.exit(f"{id}: {asset} has the scales {assets[asset]} and {scale}: give one of them another name")
            for account, quantity in ((source, -amount), (destination, amount)):
                sums[account, asset] = sums.get((account, asset), 0) + quantity
        for account in sorted({a for a, _ in sums} - accounts):
            line("account", {"id": account, "name": account, "overdraft": "unlimited"})
            accounts.add(account)
        postings = [{"account": a, "asset": s, "quantity": str(q)} for (a, s), q in sums.items() if q]
        if postings:
            line("transaction", {"id": id, "effective_at": at, "postings": postings})
