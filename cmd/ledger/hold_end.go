package main

import (
	"context"

	"github.com/spf13/cobra"

	"ledger.example/client"
)

// sendAgain is what to run when it is not known whether a hold ended: it ends once.
const sendAgain = "run the same command again: a hold ends only once"

// captureCommand is `ledger capture`.
func (env *environment) captureCommand() *cobra.Command {
	var part partFlags
	cmd := &cobra.Command{
		Use:   "capture ID [QUANTITY]",
		Short: "Post what a hold has set aside, in whole or in part",
		Long: `capture posts the hold ID and prints it. What is not captured is given back: a
hold ends once. The same capture again posts nothing twice.` + partHelp,
		Example: `  ledger capture stay-7
  ledger capture stay-7 312.50
  ledger capture t-1 8 --cost 1200.00
  ledger capture payroll-9 --posting -300.00 --posting 100.00 --posting 200.00`,
	}
	part.flags(cmd)
	env.dryRunFlag(cmd)
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
		p, err := part.read(ctx, env, args[0], args[1:])
		if err != nil {
			return err
		}
		return env.post(ctx, client.Capture{Transaction: args[0], Part: p}, sendAgain)
	})
}

// releaseCommand is `ledger release`.
func (env *environment) releaseCommand() *cobra.Command {
	var description string
	cmd := &cobra.Command{
		Use:   "release ID",
		Short: "Give back what a hold has set aside",
		Long: `release ends the hold ID without posting anything, and prints it. A hold that
was captured cannot be released: reverse it instead.`,
		Example: `  ledger release stay-7
  ledger release stay-7 --description 'The guest did not come'`,
	}
	cmd.Flags().StringVar(&description, flagDescription, "", "why it is released")
	env.dryRunFlag(cmd)
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
		return env.post(ctx, client.Release{Transaction: args[0], Description: description}, sendAgain)
	})
}
