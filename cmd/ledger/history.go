package main

import (
	"context"
	"encoding/csv"
	"time"

	"github.com/spf13/cobra"

	"ledger.example/cmd/ledger/client"
)

// historyShown is how many postings a history has unless told otherwise, as a list of the API.
const historyShown = 20

type historyOptions struct {
	asset, from, to         string
	limit                   int
	all, csv, minor, strong bool
}

func (c *cli) historyCommand() *cobra.Command {
	var o historyOptions
	cmd := &cobra.Command{
		Use:   "history ACCOUNT",
		Short: "Show an account's postings, newest first",
		Long: `history prints an account's postings over all assets or of one, newest first.

--from is included and --to is not; both take a time (2026-01-31T12:00:00Z) or a day (2026-01-31, which
begins at midnight UTC).

--csv prints comma-separated values with a heading, texts exactly as they were posted: a program that
takes texts beginning with = + - or @ for formulas must be told not to.

--json prints the API's replies, one a line: one for each page.`,
		Example: `  ledger history jane
  ledger history jane --asset USD --from 2026-01-01 --to 2026-02-01 --all
  ledger history jane --csv --all > jane.csv`,
		Args: ids("ACCOUNT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.history(cmd.Context(), args[0], o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.asset, "asset", "", "of this asset only")
	f.StringVar(&o.from, "from", "", "posted at this time or later")
	f.StringVar(&o.to, "to", "", "posted before this time")
	f.IntVar(&o.limit, "limit", historyShown, "at most so many postings")
	f.BoolVar(&o.all, "all", false, "all postings")
	f.BoolVar(&o.csv, "csv", false, "print comma-separated values")
	f.BoolVar(&o.minor, "minor", false, "amounts in whole minor units")
	f.BoolVar(&o.strong, "strong", false, "include every acknowledged transaction; needs --asset")
	cmd.MarkFlagsMutuallyExclusive("limit", "all")
	return cmd
}

func (c *cli) history(ctx context.Context, account string, o historyOptions) error {
	q := client.HistoryQuery{Asset: o.asset, Strong: o.strong}
	var err error
	if q.From, err = parseMoment("--from", o.from); err != nil {
		return err
	}
	if q.To, err = parseMoment("--to", o.to); err != nil {
		return err
	}
	switch {
	case o.csv && c.json:
		return wrongUse("--csv and --json exclude each other")
	case o.limit < 1:
		return wrongUse("--limit must be at least 1")
	case o.strong && o.asset == "":
		return wrongUse("--strong is offered for one asset only: give it with --asset")
	case o.asset != "":
		if err := checkID("--asset", o.asset); err != nil {
			return usageError{err}
		}
	}
	api, err := c.dial(0, loadingAtOnce)
	if err != nil {
		return err
	}
	left := o.limit
	if o.all {
		left = 0
	}
	print := c.historyPrinter(newUnits(api, o.minor), o.csv)
	return eachPage(ctx, api, account, q, left, func(r client.Reply[client.List[client.Posting]], first bool) error {
		if c.json {
			if err := c.printJSON(r.Raw); err != nil {
				return err
			}
		} else if err := print(ctx, r.Value.Data, first); err != nil {
			return err
		}
		return c.out.Flush() // whoever reads along sees it, and one who has stopped reading ends it
	})
}

// eachPage reads a history page by page, until limit postings have come or, with 0, to its end.
func eachPage(ctx context.Context, api *client.Client, account string, q client.HistoryQuery, limit int,
	page func(r client.Reply[client.List[client.Posting]], first bool) error) error {
	cursor := ""
	for count := 0; limit == 0 || count < limit; {
		size := client.PageLimit
		if limit > 0 {
			size = min(size, limit-count)
		}
		r, err := api.History(ctx, account, q, cursor, size)
		if err != nil {
			return err
		}
		if err := page(r, cursor == ""); err != nil {
			return err
		}
		if r.Value.NextCursor == nil {
			return nil
		}
		count += len(r.Value.Data)
		cursor = *r.Value.NextCursor
	}
	return nil
}

// historyPrinter prints pages for people or as CSV.
func (c *cli) historyPrinter(u *units, asCSV bool) func(ctx context.Context, postings []client.Posting, first bool) error {
	return func(ctx context.Context, postings []client.Posting, first bool) error {
		assets := make([]string, len(postings))
		for i, p := range postings {
			assets[i] = p.Asset
		}
		if err := u.load(ctx, assets...); err != nil {
			return err
		}
		if asCSV {
			return c.printPostingsCSV(postings, u, first)
		}
		return c.printPostings(postings, u, first)
	}
}

func (c *cli) printPostings(postings []client.Posting, u *units, heading bool) error {
	t := newTable(c.out)
	if heading {
		t.row("POSTED AT", "TRANSACTION", "KIND", "ASSET", "QUANTITY", "COST", "DESCRIPTION")
	}
	for _, p := range postings {
		t.row(p.PostedAt, p.Transaction, p.Kind, p.Asset, u.quantity(p.Asset, p.Quantity), u.costCell(p.Asset, p.Cost), p.Description)
	}
	return t.flush()
}

func (c *cli) printPostingsCSV(postings []client.Posting, u *units, heading bool) error {
	w := csv.NewWriter(c.out)
	if heading {
		if err := w.Write([]string{"posted_at", "transaction", "kind", "posting", "account", "asset", "quantity", "cost", "currency", "description"}); err != nil {
			return err
		}
	}
	for _, p := range postings {
		cost, currency := u.cost(p.Asset, p.Cost)
		if err := w.Write([]string{p.PostedAt, p.Transaction, p.Kind, p.ID, p.Account, p.Asset, u.quantity(p.Asset, p.Quantity), cost, currency, p.Description}); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// parseMoment reads a time or a day; "" is the zero time.
func parseMoment(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, wrongUse("%s: %q is neither a time such as 2026-01-31T12:00:00Z nor a day such as 2026-01-31", flag, text)
}
