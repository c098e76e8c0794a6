package main

import (
	"context"

	"github.com/spf13/cobra"

	"ledger.example/client"
)

// tradeCommand is `ledger trade`. --cost has no default, because a trade that was posted without it could not be
// changed.
func (env *environment) tradeCommand() *cobra.Command {
	var t client.Trade
	var quantity, cost string
	var p postFlags
	cmd := &cobra.Command{
		Use:   "trade --asset A --buyer B --seller S --quantity N --cost N",
		Short: "Move a quantity of an asset from a seller to a buyer at a cost",
		Long: `trade posts a trade and prints the transaction. The cost is in the currency of
the asset, and is recorded with the postings of the asset. With --settle, the
same transaction also moves the cash.` + holdHelp + idHelp,
		Example: `  ledger trade --asset AAPL --buyer jane --seller market \
    --quantity 10 --cost 1500.00 --settle --id t-1
  ledger trade --asset AAPL --buyer jane --seller market --quantity 1 --cost 0
  ledger trade --asset AAPL --buyer jane --seller market \
    --quantity 10 --cost 1600.00 --settle --hold --expires 2026-12-24T17:00:00Z`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	idFlag(f, &t.Asset, "asset", "asset that is traded")
	idFlag(f, &t.Buyer, "buyer", "account that receives the asset")
	idFlag(f, &t.Seller, "seller", "account that gives the asset")
	f.StringVar(&quantity, "quantity", "", "quantity of the asset")
	f.StringVar(&cost, "cost", "", "price of the whole quantity, in the currency of the asset; 0 if it is free")
	f.BoolVar(&t.Settle, "settle", false, "move the cash as well")
	// Cobra names all missing flags in one message.
	for _, required := range []string{"asset", "buyer", "seller", "quantity", "cost"} {
		_ = cmd.MarkFlagRequired(required) // it fails only for a flag that does not exist
	}
	p.holdFlags(f)
	return env.postingCommand(cmd, &p, func(ctx context.Context, _ []string) (_ client.Request, err error) {
		t.ID, t.Description, t.Metadata, t.Hold, t.EffectiveAt = p.id, p.description, p.metadata, p.hold, p.effective
		if t.Quantity, err = env.units.Parse(ctx, "--quantity", t.Asset, quantity); err == nil {
			t.Cost, err = env.units.ParseCost(ctx, "--cost", t.Asset, cost)
		}
		return t, err
	})
}
