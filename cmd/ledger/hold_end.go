package main

import (
	"context"

	"github.com/spf13/cobra"

	"ledger.example/client"
)

// retryEnd is the advice when it is unknown whether a hold ended.
const retryEnd = "run the same command again: it is safe, because a hold ends only once"

// captureCommand is `ledger capture`.
func (env *environment) captureCommand() *cobra.Command {
	var part partFlags
	cmd := &cobra.Command{
		Use:   "capture ID [QUANTITY]",
		Short: "Post a hold, in whole or in part",
	}
	part.flags(cmd)
	env.dryRunFlag(cmd)
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
		p, err := part.read(ctx, env, args[0], args[1:])
		if err != nil {
			return err
		}
		return env.post(ctx, client.Capture{Transaction: args[0], Part: p}, retryEnd)
	})
}

// releaseCommand is `ledger release`.
func (env *environment) releaseCommand() *cobra.Command {
	var description string
	cmd := &cobra.Command{
		Use:   "release ID",
		Short: "End a hold without posting it",
		Long: `release ends the hold ID without posting it, and prints it. A hold that was
captured cannot be released: reverse it instead.`,
		Example: `  ledger release stay-7
  ledger release stay-7 --description 'The guest did not come'`,
	}
	cmd.Flags().StringVar(&description, flagDescription, "", "why it is released")
	env.dryRunFlag(cmd)
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
		return env.post(ctx, client.Release{Transaction: args[0], Description: description}, retryEnd)
	})
}
