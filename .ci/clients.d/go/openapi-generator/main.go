// README's example through the Go client of openapi-generator. Its argument is the ledger's address.
package main

import (
	"context"
	"log"
	"os"

	"clients/expect"
	"clients/openapi-generator/client"
)

func main() {
	log.SetFlags(log.Lshortfile)
	ctx := context.Background()
	to := client.NewConfiguration()
	to.Servers = client.ServerConfigurations{{URL: os.Args[1]}}
	c := client.NewAPIClient(to)

	usd, r, err := c.AssetsAPI.RegisterAsset(ctx, "USD").RegisterAsset(*client.NewRegisterAsset("US dollar", 2)).Execute()
	expect.None(err)
	expect.Equal(r.StatusCode, 201)
	expect.Equal(usd.Currency, nil)
	stock := client.NewRegisterAsset("Apple Inc.", 0)
	stock.SetDescription("Common stock")
	stock.SetCurrency("USD")
	aapl, _, err := c.AssetsAPI.RegisterAsset(ctx, "AAPL").RegisterAsset(*stock).Execute()
	expect.None(err)
	expect.Equal(aapl.GetCurrency(), "USD")

	unlimited := client.OverdraftUnlimitedAsOverdraft(client.UNLIMITED.Ptr())
	limited := client.MapmapOfStringstringAsOverdraft(&map[string]string{"USD": "500000"})
	open := func(id string, body client.OpenAccount) {
		_, r, err := c.AccountsAPI.OpenAccount(ctx, id).OpenAccount(body).Execute()
		expect.None(err)
		expect.Equal(r.StatusCode, 201)
	}
	open("jane", client.OpenAccount{Name: new("Jane Doe"), Profile: &client.Profile{
		Addresses: []map[string]any{
			{"street": "1 Main St", "city": "Springfield", "country": "US"},
			{"street": "2 Lake Rd", "city": "Shelbyville", "country": "US"},
		},
		AdditionalProperties: map[string]any{"email": "jane@example.com"},
	}})
	open("bank", client.OpenAccount{Name: new("Bank"), Overdraft: &unlimited})
	open("market", client.OpenAccount{Name: new("Market"), Overdraft: &unlimited})
	open("margin", client.OpenAccount{Name: new("Margin"), Overdraft: &limited})

	_, r, err = c.TransactionsAPI.PostTransfer(ctx).PostTransfer(client.PostTransfer{
		Id: new("deposit:1@bank"), From: "bank", To: "jane", Asset: "USD", Quantity: new("500000"),
	}).Execute()
	expect.None(err)
	expect.Equal(r.StatusCode, 201)
	trade := client.PostTrade{
		Id: new("t-1"), Asset: "AAPL", Buyer: "jane", Seller: "market", Quantity: "10", Cost: "150000", Settle: new(true),
	}
	posted, r, err := c.TransactionsAPI.PostTrade(ctx).PostTrade(trade).Execute()
	expect.None(err)
	expect.Equal(r.StatusCode, 201)
	replayed, r, err := c.TransactionsAPI.PostTrade(ctx).PostTrade(trade).Execute()
	expect.None(err)
	expect.Equal(r.StatusCode, 200)
	expect.Equal(replayed.GetPostedAt(), posted.GetPostedAt())
	trade.SetId("t-2")
	trade.SetCost("1500000")
	_, _, err = c.TransactionsAPI.PostTrade(ctx).PostTrade(trade).Execute()
	refused := err.(*client.GenericOpenAPIError).Model().(client.Problem)
	expect.Equal(refused.Code, client.INSUFFICIENT_FUNDS)
	expect.Equal(refused.GetAvailable(), "350000")

	jane, _, err := c.AccountsAPI.GetAccount(ctx, "jane").Execute()
	expect.None(err)
	expect.Equal(jane.Profile.AdditionalProperties["email"], "jane@example.com")
	expect.Equal(len(jane.Profile.Addresses), 2)
	expect.Equal(jane.Profile.Addresses[1]["city"], "Shelbyville")
	expect.Equal(jane.Overdraft, nil)
	margin, _, err := c.AccountsAPI.GetAccount(ctx, "margin").Execute()
	expect.None(err)
	expect.Equal((*margin.Overdraft.MapmapOfStringstring)["USD"], "500000")

	read, _, err := c.TransactionsAPI.GetTransaction(ctx, "t-1").Execute()
	expect.None(err)
	expect.Equal(len(read.Postings), 4)
	expect.Equal(read.Postings[0].Cost, "150000")
	first, _, err := c.TransactionsAPI.GetTransaction(ctx, "deposit:1@bank").Execute()
	expect.None(err)
	expect.Equal(first.Id, "deposit:1@bank")
	balances, _, err := c.AccountsAPI.ListBalances(ctx, "jane").Consistency(client.STRONG).Execute()
	expect.None(err)
	expect.Equal(len(balances.Data), 2)
	expect.Equal(balances.Data[0].Quantity, "10")
	expect.Equal(balances.NextCursor.Get(), nil)
	_, _, err = c.AccountsAPI.ListPostings(ctx, "jane").Execute()
	expect.None(err)
}
