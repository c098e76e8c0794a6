package main

import (
	"github.com/spf13/cobra"

	"ledger.example/internal/units"
)

// meCommand is `ledger me`.
func (env *environment) meCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "me",
		Short: "Show how the ledger identifies you",
		Long: `me prints how the ledger identifies you: as a service or an administrator, who
may do everything, or as a user, who may do what their roles allow.`,
		Example: `  ledger me
  ledger me --user u-17`,
		Args: argsOfUse,
	}
	env.apiFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		api, err := env.dial(0, units.LoadingAtOnce)
		if err != nil {
			return err
		}
		me, err := api.Me(cmd.Context())
		if err != nil {
			return err
		}
		if env.json {
			_, err := env.out.Write(me.Raw)
			return err
		}
		t := env.newList()
		t.row("as", me.Value.As)
		if me.Value.User != nil {
			t.row("user", *me.Value.User)
		}
		t.row("service", me.Value.Service)
		t.row("recorded as", me.Value.Actor)
		return t.flush()
	}
	return cmd
}
