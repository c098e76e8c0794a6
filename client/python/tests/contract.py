"""The contract of the client, against a running ledger whose address is the argument. It needs an empty ledger."""

import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeVar

import httpx

from ledger_client import (
    Ledger, LedgerError, RefusedError, Reply, StatusError, UnknownError, UnreachableError, models,
)
from ledger_client.api.accounts import list_accounts, list_balances, list_postings, open_account
from ledger_client.api.assets import register_asset
from ledger_client.api.transactions import (
    capture_hold, get_transaction, list_journal, post_batch, post_transfer, release_hold, reverse_transaction,
)

E = TypeVar("E", bound=LedgerError)
url = sys.argv[1]


class Proxy(BaseHTTPRequestHandler):
    """Passes requests on. It cuts off or replaces the next answers, as `plan` says."""

    plan: list[str] = []
    ids: list[str] = []  # of the transactions that were asked for

    def pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "accept-encoding", "connection")}
        Proxy.ids.append(self.headers.get("Idempotency-Key") or "")
        what = Proxy.plan.pop(0) if Proxy.plan else "pass"
        status, text, kind, replayed = 200, b"<html>", "text/html", ""
        if what in ("pass", "cut", "another"):
            r = httpx.request(self.command, url + self.path, content=body, headers=headers)
            status, text, kind = r.status_code, r.content, r.headers["Content-Type"]
            replayed = r.headers.get("Idempotent-Replayed", "")
        if what == "another":
            text = text.replace(Proxy.ids[-1].encode(), b"another")
        if what == "busy":
            status, text, kind = 503, b'{"code":"throttled","detail":"Busy."}', "application/problem+json"
        if what == "denied":
            status, text = 403, b"no"
        if what in ("cut", "lost"):
            self.close_connection = True
            self.connection.close()
            return
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.send_header("Retry-After", "1")
        self.send_header("Idempotent-Replayed", replayed)
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = pass_on

    def log_message(self, *_: object) -> None:
        pass


def transfer(quantity: str, id: str | None = None, to: str = "ann") -> models.PostTransfer:
    body = models.PostTransfer(from_="bank", to=to, asset="USD", quantity=quantity)
    if id:
        body.id = id
    return body


def fails(kind: type[E], call: Callable[[], object]) -> E:
    try:
        call()
    except kind as e:
        return e
    raise AssertionError(f"no {kind.__name__}")


def expect(got: object, want: object) -> None:
    assert got == want, f"got {got!r}, want {want!r}"


server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
threading.Thread(target=server.serve_forever, daemon=True).start()
through = f"http://127.0.0.1:{server.server_port}"
ledger, short = Ledger(through), Ledger(through, timeout=0.5)

expect(register_asset(ledger, "USD", body=models.RegisterAsset(name="US dollar", scale=2)).is_new, True)
for id in ("bank", "ann", "bob", "c-1", "c-2"):
    overdraft = models.OverdraftUnlimited.UNLIMITED if id == "bank" else models.OverdraftLimits()
    open_account(ledger, id, body=models.OpenAccount(name=id, overdraft=overdraft))

# A replay has the first answer, and no second effect.
first, again = (post_transfer(ledger, body=transfer("500", "t-1")) for _ in range(2))
expect((first.is_new, again.is_new), (True, False))
expect(first.data.to_dict(), again.data.to_dict())

# A refusal has a stable code, fields and rules. An amount is never rounded on its way.
refused = fails(RefusedError, lambda: post_transfer(
    ledger, body=models.PostTransfer(id="t-2", from_="ann", to="bob", asset="USD", quantity="9007199254740993")))
expect((refused.status, refused.code), (422, "insufficient_funds"))
expect((refused.problem["available"], refused.problem["requested"]), ("500", "9007199254740993"))
bad = fails(RefusedError, lambda: post_transfer(ledger, body=transfer("1.5", "t-3")))
expect((bad.status, bad.code, bad.fields[0].field), (400, "invalid_request", "quantity"))
assert bad.fields[0].rule
floating = transfer(2.5, "t-3")  # type: ignore[arg-type]
expect(fails(RefusedError, lambda: post_transfer(ledger, body=floating)).code, "invalid_request")
for path_id in ("", "a/b", "..", "é"):
    try:
        get_transaction(ledger, path_id)
        raise AssertionError(f"{path_id!r} was sent")
    except ValueError:
        pass

