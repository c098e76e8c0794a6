package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ledger.example/client"
	"ledger.example/internal/retry"
)

// tailPause is how long tail waits before it asks again.
const tailPause = 2 * time.Second

// tailCommand is `ledger tail`.
func (env *environment) tailCommand() *cobra.Command {
	var from client.JournalFrom
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Print everything that is posted, as it comes",
		Long: `tail follows the journal: it prints each transaction that is posted or held, and
each end of a hold, in the order in which they were recorded, some 20 seconds
behind. It goes on until Ctrl-C, also when the ledger is restarted.

It begins with what comes from now on, with --from at an earlier time, and with
--after behind an entry that was printed before: then nothing is missed, and an
entry may come twice.

--json prints a line for each entry. Its "cursor" is what --after takes.`,
		Example: `  ledger tail
  ledger tail --from 2026-11-22T09:00:00Z
  ledger tail --json --after CURSOR`,
	}
	f := cmd.Flags()
	f.StringVar(&from.After, "after", "", "go on behind the entry with this cursor")
	timeFlag(f, &from.Time, "from", timeFormats(), "begin at this time")
	cmd.MarkFlagsMutuallyExclusive("after", "from")
	return env.apiCommand(cmd, func(ctx context.Context, _ []string) error {
		if from == (client.JournalFrom{}) {
			from.Time = time.Now()
		}
		return env.tail(ctx, from)
	})
}

// tail prints the journal until ctx ends, which is success. Once the API has answered, it is waited for.
func (env *environment) tail(ctx context.Context, from client.JournalFrom) (err error) {
	defer func() {
		refused, ok := errors.AsType[*client.Error](err)
		if from.After != "" && (!ok || refused.Code != "invalid_cursor") {
			fmt.Fprintf(env.err, "Go on with: ledger tail --after %s\n", from.After)
		}
	}()
	for isAway, heading := false, true; ctx.Err() == nil; {
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
			if !isAway {
				fmt.Fprintf(env.err, "Waiting for the ledger: %v\n", err)
			}
			isAway = true
		default:
			if err := env.printEntries(r, heading); err != nil {
				return err
			}
			heading = heading && len(page.Data) == 0
			isAway = false
		}
		if err == nil && page.NextCursor != from.After {
			from.After = page.NextCursor
			if len(page.Data) > 0 {
				continue
			}
		}
		_ = retry.Sleep(ctx, tailPause) // its end is the loop's
	}
	return nil
}

// isFinal reports whether an error is an answer that another attempt would get as well.
func isFinal(err error) bool {
	refused, ok := errors.AsType[*client.Error](err)
	_, isDenied := errors.AsType[*client.DeniedError](err)
	return ok && refused.Status < 500 || isDenied
}

// printEntries prints a page of the journal: as it came, a line for each entry, or for people.
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
		legs := e.Transaction.Postings
		if e.Event != client.StatusPosted && e.Event != client.StatusHeld {
			legs = e.Transaction.Captured
		}
		env.legRows(t, e.At, e.Transaction.Kind+", "+e.Event, e.Transaction, legs)
	}
	if len(r.Value.Data) > 0 {
		if err := t.flush(); err != nil {
			return err
		}
	}
	return env.out.Flush()
}

// assetsOfEntries returns the assets of what happened, repeated ones too.
func assetsOfEntries(entries []client.JournalEntry) (assets []string) {
	for _, e := range entries {
		assets = append(assets, assetsOf(e.Transaction.Postings)...)
	}
	return assets
}
