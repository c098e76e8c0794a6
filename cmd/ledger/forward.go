package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ledger.example/client"
	"ledger.example/internal/desk/units"
	"ledger.example/internal/forward"
	"ledger.example/internal/retry"
)

// forwarding holds the flags of `ledger forward`.
type forwarding struct {
	to, secret, cursor string
	filter             forward.Filter
	isFromNow          bool
	rewind             time.Time

	// pause and failure are the waits after the newest event, and after a failure.
	pause   func(ctx context.Context) error
	failure func(ctx context.Context, r forward.Round) error
}

// forwardBackoff is the wait after failures in a row.
var forwardBackoff = retry.Backoff{First: time.Second, Max: time.Minute, Jitter: retry.Half}

// forwardWait is the wait after a round that failed: what the receiver asks for, if that is longer.
func forwardWait(r forward.Round) time.Duration {
	wait := forwardBackoff.Delay(r.Failed)
	if asked, ok := errors.AsType[*forward.PauseError](r.Err); ok {
		wait = max(wait, asked.For)
	}
	return wait
}

// forwardCommand is `ledger forward`. Package internal/forward implements it.
func (env *environment) forwardCommand() *cobra.Command {
	o := forwarding{
		pause: func(ctx context.Context) error { return retry.Sleep(ctx, tailPause) },
		failure: func(ctx context.Context, r forward.Round) error {
			return retry.Sleep(ctx, forwardWait(r))
		},
	}
	cmd := &cobra.Command{
		Use:  "forward",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return env.forward(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.Var(checked[string]{&o.to, "string", func(text string) (string, error) {
		return text, checkEndpoint(text)
	}}, "to", "URL of the receiver")
	f.StringVar(&o.secret, "secret-file", "", "file with the secret that signs")
	f.StringVar(&o.cursor, "cursor", "", "file of the cursor")
	f.Var(checked[bool]{&o.isFromNow, "string", func(text string) (bool, error) {
		if text != "now" {
			return false, errors.New("must be now; for a time, use --rewind")
		}
		return true, nil
	}}, "from", "now: begin a new cursor a minute ago")
	f.Lookup("from").DefValue = ""
	env.timeFlag(f, &o.rewind, "rewind", beginOf, "set the cursor back to this time")
	f.StringVar(&o.filter.Type, "type", "", "only events of this type")
	idFlag(f, &o.filter.Account, "account", "only events of this account")
	for _, name := range []string{"to", "secret-file", "cursor"} {
		_ = cmd.MarkFlagRequired(name) // it is defined above
	}
	cmd.MarkFlagsMutuallyExclusive("from", "rewind")
	env.callFlags(cmd)
	env.jsonFlag(cmd, "log JSON on a terminal, too")
	return endless(cmd)
}

// forward runs until ctx ends, which is success. Errors are those that no retry can help.
func (env *environment) forward(ctx context.Context, o forwarding) (err error) {
	if env.api, err = env.dial(0, units.LoadingAtOnce); err != nil {
		return err
	}
	target, err := forward.NewWebhook(o.to, o.secret)
	if err != nil {
		return err
	}
	file, err := forward.OpenFile(o.cursor, o.filter)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := o.place(ctx, file); err != nil {
		return err
	}
	log := env.logger(slog.LevelInfo)
	to, _ := url.Parse(o.to) // the flag checked it
	log.Info("forward is ready", "from", env.url, "to", to.Scheme+"://"+to.Host+to.Path, "cursor", o.cursor)
	f := forward.Forwarder{Keep: file, Log: log,
		Read: func(ctx context.Context, c forward.Cursor) (client.JournalPage, error) {
			r, err := env.api.JournalPage(ctx, client.JournalQuery{After: c.After, From: c.From, Type: o.filter.Type},
				client.PageLimit)
			return r.Value, err
		},
		Deliver: target.Deliver,
	}
	if o.filter.Account != "" {
		f.Wants = func(e client.JournalEntry) (bool, error) { return isOf(e, o.filter.Account) }
	}
	err = f.Run(ctx, func(ctx context.Context, r forward.Round) error {
		refused, _ := errors.AsType[*client.Error](r.Err)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case refused != nil && refused.Code == "invalid_cursor":
			return fmt.Errorf("%s is not a cursor of the ledger at %s: give its own file. If the ledger was restored, "+
				"go on with --rewind and a time before that of the backup: %w", o.cursor, env.url, r.Err)
		case isFinal(r.Err):
			return r.Err
		case r.Err != nil:
			return o.failure(ctx, r)
		case r.More:
			return nil
		}
		return o.pause(ctx)
	})
	return unlessDone(ctx, err)
}

// place sets the cursor where the flags want it.
func (o *forwarding) place(ctx context.Context, k forward.Keeper) error {
	c, err := k.Load(ctx)
	switch {
	case err != nil:
		return err
	case o.isFromNow && c == forward.Cursor{}:
		return k.Store(ctx, forward.Cursor{From: time.Now().Add(-forward.Margin)})
	case o.rewind.IsZero():
		return nil
	}
	last := c.At
	if last.IsZero() {
		last = c.From
	}
	if last.IsZero() && c.After != "" || !last.IsZero() && o.rewind.After(last) || o.rewind.After(time.Now()) {
		return usageErrorf("--rewind %s is after the last event that was sent, and would skip others",
			o.rewind.Format(time.RFC3339))
	}
	// What was sent before does not count, or a later time could skip what is now to be sent again.
	return k.Store(ctx, forward.Cursor{From: o.rewind.Add(-forward.Margin), At: o.rewind})
}

// isOf reports whether an event is one of an account: it names it, or posts to it.
func isOf(e client.JournalEntry, account string) (bool, error) {
	var about struct {
		ID, Account string
		Postings    []struct{ Account string }
	}
	if err := json.Unmarshal(e.Data, &about); err != nil {
		return false, fmt.Errorf("event %s: %w", e.ID, err)
	}
	return about.Account == account || strings.HasPrefix(e.Type, "account.") && about.ID == account ||
		slices.ContainsFunc(about.Postings, func(p struct{ Account string }) bool { return p.Account == account }), nil
}