# An answer that is cut off is asked for again, with the same id, which was made before the first attempt.
Proxy.plan, Proxy.ids = ["cut", "cut"], []
posted = post_transfer(ledger, body=transfer("7"))
expect((posted.is_new, len(Proxy.ids), len(set(Proxy.ids))), (False, 3, 1))
expect(Proxy.ids[0], posted.data.id)

# The ledger says when to ask again. A busy ledger wrote nothing.
Proxy.plan, began = ["busy"], time.monotonic()
expect(post_transfer(ledger, body=transfer("1")).is_new, True)
assert time.monotonic() - began >= 1, "it did not wait for Retry-After"
Proxy.plan = ["busy"] * 2
expect(fails(RefusedError, lambda: post_transfer(short, body=transfer("1"))).code, "throttled")

# Without an answer until the end the outcome is unknown. The error has the id: look, or send it again.
Proxy.plan = ["cut"] * 100
unknown = fails(UnknownError, lambda: post_transfer(short, body=transfer("3")))
assert unknown.attempts > 1
Proxy.plan = []
expect(get_transaction(short, unknown.id).data.id, unknown.id)
expect(post_transfer(short, body=transfer("3", unknown.id)).is_new, False)

# A gateway's refusal after an attempt without an answer leaves the outcome unknown; before any, nothing was written.
Proxy.plan = ["cut", "denied"]
fails(UnknownError, lambda: post_transfer(ledger, body=transfer("1")))
Proxy.plan = ["denied"]
expect(fails(StatusError, lambda: post_transfer(ledger, body=transfer("1"))).status, 403)
for answer in ("web page", "another"):  # no answer of the ledger, or not to this request
    Proxy.plan = [answer] * 100
    fails(UnknownError, lambda: post_transfer(short, body=transfer("1")))
Proxy.plan = []
fails(UnreachableError, lambda: post_transfer(Ledger("http://127.0.0.1:1"), body=transfer("1")))

# While a write without an answer may still be applied, a refusal is not final.
Proxy.plan, began = ["lost"], time.monotonic()
poor = models.PostTransfer(id="late", from_="c-1", to="c-2", asset="USD", quantity="10")
money = threading.Timer(3, lambda: post_transfer(Ledger(url), body=transfer("10", to="c-1")))
money.start()
expect(post_transfer(ledger, body=poor).is_new, True)
assert 9 < time.monotonic() - began < 20, "it did not wait until the refusal was final"
money.join()

# Holds, reversals and batches.
hold = transfer("100", "h-1")
hold.hold = models.Hold()
expect(post_transfer(ledger, body=hold).data.status, models.Status.HELD)
Proxy.plan = ["cut"]
captured = capture_hold(ledger, "h-1", body=models.CaptureHold(quantity="60"))
expect((captured.data.status, captured.is_new), (models.Status.CAPTURED, False))
ended = fails(RefusedError, lambda: release_hold(ledger, "h-1", body=models.ReleaseHold()))
expect((ended.code, ended.problem["hold_status"]), ("hold_ended", "captured"))
back = reverse_transaction(ledger, "h-1", body=models.ReverseTransaction(id="r-1", quantity="10"))
expect((back.data.reverses, back.is_new), ("h-1", True))
dry: Reply[models.AnsweredTransaction | models.Transaction] = post_transfer(ledger, body=transfer("1"), dry_run=True)
expect(dry.is_new, False)
Proxy.plan = ["cut"]
batch = post_batch(ledger, body=models.PostBatch.from_dict({"requests": [
    {"transfer": transfer("1", "b-1").to_dict()}, {"transfer": transfer("1", "b-2", to="nobody").to_dict()}]}))
expect([r.status for r in batch.data.results], [200, 422])

# Lists are read page by page.
expect([a.id for a in ledger.all(list_accounts, prefix="c-", limit=1)], ["c-1", "c-2"])
expect([len(page.data) for page in ledger.pages(list_accounts, limit=2)], [2, 2, 1])
expect(next(ledger.all(list_balances, "c-2", consistency=models.Consistency.STRONG)).quantity, "10")
Proxy.plan = ["pass", "denied"]
got = []
try:
    for posting in ledger.all(list_postings, "ann", limit=1, asset="USD", consistency=models.Consistency.STRONG):
        got.append(posting)
    raise AssertionError("the error of the second page is lost")
except StatusError:
    expect(len(got), 1)
sum(1 for _ in ledger.all(list_journal))  # it ends at the newest entry
print("the contract holds")
