package main

import (
	"context"

	"github.com/spf13/cobra"

	"ledger.example/client"
)

// transferCommand is `ledger transfer`. Unless --minor is given, it reads the asset first, for its scale.
func (env *environment) transferCommand() *cobra.Command {
	var p postFlags
	cmd := &cobra.Command{
		Use:   "transfer FROM TO QUANTITY ASSET",
		Short: "Move a quantity of an asset from one account to another",
	}
	p.holdFlags(cmd.Flags())
	return env.postingCommand(cmd, &p, func(ctx context.Context, args []string) (client.Request, error) {
		quantity, err := env.units.Parse(ctx, "QUANTITY", args[3], args[2])
		return client.Transfer{
			ID: p.id, Description: p.description, Metadata: p.metadata, From: args[0], To: args[1], Asset: args[3],
			Quantity: quantity, Hold: p.hold, EffectiveAt: p.effective,
		}, err
	})
}
