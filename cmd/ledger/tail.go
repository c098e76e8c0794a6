package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/retry"
)

// tailPause is the pause between polls.
const tailPause = 2 * time.Second

// tailCommand is `ledger tail`.
func (env *environment) tailCommand() *cobra.Command {
	var from client.JournalQuery
	cmd := &cobra.Command{Use: "tail"}
	f := cmd.Flags()
	f.StringVar(&from.After, "after", "", "continue after the entry with this cursor")
	timeFlag(f, &from.From, "from", timeFormats(), "begin at this time")
	f.StringVar(&from.Type, "type", "", "only events of this type")
	cmd.MarkFlagsMutuallyExclusive("after", "from")
	return env.apiCommand(cmd, func(ctx context.Context, _ []string) error {
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
		if err == nil && !env.json {
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
	if env.json {
		var raw struct{ Data []json.RawMessage }
		if err := json.Unmarshal(r.Raw, &raw); err != nil {
			return err
		}
		for _, entry := range raw.Data {
			fmt.Fprintf(env.out, "%s\n", entry)
		}
		return env.out.Flush()
	}
	t := env.legTable("RECORDED AT (UTC)", heading)
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
	t.row(shortTime(e.At), strings.TrimSpace(fmt.Sprintf("%s (%s) %s", of, e.Type, detail)), account, "", "")
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
