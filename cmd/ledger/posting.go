package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ledger.example/client"
	"ledger.example/events"
)

// idHelp is the help of commands that post, on ids.
const idHelp = `

Without --id, the command creates an id before it sends anything. While the
outcome is unknown, it sends the request again with the same id. If the outcome
stays unknown, it prints the id: run the command again with --id.`

// holdHelp is the help of commands that can place a hold.
const holdHelp = `

With --hold, the money is only set aside. "ledger capture" posts it, "ledger
release" gives it back. A hold that is neither captured nor released expires
after 7 days, or as --expires says: at a time, or so long from now. To run the
command again with the same --id, give a time.`

// postFlags hold the flags of commands that post a transaction. complete sets id and hold.
type postFlags struct {
	id, description string
	effective       time.Time
	metadata        map[string]string

	isHold  bool
	expires expiry
	hold    *client.Hold // nil for none
}

// flags adds the flags but those of a hold. Key and value of metadata are taken as they stand: only the first "="
// separates them.
func (p *postFlags) flags(f *pflag.FlagSet) {
	idFlag(f, &p.id, "id", "id of the transaction; the same id again posts nothing twice (default: a new KSUID)")
	f.StringVar(&p.description, flagDescription, "", "description of the transaction")
	timeFlag(f, &p.effective, "effective-at", timeFormats(),
		"post it for this past time (default: now)")
	f.Func("metadata", "`key=value` to store with the transaction; may be repeated", func(pair string) error {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return errors.New("it is not key=value")
		}
		if _, twice := p.metadata[key]; twice {
			return fmt.Errorf("%q is given twice", key)
		}
		if p.metadata == nil {
			p.metadata = make(map[string]string)
		}
		p.metadata[key] = value
		return nil
	})
}

// holdFlags adds the flags that make the transaction a hold.
func (p *postFlags) holdFlags(f *pflag.FlagSet) {
	f.BoolVar(&p.isHold, "hold", false, "set the money aside, and post nothing yet")
	f.Var(checked[expiry]{&p.expires, "time", parseExpiry}, "expires",
		"when a hold expires: 36h, 7d, or a time; at most 31 days ahead (default: 7d)")
}

// complete makes an id if none is given, and the hold that the flags ask for. That is before anything is sent, so that
// the request can be sent again without posting it twice. An expiry in so much time is counted from now.
func (p *postFlags) complete() error {
	switch {
	case p.isHold:
		if p.expires.in > 0 {
			p.expires.at = time.Now().Add(p.expires.in).Truncate(time.Second).Add(time.Second).UTC()
		}
		p.hold = &client.Hold{ExpiresAt: p.expires.at}
	case p.expires != expiry{}:
		return wrongUse("--expires needs --hold")
	}
	if p.id != "" {
		return nil
	}
	minted, _, err := events.NewMinter(nil, nil).Mint(1)
	if err == nil {
		p.id = string(minted[0])
	}
	return err
}

// again is what to run once more when the outcome stays unknown: for the same id, and for a hold until the same time,
// as what counts from now is another time later.
func (p *postFlags) again() string {
	text := "run the same command again with --id " + p.id
	if p.expires.in > 0 {
		text += " --expires " + p.expires.at.Format(time.RFC3339)
	}
	return text
}

// postingCommand completes a command that posts what request makes of p and the arguments.
func (env *environment) postingCommand(
	cmd *cobra.Command, p *postFlags, request func(ctx context.Context, args []string) (client.Post, error),
) *cobra.Command {
	p.flags(cmd.Flags())
	env.dryRunFlag(cmd)
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
		if err := p.complete(); err != nil {
			return err
		}
		r, err := request(ctx, args)
		if err != nil {
			return err
		}
		return env.post(ctx, r, p.again())
	})
}

// dryRunFlag adds the flag of commands that post.
func (env *environment) dryRunFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&env.isDryRun, "dry-run", false, "print what would be answered, and write nothing")
}

// post sends a request and prints the answer. With --dry-run it asks what the answer would be. again says what to run
// when the outcome stays unknown.
func (env *environment) post(ctx context.Context, request client.Post, again string) error {
	if env.isDryRun {
		r, err := env.api.DryRun(ctx, request)
		if err != nil {
			return env.units.InDecimals(ctx, err)
		}
		fmt.Fprintln(env.err, "dry run: nothing was written")
		return env.printTransaction(ctx, r.Value, r.Raw)
	}
	t, w, err := env.api.Post(ctx, request)
	// The client has retried until its timeout. Only the same request can tell whether it was posted.
	if _, ok := errors.AsType[*client.UnknownError](err); ok {
		return fmt.Errorf("%w\n%s", err, again)
	}
	if err != nil {
		return env.units.InDecimals(ctx, err)
	}
	if !w.New {
		fmt.Fprintf(env.err, "%s had been %[2]s before, with the same content: nothing was %[2]s now\n", t.ID,
			cmp.Or(t.Status, client.StatusPosted))
	}
	return env.printTransaction(ctx, t, w.Raw)
}

// expiry is a time, or so long from now. The zero expiry is none.
type expiry struct {
	at time.Time
	in time.Duration
}

// String is the value in the flag's help: none.
func (e expiry) String() string { return "" }

// daysMax bounds what is read as a number of days. The ledger's own bound is lower.
const daysMax = 9_999

// parseExpiry reads a time, a day in UTC, or a duration, whose unit may be days as well.
func parseExpiry(text string) (expiry, error) {
	if at, err := parseTime(text, timeFormats()); err == nil {
		return expiry{at: at.UTC()}, nil
	}
	in, err := time.ParseDuration(text)
	if number, isDays := strings.CutSuffix(text, "d"); isDays {
		in, err = time.ParseDuration(number + "h")
		in = min(in, daysMax*time.Hour) * 24
	}
	if err != nil || in <= 0 {
		return expiry{}, errors.New("it must be a duration such as 36h or 7d, or a time such as 2026-01-31T12:00:00Z")
	}
	return expiry{in: in}, nil
}
