package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ledger.example/client"
	"ledger.example/events"
)

// postFlags holds the flags of commands that post a transaction. complete sets id and hold.
type postFlags struct {
	client.Annotation
	id        string
	effective time.Time

	isHold  bool
	expires expiry
	hold    *client.Hold // nil for none
}

// flags adds the flags except those of a hold.
func (p *postFlags) flags(env *environment, f *pflag.FlagSet) {
	idFlag(f, &p.id, "id", "id of the transaction; a repeated id is not posted twice (default: a new KSUID)")
	v := reflect.ValueOf(&p.Annotation).Elem()
	for i, of := range client.FieldsOf(v.Type()) {
		if text, ok := v.FieldByIndex(of.Index).Addr().Interface().(*string); ok {
			f.StringVar(text, annotationFlags()[i], "", strings.ReplaceAll(of.JSON, "_", " ")+" of the transaction")
		}
	}
	env.timeFlag(f, &p.effective, "effective-at", beginOf,
		"time at which it takes effect, at least 15 seconds ago (default: now)")
	f.Func(metadataFlag, "`key=value` to store with the transaction; may be repeated", addPair(&p.Metadata))
}

const metadataFlag = "metadata"

// addPair returns the setter of a flag that adds a pair to metadata. The first "=" separates key and value.
func addPair(to *map[string]string) func(pair string) error {
	return func(pair string) error {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return errors.New("must be key=value")
		}
		if _, twice := (*to)[key]; twice {
			return fmt.Errorf("%q is given twice", key)
		}
		if *to == nil {
			*to = make(map[string]string)
		}
		(*to)[key] = value
		return nil
	}
}

// annotationFlags returns the names of the flags for the fields of an annotation.
func annotationFlags() (names []string) {
	for _, of := range client.FieldsOf(reflect.TypeFor[client.Annotation]()) {
		names = append(names, strings.ReplaceAll(of.JSON, "_", "-"))
	}
	return names
}

func (p *postFlags) holdFlags(env *environment, f *pflag.FlagSet) {
	f.BoolVar(&p.isHold, "hold", false, "place a hold: reserve the amounts, and post nothing yet")
	env.givenFlag(f, "expires",
		"when the hold expires: 36h, 7d, or a time; at most 31 days ahead (default: 7d)",
		func(text string) (setter, error) {
			at, isTime := timeOf(text, beginOf)
			if isTime {
				return func(in *time.Location) error {
					p.expires = expiry{at: at(in).UTC()}
					return nil
				}, nil
			}
			in, err := parseTerm(text)
			return func(*time.Location) error {
				p.expires = expiry{in: in}
				return nil
			}, err
		})
}

// complete creates an id if none is given, and the hold. Commands call it before they send anything, so that all
// attempts have the same id and the same expiry.
func (p *postFlags) complete() error {
	switch {
	case p.isHold:
		if p.expires.in > 0 {
			p.expires.at = time.Now().Add(p.expires.in).Truncate(time.Second).Add(time.Second).UTC()
		}
		p.hold = &client.Hold{ExpiresAt: p.expires.at}
	case p.expires != expiry{}:
		return usageErrorf("--expires needs --hold")
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

// continued returns the names and values of flags with which the same request is sent again: the id, and the time at
// which a hold expires if that was given as a duration. With the duration, a later expiry would be asked for.
func (p *postFlags) continued() (namesAndValues []string) {
	if p.id != "" {
		namesAndValues = append(namesAndValues, "id", p.id)
	}
	if p.expires.in > 0 {
		namesAndValues = append(namesAndValues, "expires", p.expires.at.Format(time.RFC3339))
	}
	return namesAndValues
}

// postingCommand completes a command that posts the request that request builds from p and the arguments.
func (env *environment) postingCommand(
	cmd *cobra.Command, p *postFlags, request func(ctx context.Context, args []string) (client.Request, error),
) *cobra.Command {
	p.flags(env, cmd.Flags())
	env.dryRunFlag(cmd)
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
		if err := p.complete(); err != nil {
			return err
		}
		r, err := request(ctx, args)
		if err != nil {
			return err
		}
		env.continued = p.continued()
		return env.post(ctx, r)
	})
}

func (env *environment) dryRunFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&env.isDryRun, "dry-run", false, "print the answer that is to be expected, and write nothing")
}

// post sends a request, or only simulates it with --dry-run, and prints the answer. If the outcome stays unknown, the
// error has the command that sends the same request again.
func (env *environment) post(ctx context.Context, request client.Request) error {
	if env.isDryRun {
		r, err := env.api.DryRun(ctx, request)
		if err != nil {
			return env.units.InDecimals(ctx, err, env.legs...)
		}
		fmt.Fprintln(env.err, "dry run: nothing was written")
		return env.printTransaction(ctx, r.Value, r.Raw)
	}
	t, w, err := env.api.Post(ctx, request)
	// The client has retried until its timeout.
	if _, ok := errors.AsType[*client.UnknownError](err); ok && ctx.Err() == nil {
		return fmt.Errorf("%w\nTo send it again, run:\n  %s", err, env.again(env.continued...))
	}
	if err != nil {
		return env.units.InDecimals(ctx, err, env.legs...)
	}
	if !w.New {
		fmt.Fprintf(env.err, "%s was already %s with the same content: nothing was written\n", t.ID,
			cmp.Or(t.Status, client.StatusPosted))
	}
	return env.printTransaction(ctx, t, w.Raw)
}

// expiry is a time, or a duration from now. The zero value means that none is given.
type expiry struct {
	at time.Time
	in time.Duration
}

// daysMax bounds the days that parseTerm reads, so that they do not overflow. The ledger's limit is lower.
const daysMax = 9_999

// parseTerm parses a duration, which may be in days, such as 7d.
func parseTerm(text string) (time.Duration, error) {
	in, err := time.ParseDuration(text)
	if number, isDays := strings.CutSuffix(text, "d"); isDays {
		in, err = time.ParseDuration(number + "h")
		in = min(in, daysMax*time.Hour) * 24
	}
	if err != nil || in <= 0 {
		return 0, errors.New("must be a duration such as 36h or 7d, or a time such as 2026-01-31T12:00:00Z")
	}
	return in, nil
}
