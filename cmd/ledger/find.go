package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ledger.example/client"
)

// findCommand is `ledger find`.
func (env *environment) findCommand() *cobra.Command {
	var by client.Search
	var day time.Time
	var limit int
	cmd := &cobra.Command{Use: "find"}
	f := cmd.Flags()
	var metadata string
	f.Var(checked[string]{&metadata, "string", func(text string) (string, error) {
		var ok bool
		if by.Key, by.Value, ok = strings.Cut(text, "="); !ok || by.Key == "" || by.Value == "" {
			return "", errors.New("must be KEY=VALUE")
		}
		return text, nil
	}}, "metadata", "only transactions with this metadata, KEY=VALUE")
	periodFlags(f, &by.From, &by.To)
	timeFlag(f, &day, "day", []string{time.DateOnly}, "posted on this day")
	f.BoolVar(&by.OldestFirst, "oldest-first", false, "print the oldest first")
	limitFlags(cmd, &limit, "transactions")
	cmd.MarkFlagsMutuallyExclusive("day", "from")
	cmd.MarkFlagsMutuallyExclusive("day", "to")
	return env.apiCommand(cmd, func(ctx context.Context, _ []string) error {
		if !day.IsZero() {
			by.From, by.To = day, day.AddDate(0, 0, 1)
		}
		if !by.To.IsZero() && !by.From.Before(by.To) {
			return usageErrorf("--from must be earlier than --to")
		}
		return printPages(ctx, env, limit, env.api.Transactions(by).Page, assetsOfAll, env.printTransactions)
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
