package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ledger.example/client"
	"ledger.example/events"
)

// postCommand is `ledger post`.
func (env *environment) postCommand() *cobra.Command {
	var p postFlags
	var legs []legFlag
	cmd := &cobra.Command{
		Use:  "post [FILE]",
		Args: cobra.MaximumNArgs(1),
	}
	f := cmd.Flags()
	legFlags := func(name, sign, usage string) {
		f.Func(name, usage+"; may be repeated", func(text string) error {
			leg, err := parseLeg(text)
			leg.sign = sign
			legs = append(legs, leg)
			return err
		})
	}
	legFlags("debit", "-", "`account:asset:quantity` to take from the account")
	legFlags("credit", "", "`account:asset:quantity` to add to the account")
	p.flags(f)
	p.holdFlags(f)
	env.dryRunFlag(cmd)
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
		if (len(args) == 1) == (len(legs) > 0) {
			return usageErrorf("give either a FILE, or each posting as --debit or --credit")
		}
		if len(args) == 1 {
			for _, name := range []string{"id", flagDescription, "metadata", "hold", "expires", "effective-at"} {
				if f.Changed(name) {
					return usageErrorf("--%s cannot be used with FILE, which has this field", name)
				}
			}
			t, err := env.transactionFrom(ctx, args[0])
			if err != nil {
				return err
			}
			return env.post(ctx, t, "run the same command again")
		}
		if err := p.complete(); err != nil {
			return err
		}
		t := client.TransactionRequest{
			ID: p.id, Description: p.description, Metadata: p.metadata, Hold: p.hold, EffectiveAt: p.effective,
		}
		for _, l := range legs {
			quantity, err := env.units.Parse(ctx, "quantity", l.asset, l.sign+l.quantity)
			if err != nil {
				return err
			}
			t.Postings = append(t.Postings, client.Leg{Account: l.account, Asset: l.asset, Quantity: quantity})
		}
		return env.post(ctx, t, p.retryAdvice())
	})
}

// legFlag is the value of --debit or --credit.
type legFlag struct{ sign, account, asset, quantity string }

// parseLeg parses account:asset:quantity. The account's id may have colons. An asset whose id has colons needs FILE.
func parseLeg(text string) (l legFlag, err error) {
	end := strings.LastIndex(text, ":")
	middle := strings.LastIndex(text[:max(end, 0)], ":")
	if middle < 0 {
		return l, fmt.Errorf("%q is not account:asset:quantity", text)
	}
	l = legFlag{account: text[:middle], asset: text[middle+1 : end], quantity: text[end+1:]}
	if strings.HasPrefix(l.quantity, "-") {
		return l, errors.New("a quantity must be above zero: --debit takes it, --credit adds it")
	}
	for _, id := range []string{l.account, l.asset} {
		if !events.ValidID(id) {
			return l, fmt.Errorf("%q: %w", id, client.ErrID)
		}
	}
	return l, nil
}

// transactionBytes bounds the file of a transaction, as the API does.
const transactionBytes = 256 << 10

// transactionFrom reads a transaction from a file, or from standard input for "-".
func (env *environment) transactionFrom(ctx context.Context, name string) (t client.TransactionRequest, err error) {
	file, _, err := env.openInput(ctx, name)
	if err != nil {
		return t, err
	}
	defer file.Close()
	if name == "-" {
		name = "standard input"
	}
	d := json.NewDecoder(io.LimitReader(file, transactionBytes))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return t, fmt.Errorf("%s is not a transaction: %w", name, err)
	}
	if d.More() {
		return t, fmt.Errorf("%s has data after the transaction", name)
	}
	if t.ID == "" {
		return t, fmt.Errorf("%s: id is missing; only a request with an id can be retried safely", name)
	}
	return t, nil
}
