"""README's example through the client of openapi-python-client. Its argument is the ledger's address."""
import sys

from ledger_client import Client, models
from ledger_client.api.accounts import get_account, list_balances, list_postings, open_account
from ledger_client.api.assets import register_asset
from ledger_client.api.transactions import get_transaction, post_trade, post_transfer
from ledger_client.types import UNSET

c = Client(base_url=sys.argv[1])


def expect(got, want):
    assert got == want, f"got {got!r}, want {want!r}"


r = register_asset.sync_detailed("USD", client=c, body=models.RegisterAsset(name="US dollar", scale=2))
expect(r.status_code, 201)
expect(r.parsed.currency, UNSET)
stock = models.RegisterAsset(name="Apple Inc.", description="Common stock", scale=0, currency="USD")
expect(register_asset.sync("AAPL", client=c, body=stock).currency, "USD")

profile = models.Profile.from_dict({"email": "jane@example.com", "addresses": [
    {"street": "1 Main St", "city": "Springfield", "country": "US"},
    {"street": "2 Lake Rd", "city": "Shelbyville", "country": "US"},
]})
unlimited = models.OverdraftUnlimited.UNLIMITED
limits = models.OverdraftLimits.from_dict({"USD": "500000"})
for id, body in {
    "jane": models.OpenAccount(name="Jane Doe", profile=profile),
    "bank": models.OpenAccount(name="Bank", overdraft=unlimited),
    "market": models.OpenAccount(name="Market", overdraft=unlimited),
    "margin": models.OpenAccount(name="Margin", overdraft=limits),
}.items():
    expect(open_account.sync_detailed(id, client=c, body=body).status_code, 201)

deposit = models.PostTransfer(id="deposit:1@bank", from_="bank", to="jane", asset="USD", quantity="500000")
expect(post_transfer.sync_detailed(client=c, body=deposit).status_code, 201)
trade = models.PostTrade(
    id="t-1", asset="AAPL", buyer="jane", seller="market", quantity="10", cost="150000", settle=True
)
posted = post_trade.sync_detailed(client=c, body=trade)
expect(posted.status_code, 201)
replayed = post_trade.sync_detailed(client=c, body=trade)
expect(replayed.status_code, 200)
expect(replayed.parsed.to_dict(), posted.parsed.to_dict())
trade.id, trade.cost = "t-2", "1500000"
refused = post_trade.sync(client=c, body=trade)
expect(refused.code, models.Code.INSUFFICIENT_FUNDS)
expect(refused.available, "350000")

jane = get_account.sync("jane", client=c)
expect(jane.profile["email"], "jane@example.com")
expect([a["city"] for a in jane.profile.addresses], ["Springfield", "Shelbyville"])
expect(jane.overdraft, UNSET)
expect(get_account.sync("margin", client=c).overdraft["USD"], "500000")
expect(get_account.sync("market", client=c).overdraft, unlimited)

read = get_transaction.sync("t-1", client=c)
expect([p.cost for p in read.postings], ["150000", "-150000", "0", "0"])
expect(get_transaction.sync("deposit:1@bank", client=c).id, "deposit:1@bank")
balances = list_balances.sync("jane", client=c, consistency=models.Consistency.STRONG)
expect([b.quantity for b in balances.data], ["10", "350000"])
expect(balances.next_cursor, None)
expect(list_postings.sync_detailed("jane", client=c).status_code, 200)
