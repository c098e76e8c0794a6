package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/watch/lanes"
)

// lanesCommand is `ledger lanes`. It needs the permission to put items. Package internal/watch/lanes implements it.
func (env *environment) lanesCommand() *cobra.Command {
	var o operator
	cmd := &cobra.Command{
		Use:  "lanes [N]",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			wanted := 0
			if len(args) > 0 {
				var err error
				if wanted, err = strconv.Atoi(args[0]); err != nil || !lanes.Valid(wanted) {
					return usageErrorf("N %s", lanes.Rule)
				}
			}
			return env.lanes(cmd.Context(), o, wanted)
		},
	}
	o.tableFlags(cmd)
	env.formatFlags(cmd)
	return cmd
}

// lanes grows the number of lanes to wanted, 0 for none, and prints how many there are now and which are to come.
func (env *environment) lanes(ctx context.Context, o operator, wanted int) error {
	client, _, err := o.open(ctx)
	if err != nil {
		return err
	}
	t := table.NewTable(client, o.table)
	if wanted > 0 {
		if _, _, err := lanes.Grow(ctx, t, wanted); err != nil {
			return err
		}
	}
	log, err := lanes.Read(ctx, t)
	if err != nil {
		return err
	}
	figures := []any{"lanes", log.At(log.ReadAt())}
	if all := log.Grown(); len(all) > 0 && all[len(all)-1].From.After(log.ReadAt()) {
		last := all[len(all)-1]
		figures = append(figures, "becomes", last.Lanes, "from", events.FormatTime(last.From))
	}
	return env.printFigures(figures...)
}
