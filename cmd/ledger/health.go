package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// healthTimeout bounds the wait for an answer, with retries.
const healthTimeout = 5 * time.Second

// healthCommand is `ledger health`.
func (env *environment) healthCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:  "health",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := env.dial(0, 1)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), healthTimeout)
			defer cancel()
			if err := api.Ping(ctx); err != nil {
				return err
			}
			_, err = fmt.Fprintln(env.out, "ok")
			return err
		},
	}
	env.callFlags(cmd)
	return cmd
}
