package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"ledger.example/client"
)

// transferCommand is `ledger transfer`. Unless --minor is given, it reads the asset first, for its scale.
func (env *environment) transferCommand() *cobra.Command {
	var p postFlags
	cmd := &cobra.Command{Use: "transfer FROM TO QUANTITY ASSET"}
	p.holdFlags(cmd.Flags())
	return env.postingCommand(cmd, &p, func(ctx context.Context, args []string) (client.Request, error) {
		quantity, err := env.units.Parse(ctx, "QUANTITY", args[3], args[2])
		return client.Transfer{
			ID: p.id, Description: p.description, Metadata: p.metadata, From: args[0], To: args[1], Asset: args[3],
			Quantity: quantity, Hold: p.hold, EffectiveAt: p.effective,
		}, err
	})
}

// tradeCommand is `ledger trade`. --cost has no default, because a trade that was posted without it could not be
// changed.
func (env *environment) tradeCommand() *cobra.Command {
	var t client.Trade
	var quantity, cost string
	var p postFlags
	names := []string{"buyer", "seller", "quantity", "asset", "cost"}
	cmd := &cobra.Command{
		Use: "trade [BUYER SELLER QUANTITY ASSET COST]",
		Args: func(cmd *cobra.Command, args []string) error {
			given := 0
			for _, name := range names {
				if cmd.Flags().Changed(name) {
					given++
				}
			}
			if len(args) == 0 && given == len(names) || len(args) == len(names) && given == 0 {
				return argsOfUse(cmd, args)
			}
			return errors.New("give BUYER SELLER QUANTITY ASSET COST, or each of " +
				"--buyer, --seller, --quantity, --asset and --cost")
		},
	}
	f := cmd.Flags()
	idFlag(f, &t.Asset, "asset", "asset that is traded")
	idFlag(f, &t.Buyer, "buyer", "account that receives the asset")
	idFlag(f, &t.Seller, "seller", "account that gives the asset")
	f.StringVar(&quantity, "quantity", "", "quantity of the asset")
	f.StringVar(&cost, "cost", "", "price of the whole quantity, in the currency of the asset; 0 if it is free")
	f.BoolVar(&t.Settle, "settle", false, "move the cash as well")
	p.holdFlags(f)
	return env.postingCommand(cmd, &p, func(ctx context.Context, args []string) (_ client.Request, err error) {
		if len(args) > 0 {
			t.Buyer, t.Seller, quantity, t.Asset, cost = args[0], args[1], args[2], args[3], args[4]
		}
		t.ID, t.Description, t.Metadata, t.Hold, t.EffectiveAt = p.id, p.description, p.metadata, p.hold, p.effective
		if t.Quantity, err = env.units.Parse(ctx, "QUANTITY", t.Asset, quantity); err == nil {
			t.Cost, err = env.units.ParseCost(ctx, "COST", t.Asset, cost)
		}
		return t, err
	})
}
