package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/spreadsheet"
)

// historyCommand is `ledger history`. It prints each page when it arrives, so that a long history needs little memory.
func (env *environment) historyCommand() *cobra.Command {
	var q client.HistoryQuery
	cmd := &cobra.Command{Use: "history ACCOUNT"}
	f := cmd.Flags()
	idFlag(f, &q.Asset, "asset", "only postings of this asset")
	env.periodFlags(f, &q.From, &q.To)
	env.limitFlags(cmd, "postings")
	env.strongFlag(cmd, "include every acknowledged transaction; needs --asset")
	env.formatFlags(cmd)
	return env.apiCommand(env.csvFlag(cmd), func(ctx context.Context, args []string) error {
		if err := checkPeriod(q.From, q.To); err != nil {
			return err
		}
		if q.Strong = env.strong; q.Strong && q.Asset == "" {
			return usageErrorf("--strong needs --asset")
		}
		return printPages(ctx, env, env.api.History(args[0], q), assetsOf, env.printPostings)
	})
}

// printPostings prints a page of postings as a table for people. Each page is a separate table, whose columns may be
// wider than those of the page before. Only the first page has a heading, and every page with entries of holds, because
// these have one more column.
func (env *environment) printPostings(postings []client.Posting, heading bool) error {
	if env.format == formatCSV {
		return env.writeCSV(spreadsheet.Postings(postings, heading, env.units))
	}
	columns := []column{times("POSTED AT"), words("TRANSACTION"), words("ASSET"),
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
			p.PostedAt, strings.TrimSpace(fmt.Sprintf("%s (%s) %s", p.Transaction, what, p.Description)),
			p.Asset, env.units.Quantity(p.Asset, p.Quantity), env.units.CostCell(p.Asset, p.Cost),
		}
		if hasPending {
			cells = append(cells, env.units.Quantity(p.Asset, p.Pending))
		}
		t.row(cells...)
	}
	return t.flush()
}

// statementCommand is `ledger statement`. It prints each page when it arrives, so that a long statement needs little
// memory.
func (env *environment) statementCommand() *cobra.Command {
	var q client.StatementQuery
	cmd := &cobra.Command{Use: "statement ACCOUNT ASSET"}
	f := cmd.Flags()
	q.To = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) // the future means now
	env.periodFlags(f, &q.From, &q.To)
	env.monthFlag(f, &q.From, &q.To, "month", "posted in this month")
	cmd.MarkFlagsMutuallyExclusive("month", "from")
	cmd.MarkFlagsMutuallyExclusive("month", "to")
	env.formatFlags(cmd)
	return env.apiCommand(env.csvFlag(cmd), func(ctx context.Context, args []string) error {
		q.Account, q.Asset = args[0], args[1]
		if err := checkPeriod(q.From, q.To); err != nil {
			return err
		}
		if q.From.IsZero() {
			if err := env.fromFirst(ctx, &q); err != nil {
				return err
			}
		}
		return env.statement(ctx, q)
	})
}

// fromFirst sets the beginning of a statement to the time of the first posting, or to its end if there is none.
func (env *environment) fromFirst(ctx context.Context, q *client.StatementQuery) error {
	q.From = events.Epoch()
	for cursor := ""; ; {
		r, err := env.api.Statement(ctx, *q, cursor, 1)
		switch page := r.Value; {
		case err != nil:
			return err
		case len(page.Data) > 0:
			q.From, err = time.Parse(time.RFC3339, page.Data[0].PostedAt)
			return err
		case page.NextCursor == nil:
			q.From, err = time.Parse(time.RFC3339, page.To)
			return err
		default: // a page may be empty without being the last one
			cursor = *page.NextCursor
		}
	}
}

func (env *environment) statement(ctx context.Context, q client.StatementQuery) error {
	isFirst, isSettled := true, true
	for r, err := range env.api.StatementPages(ctx, q) {
		if err == nil {
			err = env.print(ctx, r.Raw, []string{q.Asset}, func() error { return env.printStatement(r.Value, isFirst) })
		}
		if err == nil {
			err = env.out.Flush() // a closed pipe ends the statement
		}
		if err != nil {
			return err
		}
		isFirst, isSettled = false, r.Value.Settled
	}
	if !isSettled {
		fmt.Fprintln(env.err, "Postings may still be missing: the statement ends less than ten seconds ago, or "+
			"the books were closed less than 5 minutes ago.")
	}
	return nil
}

// printStatement prints a page of a statement as a table for people. Each page is a separate table, as in a history.
func (env *environment) printStatement(s client.Statement, isFirst bool) error {
	if env.format == formatCSV {
		return env.writeCSV(spreadsheet.Statement(s, isFirst, env.units))
	}
	u := env.units
	t := env.newTable(times("POSTED AT"), words("TRANSACTION"), numbers("QUANTITY"), numbers("BALANCE"))
	if t.isHeaded = isFirst; isFirst {
		t.row(s.From, "Opening balance", "", u.Quantity(s.Asset, s.Opening.Quantity))
	}
	for _, p := range s.Data {
		what := p.Kind
		if p.Status != client.StatusPosted {
			what += ", " + p.Status + ", pending " + u.Quantity(s.Asset, p.Pending)
		}
		t.row(p.PostedAt, strings.TrimSpace(fmt.Sprintf("%s (%s) %s", p.Transaction, what, p.Description)),
			u.Quantity(s.Asset, p.Quantity), u.Quantity(s.Asset, p.BalanceAfter))
	}
	if s.NextCursor == nil {
		total, credits, debits, err := change(s.Opening, s.Closing)
		if err != nil {
			return err
		}
		t.row(s.To, "Closing balance", "", u.Quantity(s.Asset, s.Closing.Quantity))
		t.row("", fmt.Sprintf("Total: %s, %s in, %s out",
			counted(s.Closing.Postings-s.Opening.Postings, "posting", "postings"),
			u.Quantity(s.Asset, credits), u.Quantity(s.Asset, debits)), u.Quantity(s.Asset, total), "")
	}
	return t.flush()
}

// change returns closing minus opening: the total, the credits and the debits. Error: events.ErrOverflow.
func change(opening, closing client.Sums) (total, credits, debits events.Amount, err error) {
	total, err1 := closing.Quantity.Sub(opening.Quantity)
	credits, err2 := closing.Credits.Sub(opening.Credits)
	debits, err3 := closing.Debits.Sub(opening.Debits)
	return total, credits, debits, cmp.Or(err1, err2, err3)
}
