package main

import (
	"context"

	"github.com/spf13/cobra"

	"ledger.example/client"
)

// reverseCommand is `ledger reverse`.
func (env *environment) reverseCommand() *cobra.Command {
	var part partFlags
	var p postFlags
	cmd := &cobra.Command{
		Use:   "reverse ID [QUANTITY]",
		Short: "Reverse a transaction, in whole or in part",
	}
	part.flags(cmd)
	return env.postingCommand(cmd, &p, func(ctx context.Context, args []string) (client.Request, error) {
		taken, err := part.read(ctx, env, args[0], args[1:])
		return client.Reversal{
			Transaction: args[0], ID: p.id, Description: p.description, Metadata: p.metadata,
			EffectiveAt: p.effective, Part: taken,
		}, err
	})
}
