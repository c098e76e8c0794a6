package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ledger.example/client"
)

// closeBooksCommand is `ledger close-books`.
func (env *environment) closeBooksCommand() *cobra.Command {
	var before, through time.Time
	var zone, reason string
	var limit int
	cmd := &cobra.Command{Use: "close-books", Args: cobra.NoArgs}
	f := cmd.Flags()
	timeFlag(f, &before, "before", []string{time.RFC3339}, "close what is before this time")
	timeFlag(f, &through, "through", []string{time.DateOnly}, "close what is before the end of this day")
	f.StringVar(&zone, "zone", "UTC", "time zone of --through, such as Europe/Berlin")
	f.StringVar(&reason, "reason", "", "why the books are closed or opened")
	limitFlags(cmd, &limit, "closings")
	env.apiCommand(cmd, func(ctx context.Context, _ []string) error {
		switch {
		case before.IsZero() && through.IsZero() && reason != "":
			return usageErrorf("--reason needs --before or --through")
		case before.IsZero() && through.IsZero():
			return printPages(ctx, env, limit, env.api.Periods().Page, noAmounts, printItems[client.Period](env))
		case reason == "":
			return usageErrorf("--reason is missing")
		case !through.IsZero():
			in, err := time.LoadLocation(zone)
			if err != nil {
				return usageErrorf("--zone: %w", err)
			}
			before = time.Date(through.Year(), through.Month(), through.Day()+1, 0, 0, 0, 0, in)
		}
		return env.closeBooks(ctx, before, reason)
	})
	cmd.MarkFlagsMutuallyExclusive("before", "through")
	return cmd
}

// closeBooks sends the next closing.
func (env *environment) closeBooks(ctx context.Context, before time.Time, reason string) error {
	newest, err := env.api.Periods().Page(ctx, "", 1)
	if err != nil {
		return err
	}
	number := int64(1)
	if len(newest.Value.Data) > 0 {
		last := newest.Value.Data[0]
		if number = last.Number + 1; last.Reason == reason && sameTime(last.ClosedBefore, before) {
			number-- // the same closing again
		}
	}
	closed, w, err := env.api.ClosePeriod(ctx, number, before, reason)
	if err != nil {
		return err
	}
	if !w.New {
		fmt.Fprintln(env.err, "The books were already closed like this: nothing was written.")
	}
	return printFields[client.Period](env)(ctx, client.Reply[client.Period]{Value: closed, Raw: w.Raw})
}

// sameTime reports whether a time of the API is at.
func sameTime(text string, at time.Time) bool {
	t, err := time.Parse(time.RFC3339, text)
	return err == nil && t.Equal(at.Truncate(time.Microsecond))
}
