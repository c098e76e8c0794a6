// README's example through the client of oapi-codegen. Its argument is the ledger's address.
package main

import (
	"context"
	"log"
	"os"

	"clients/expect"
	"clients/oapi-codegen/client"
)

func main() {
	log.SetFlags(log.Lshortfile)
	ctx := context.Background()
	c, err := client.NewClientWithResponses(os.Args[1])
	expect.None(err)

	usd, err := c.RegisterAssetWithResponse(ctx, "USD", nil, client.RegisterAsset{Name: "US dollar", Scale: 2})
	expect.None(err)
	expect.Equal(usd.StatusCode(), 201)
	expect.Equal(usd.JSON201.Currency, nil)
	aapl, err := c.RegisterAssetWithResponse(ctx, "AAPL", nil, client.RegisterAsset{
		Name: "Apple Inc.", Description: new("Common stock"), Currency: new("USD"),
	})
	expect.None(err)
	expect.Equal(aapl.StatusCode(), 201)
	expect.Equal(*aapl.JSON201.Currency, "USD")

	var unlimited, limited client.Overdraft
	expect.None(unlimited.FromOverdraftUnlimited(client.Unlimited))
	expect.None(limited.FromOverdraftLimits(client.OverdraftLimits{"USD": "500000"}))
	open := func(id string, body client.OpenAccount) {
		r, err := c.OpenAccountWithResponse(ctx, id, nil, body)
		expect.None(err)
		expect.Equal(r.StatusCode(), 201)
	}
	open("jane", client.OpenAccount{Name: new("Jane Doe"), Profile: &client.Profile{
		Addresses: &[]map[string]any{
			{"street": "1 Main St", "city": "Springfield", "country": "US"},
			{"street": "2 Lake Rd", "city": "Shelbyville", "country": "US"},
		},
		AdditionalProperties: map[string]any{"email": "jane@example.com"},
	}})
	open("bank", client.OpenAccount{Name: new("Bank"), Overdraft: &unlimited})
	open("market", client.OpenAccount{Name: new("Market"), Overdraft: &unlimited})
	open("margin", client.OpenAccount{Name: new("Margin"), Overdraft: &limited})

	deposit, err := c.PostTransferWithResponse(ctx, nil, client.PostTransfer{
		Id: new("deposit:1@bank"), From: "bank", To: "jane", Asset: "USD", Quantity: new("500000"),
	})
	expect.None(err)
	expect.Equal(deposit.StatusCode(), 201)
	trade := client.PostTrade{
		Id: new("t-1"), Asset: "AAPL", Buyer: "jane", Seller: "market", Quantity: "10", Cost: "150000", Settle: new(true),
	}
	posted, err := c.PostTradeWithResponse(ctx, nil, trade)
	expect.None(err)
	expect.Equal(posted.StatusCode(), 201)
	replayed, err := c.PostTradeWithResponse(ctx, nil, trade)
	expect.None(err)
	expect.Equal(replayed.StatusCode(), 200)
	expect.Equal(*replayed.JSON200.PostedAt, posted.JSON201.PostedAt)
	trade.Id, trade.Cost = new("t-2"), "1500000"
	refused, err := c.PostTradeWithResponse(ctx, nil, trade)
	expect.None(err)
	expect.Equal(refused.ApplicationproblemJSON422.Code, client.CodeInsufficientFunds)
	expect.Equal(*refused.ApplicationproblemJSON422.Available, "350000")

	jane, err := c.GetAccountWithResponse(ctx, "jane", nil)
	expect.None(err)
	expect.Equal(jane.JSON200.Profile.AdditionalProperties["email"], "jane@example.com")
	expect.Equal(len(*jane.JSON200.Profile.Addresses), 2)
	expect.Equal((*jane.JSON200.Profile.Addresses)[1]["city"], "Shelbyville")
	expect.Equal(jane.JSON200.Overdraft, nil)
	margin, err := c.GetAccountWithResponse(ctx, "margin", nil)
	expect.None(err)
	limits, err := margin.JSON200.Overdraft.AsOverdraftLimits()
	expect.None(err)
	expect.Equal(limits["USD"], "500000")

	read, err := c.GetTransactionWithResponse(ctx, "t-1", nil)
	expect.None(err)
	expect.Equal(len(read.JSON200.Postings), 4)
	expect.Equal(read.JSON200.Postings[0].Cost, "150000")
	first, err := c.GetTransactionWithResponse(ctx, "deposit:1@bank", nil)
	expect.None(err)
	expect.Equal(first.JSON200.Id, "deposit:1@bank")
	balances, err := c.ListBalancesWithResponse(ctx, "jane", &client.ListBalancesParams{Consistency: new(client.Strong)})
	expect.None(err)
	expect.Equal(len(balances.JSON200.Data), 2)
	expect.Equal(balances.JSON200.Data[0].Quantity, "10")
	expect.Equal(balances.JSON200.NextCursor, nil)
	history, err := c.ListPostingsWithResponse(ctx, "jane", nil)
	expect.None(err)
	expect.Equal(history.StatusCode(), 200)
}
