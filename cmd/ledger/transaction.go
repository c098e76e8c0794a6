package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/days"
	"ledger.example/internal/retry"
	"ledger.example/internal/spreadsheet"
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

// printTransaction prints a transaction: raw is the JSON of the API. CSV has a line for each posting, as that of find.
func (env *environment) printTransaction(ctx context.Context, t client.Transaction, raw []byte) error {
	recorded := t.RecordedAt
	if recorded == t.PostedAt {
		recorded = "" // not backdated
	}
	return env.print(ctx, raw, assetsOf(t.Postings), func() error {
		if env.format == formatCSV {
			return env.printTransactions([]client.Transaction{t}, true)
		}
		head := env.newList()
		head.row("Transaction", t.ID)
		head.row("Kind", t.Kind)
		rows := [][2]string{
			{"Status", t.Status}, {"Posted at", t.PostedAt}, {"Recorded at", recorded}, {"Expires at", t.ExpiresAt},
			{"Ended at", t.EndedAt}, {"Ended by", t.EndedBy}, {"Reverses", t.Reverses},
		}
		said := reflect.ValueOf(t.ShownAnnotation)
		for _, f := range client.FieldsOf(said.Type()) {
			if text, ok := said.FieldByIndex(f.Index).Interface().(string); ok {
				rows = append(rows, [2]string{f.Label(), text})
			}
		}
		for _, f := range append(rows, [2]string{"Why it ended", t.EndDescription}) {
			if f[1] != "" {
				head.row(f[0], f[1])
			}
		}
		for _, id := range t.Reversals {
			head.row("Reversed by", id)
		}
		metadataRows(head, t.Metadata)
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

// pairFlag adds a flag that selects by one pair of metadata. Elsewhere the flag can be repeated, so here the last one
// does not count alone.
func pairFlag(f *pflag.FlagSet, to *map[string]string, usage string) {
	var metadata string
	textFlag(f, &metadata, metadataFlag, usage, func(text string) error {
		key, value, _ := strings.Cut(text, "=")
		if key == "" || value == "" {
			return errors.New("must be KEY=VALUE")
		}
		if *to != nil {
			return errors.New("must be given once")
		}
		*to = map[string]string{key: value}
		return nil
	})
}

// metadataRows adds metadata to a list, in the order of the keys.
func metadataRows(t *grid, metadata map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		t.row("Metadata", key+" = "+metadata[key])
	}
}

// findCommand is `ledger find`.
func (env *environment) findCommand() *cobra.Command {
	var by client.TransactionsQuery
	cmd := &cobra.Command{Use: "find"}
	f := cmd.Flags()
	pairFlag(f, &by.Metadata, "only transactions with this metadata, KEY=VALUE")
	env.periodFlags(f, &by.From, &by.To)
	env.dayFlag(f, "day", "posted on this day", func(day days.Day, in *time.Location) error {
		if by.From, by.To = given(day.Begin(in)), day.End(in); by.From.Equal(by.To) {
			return fmt.Errorf("--day: there was no %s in %s", day, in)
		}
		return nil
	})
	f.BoolVar(&by.OldestFirst, "oldest-first", false, "print the oldest first")
	env.limitFlags(cmd, "transactions")
	cmd.MarkFlagsMutuallyExclusive("day", "from")
	cmd.MarkFlagsMutuallyExclusive("day", "to")
	env.formatFlags(cmd)
	return env.apiCommand(env.csvFlag(cmd), func(ctx context.Context, _ []string) error {
		if err := checkPeriod(by.From, by.To); err != nil {
			return err
		}
		return printPages(ctx, env, env.api.Transactions(by), assetsOfAll, env.printTransactions)
	})
}

// printTransactions prints a line for each leg of each transaction. The legs of a captured hold are the captured ones.
func (env *environment) printTransactions(transactions []client.Transaction, heading bool) error {
	if env.format == formatCSV {
		return env.writeCSV(spreadsheet.Transactions(transactions, heading, env.units))
	}
	t := env.legTable("POSTED AT", heading)
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
	head := []string{at, strings.TrimSpace(fmt.Sprintf("%s (%s) %s", one.ID, what, one.Description))}
	if len(legs) == 0 {
		t.row(head[0], head[1], "", "", "")
	}
	for _, p := range legs {
		t.row(head[0], head[1], p.Account, p.Asset, env.units.Quantity(p.Asset, p.Quantity))
		head = []string{"", ""}
	}
}

// tailPause is the pause between polls.
const tailPause = 2 * time.Second

// tailCommand is `ledger tail`.
func (env *environment) tailCommand() *cobra.Command {
	var from client.JournalQuery
	cmd := &cobra.Command{Use: "tail"}
	env.formatFlags(cmd, formatTable, formatJSON) // it has no end
	f := cmd.Flags()
	f.StringVar(&from.After, "after", "", "continue after the entry with this cursor")
	env.timeFlag(f, &from.From, "from", beginOf, "begin at this time")
	f.StringVar(&from.Type, "type", "", "only events of this type")
	cmd.MarkFlagsMutuallyExclusive("after", "from")
	return env.apiCommand(endless(cmd), func(ctx context.Context, _ []string) error {
		if from.After == "" && from.From.IsZero() {
			from.From = time.Now()
		}
		return env.tail(ctx, from)
	})
}

// tail prints the journal until ctx ends, which is success. After the first answer, it retries while the API fails.
func (env *environment) tail(ctx context.Context, from client.JournalQuery) (err error) {
	defer func() {
		refused, ok := errors.AsType[*client.Error](err)
		if from.After != "" && (!ok || refused.Code != "invalid_cursor") {
			kind := ""
			if from.Type != "" {
				kind = " --type " + from.Type
			}
			fmt.Fprintf(env.err, "To continue, run: ledger tail --after %s%s\n", from.After, kind)
		}
	}()
	for isDown, heading := false, true; ctx.Err() == nil; {
		r, err := env.api.JournalPage(ctx, from, client.PageLimit)
		page := r.Value
		if err == nil && !env.isJSON() {
			err = env.units.Load(ctx, assetsOfEntries(page.Data)...)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && (from.After == "" || isFinal(err)):
			return err
		case err != nil:
			if !isDown {
				fmt.Fprintf(env.err, "Waiting for the ledger: %v\n", err)
			}
			isDown = true
		default:
			if err := env.printEntries(r, heading); err != nil {
				return err
			}
			heading = heading && len(page.Data) == 0
			isDown = false
		}
		if err == nil && page.NextCursor != from.After {
			from.After = page.NextCursor
			if len(page.Data) > 0 || from.Type != "" { // a page may have no event of the type
				continue
			}
		}
		_ = retry.Sleep(ctx, tailPause) // the loop checks ctx
	}
	return nil
}

// isFinal reports whether a retry would get the same error.
func isFinal(err error) bool {
	refused, ok := errors.AsType[*client.Error](err)
	_, isDenied := errors.AsType[*client.DeniedError](err)
	return ok && refused.Status < 500 || isDenied
}

// printEntries prints a page of the journal: one line of JSON for each entry with --json, else a table.
func (env *environment) printEntries(r client.Reply[client.JournalPage], heading bool) error {
	if env.isJSON() {
		var raw struct{ Data []json.RawMessage }
		if err := json.Unmarshal(r.Raw, &raw); err != nil {
			return err
		}
		for _, entry := range raw.Data {
			fmt.Fprintf(env.out, "%s\n", entry)
		}
		return env.out.Flush()
	}
	t := env.legTable("RECORDED AT", heading)
	for _, e := range r.Value.Data {
		one, isTransaction, err := e.Transaction()
		legs := one.Postings
		switch {
		case err != nil:
			return err
		case !isTransaction:
			if err := eventRow(t, e); err != nil {
				return err
			}
			continue
		case e.Type != events.TypePosted && e.Type != events.TypeHeld:
			legs = one.Captured
		}
		env.legRows(t, e.At, one.Kind+", "+one.Status, one, legs)
	}
	if len(r.Value.Data) > 0 {
		if err := t.flush(); err != nil {
			return err
		}
	}
	return env.out.Flush()
}

// eventRow adds the line of an event that is not one of a transaction.
func eventRow(t *grid, e client.JournalEntry) error {
	var about struct{ ID, Name, User, Role, Group, Account string }
	if err := json.Unmarshal(e.Data, &about); err != nil {
		return err
	}
	of, detail := cmp.Or(about.ID, about.User, about.Group), cmp.Or(about.Name, about.Role)
	if of == about.User && about.Group != "" {
		detail = strings.TrimSpace(detail + " in " + about.Group)
	}
	account := about.Account
	if strings.HasPrefix(e.Type, "account.") && about.ID != "" {
		account = about.ID
	}
	t.row(e.At, strings.TrimSpace(fmt.Sprintf("%s (%s) %s", of, e.Type, detail)), account, "", "")
	return nil
}

// assetsOfEntries returns the assets of all entries, with duplicates.
func assetsOfEntries(entries []client.JournalEntry) (assets []string) {
	for _, e := range entries {
		if t, ok, _ := e.Transaction(); ok {
			assets = append(assets, assetsOf(t.Postings)...)
		}
	}
	return assets
}
