package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ledger.example/client"
)

// historyCommand is `ledger history`. It prints each page when it arrives, so that a long history needs little memory.
func (env *environment) historyCommand() *cobra.Command {
	var q client.HistoryQuery
	var limit int
	var asCSV bool
	cmd := &cobra.Command{Use: "history ACCOUNT"}
	f := cmd.Flags()
	idFlag(f, &q.Asset, "asset", "only postings of this asset")
	periodFlags(f, &q.From, &q.To)
	limitFlags(cmd, &limit, "postings")
	env.strongFlag(cmd, "include every acknowledged transaction; needs --asset")
	return env.csvCommand(cmd, &asCSV, func(ctx context.Context, args []string) error {
		if !q.To.IsZero() && !q.From.Before(q.To) {
			return usageErrorf("--from must be earlier than --to")
		}
		q.Strong = env.strong
		show := env.printPostings
		if asCSV {
			show = env.printPostingsCSV
		}
		return printPages(ctx, env, limit, env.api.History(args[0], q).Page, assetsOf, show)
	})
}

// csvCommand is apiCommand for a command that can print comma-separated values.
func (env *environment) csvCommand(
	cmd *cobra.Command, asCSV *bool, do func(ctx context.Context, args []string) error,
) *cobra.Command {
	cmd.Flags().BoolVar(asCSV, "csv", false, "print comma-separated values")
	env.apiCommand(cmd, do)
	cmd.MarkFlagsMutuallyExclusive("csv", "json")
	return cmd
}

// printPages prints a list page by page, until its end or until it has printed limit items. It loads the scales of the
// assets that assets returns before it calls show.
func printPages[T any](
	ctx context.Context, env *environment, limit int,
	page func(ctx context.Context, cursor string, most int) (client.Reply[client.List[T]], error),
	assets func([]T) []string, show func(items []T, heading bool) error,
) error {
	// A page may be short or even empty without being the last one. Only a missing cursor marks the end.
	for cursor := ""; ; {
		r, err := page(ctx, cursor, min(client.PageLimit, limit))
		if err != nil {
			return err
		}
		items := r.Value.Data
		err = env.print(ctx, r.Raw, assets(items), func() error { return show(items, cursor == "") })
		if err != nil {
			return err
		}
		if err := env.out.Flush(); err != nil { // a closed pipe ends the list
			return err
		}
		if r.Value.NextCursor == nil {
			return nil
		}
		if limit -= len(items); limit <= 0 {
			fmt.Fprintln(env.err, "There are more. Use --all, or a larger --limit.")
			return nil
		}
		cursor = *r.Value.NextCursor
	}
}

// printPostings prints a page of postings as a table for people. Each page is a separate table, whose columns may be
// wider than those of the page before. Only the first page has a heading, and every page with entries of holds, because
// these have one more column.
func (env *environment) printPostings(postings []client.Posting, heading bool) error {
	columns := []column{times("POSTED AT (UTC)"), words("TRANSACTION"), words("ASSET"),
		numbers("QUANTITY"), numbers("COST")}
	hasPending := slices.ContainsFunc(postings, func(p client.Posting) bool { return !p.Pending.IsZero() })
	if hasPending {
		columns = append(columns, numbers("PENDING"))
	}
	t := env.newTable(columns...)
	t.isHeaded = heading || hasPending
	for _, p := range postings {
		what := p.Kind
		if p.Status != "" && p.Status != client.StatusPosted {
			what += ", " + p.Status
		}
		cells := []string{
			shortTime(p.PostedAt), strings.TrimSpace(fmt.Sprintf("%s (%s) %s", p.Transaction, what, p.Description)),
			p.Asset, env.units.Quantity(p.Asset, p.Quantity), env.units.CostCell(p.Asset, p.Cost),
		}
		if hasPending {
			cells = append(cells, env.units.Quantity(p.Asset, p.Pending))
		}
		t.row(cells...)
	}
	return t.flush()
}

// shortTime formats a time of the API in whole seconds. It returns a text that is not a time unchanged.
func shortTime(text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return t.UTC().Format(time.DateTime)
}

func (env *environment) printPostingsCSV(postings []client.Posting, heading bool) error {
	var rows [][]string
	if heading {
		rows = append(rows, client.PostingColumns())
	}
	for _, p := range postings {
		rows = append(rows, p.Cells(env.units))
	}
	return csv.NewWriter(env.out).WriteAll(rows)
}
