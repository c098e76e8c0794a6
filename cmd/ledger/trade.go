package main

import (
	"github.com/spf13/cobra"

	"ledger.example/cmd/ledger/client"
)

func (c *cli) tradeCommand() *cobra.Command {
	var a annotation
	var asset, buyer, seller, quantity, cost string
	var settle bool
	cmd := &cobra.Command{
		Use:   "trade --asset ASSET --buyer ACCOUNT --seller ACCOUNT --quantity N [--cost N] [--settle]",
		Short: "Move a quantity of an asset from a seller to a buyer at a cost",
		Long: `trade posts a trade and prints the transaction. The cost is in the asset's currency and is recorded with
the asset's postings; with --settle the cash moves in the same transaction.

Without --id an id is made before anything is sent. While the outcome is unknown the request is sent again
with the same id; if it stays unknown, the id is told, to run the command again with it.`,
		Example: `  ledger trade --asset AAPL --buyer jane --seller market --quantity 10 --cost 1500.00 --settle
  ledger trade --asset AAPL --buyer jane --seller market --quantity 10 --cost 1500.00 --settle --id t-1`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, f := range []struct{ name, id string }{{"--asset", asset}, {"--buyer", buyer}, {"--seller", seller}} {
				if err := checkID(f.name, f.id); err != nil {
					return usageError{err}
				}
			}
			id, metadata, err := a.complete()
			if err != nil {
				return err
			}
			api, err := c.dial(0, 0)
			if err != nil {
				return err
			}
			ctx, u := cmd.Context(), newUnits(api, a.minor)
			if err := u.load(ctx, asset); err != nil {
				return err
			}
			t := client.Trade{
				ID: id, Description: a.description, Metadata: metadata,
				Asset: asset, Buyer: buyer, Seller: seller, Settle: settle,
			}
			if t.Quantity, err = u.parseQuantity(asset, quantity); err != nil {
				return wrongUse("--quantity: %w", err)
			}
			if t.Cost, err = u.parseCost(asset, cost); err != nil {
				return wrongUse("--cost: %w", err)
			}
			posted, w, err := api.PostTrade(ctx, t)
			return c.printPosted(ctx, posted, w, err, u)
		},
	}
	f := cmd.Flags()
	f.StringVar(&asset, "asset", "", "what is traded")
	f.StringVar(&buyer, "buyer", "", "account that gets it")
	f.StringVar(&seller, "seller", "", "account that gives it")
	f.StringVar(&quantity, "quantity", "", "how much of it")
	f.StringVar(&cost, "cost", "0", "what it costs, in its currency")
	f.BoolVar(&settle, "settle", false, "move the cash as well")
	for _, required := range []string{"asset", "buyer", "seller", "quantity"} {
		_ = cmd.MarkFlagRequired(required) // it fails for a flag that isn't there only
	}
	a.flags(cmd)
	return cmd
}
