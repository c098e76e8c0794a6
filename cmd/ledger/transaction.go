package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"ledger.example/client"
)

// transactionCommand is `ledger transaction`. It has no --strong, because every read of a transaction is strong.
func (env *environment) transactionCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "transaction ID"}
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
		r, err := env.api.Transaction(ctx, args[0])
		if err != nil {
			return err
		}
		return env.printTransaction(ctx, r.Value, r.Raw)
	})
}

// printTransaction prints a transaction: raw, the JSON of the API, with --json, else tables.
func (env *environment) printTransaction(ctx context.Context, t client.Transaction, raw []byte) error {
	recorded := t.RecordedAt
	if recorded == t.PostedAt {
		recorded = "" // not backdated
	}
	return env.print(ctx, raw, assetsOf(t.Postings), func() error {
		head := env.newList()
		head.row("Transaction", t.ID)
		head.row("Kind", t.Kind)
		for _, f := range [][2]string{
			{"Status", t.Status}, {"Posted at", t.PostedAt}, {"Recorded at", recorded}, {"Expires at", t.ExpiresAt},
			{"Ended at", t.EndedAt}, {"Ended by", t.EndedBy}, {"Reverses", t.Reverses}, {"Description", t.Description},
			{"Why it ended", t.EndDescription},
		} {
			if f[1] != "" {
				head.row(f[0], f[1])
			}
		}
		for _, k := range slices.Sorted(maps.Keys(t.Metadata)) {
			head.row("Metadata", k+" = "+t.Metadata[k])
		}
		err := head.flush()
		for _, part := range []struct {
			title string
			legs  []client.Leg
		}{{"", client.Legs(t.Postings)}, {"Captured", client.Legs(t.Captured)}, {"Reversed", t.Reversed}} {
			if err == nil && (len(part.legs) > 0 || part.title == "") {
				err = env.printLegs(part.title, part.legs)
			}
		}
		return err
	})
}

// printLegs prints legs as a table, after an empty line and a title.
func (env *environment) printLegs(title string, legs []client.Leg) error {
	fmt.Fprintln(env.out)
	if title != "" {
		fmt.Fprintln(env.out, title)
	}
	t := env.newTable(words("ACCOUNT"), words("ASSET"), numbers("QUANTITY"), numbers("COST"))
	for _, l := range legs {
		t.row(l.Account, l.Asset, env.units.Quantity(l.Asset, l.Quantity), env.units.CostCell(l.Asset, l.Cost))
	}
	return t.flush()
}

// assetsOf returns the assets of postings, with duplicates.
func assetsOf(postings []client.Posting) []string {
	assets := make([]string, len(postings))
	for i, p := range postings {
		assets[i] = p.Asset
	}
	return assets
}
