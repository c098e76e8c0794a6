package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

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

// findCommand is `ledger find`.
func (env *environment) findCommand() *cobra.Command {
	var by client.TransactionsQuery
	var day time.Time
	cmd := &cobra.Command{Use: "find"}
	f := cmd.Flags()
	var metadata string
	textFlag(f, &metadata, "metadata", "only transactions with this metadata, KEY=VALUE", func(text string) error {
		key, value, _ := strings.Cut(text, "=")
		if key == "" || value == "" {
			return errors.New("must be KEY=VALUE")
		}
		by.Metadata = map[string]string{key: value}
		return nil
	})
	periodFlags(f, &by.From, &by.To)
	timeFlag(f, &day, "day", []string{time.DateOnly}, "posted on this day")
	f.BoolVar(&by.OldestFirst, "oldest-first", false, "print the oldest first")
	env.limitFlags(cmd, "transactions")
	cmd.MarkFlagsMutuallyExclusive("day", "from")
	cmd.MarkFlagsMutuallyExclusive("day", "to")
	return env.apiCommand(cmd, func(ctx context.Context, _ []string) error {
		if !day.IsZero() {
			by.From, by.To = day, client.EndOfDay(day)
		}
		if err := checkPeriod(by.From, by.To); err != nil {
			return err
		}
		return printPages(ctx, env, env.api.Transactions(by), assetsOfAll, env.printTransactions)
	})
}

// printTransactions prints a line for each leg of each transaction. The legs of a captured hold are the captured ones.
func (env *environment) printTransactions(transactions []client.Transaction, heading bool) error {
	t := env.legTable("POSTED AT (UTC)", heading)
	for _, one := range transactions {
		what := one.Kind
		if one.Status != client.StatusPosted {
			what += ", " + one.Status
		}
		env.legRows(t, one.PostedAt, what, one, one.AsPosted())
	}
	return t.flush()
}

// legTable returns a table of transactions with a line for each leg.
func (env *environment) legTable(when string, heading bool) *grid {
	return env.newPage(heading, times(when), words("TRANSACTION"), words("ACCOUNT"), words("ASSET"),
		numbers("QUANTITY"))
}

// legRows adds a line for each leg. The first line, which exists also without legs, has the time and the transaction.
func (env *environment) legRows(t *grid, at, what string, one client.Transaction, legs []client.Posting) {
	head := []string{shortTime(at), strings.TrimSpace(fmt.Sprintf("%s (%s) %s", one.ID, what, one.Description))}
	if len(legs) == 0 {
		t.row(head[0], head[1], "", "", "")
	}
	for _, p := range legs {
		t.row(head[0], head[1], p.Account, p.Asset, env.units.Quantity(p.Asset, p.Quantity))
		head = []string{"", ""}
	}
}
