package export

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"ledger.example/client"
	"ledger.example/events"
)

// accountsAtOnce is the number of concurrent reads of accounts.
const accountsAtOnce = 8

// temporaryLimit is the overdraft with which a limited account is opened, so that its postings are accepted in any
// order. The import backdates them, so credits can be spent only after they are projected. end writes the real limits.
var temporaryLimit, _ = events.ParseAmount(strings.Repeat("9", events.PostedDigits), events.PostedDigits) // valid

// linesFormat writes the lines of an import.
type linesFormat struct {
	*exporter
	lines *json.Encoder
}

func newLines(e *exporter) format {
	lines := json.NewEncoder(e.out)
	lines.SetEscapeHTML(false)
	return &linesFormat{e, lines}
}

func (f *linesFormat) line(kind client.Kind, body any) error {
	return f.lines.Encode(map[client.Kind]any{kind: body})
}

func (f *linesFormat) asset(a client.Asset) error {
	return f.line(client.KindAsset, client.Line[client.Asset]{Request: client.Asset{
		ID: a.ID, Name: a.Name, Description: a.Description, Scale: a.Scale, Currency: a.Currency}})
}

func (f *linesFormat) account(ctx context.Context, accounts []client.Account) error {
	open := client.Overdraft{Limits: make(map[string]events.Amount)}
	for _, id := range slices.Sorted(maps.Keys(f.assets)) {
		if len(open.Limits) < events.OverdraftAssets {
			open.Limits[id] = temporaryLimit
		}
	}
	profiles := make([]json.RawMessage, len(accounts))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(accountsAtOnce)
	for n, a := range accounts {
		g.Go(func() error {
			r, err := f.Ledger.Account(ctx, a.ID) // lists leave profiles out
			if profile := r.Value.Profile; string(profile) != "{}" {
				profiles[n] = profile
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for n, a := range accounts {
		request := client.Account{ID: a.ID, Name: a.Name, Profile: profiles[n], Overdraft: a.Overdraft}
		if !a.Overdraft.Unlimited {
			request.Overdraft = open
		}
		if err := f.line(client.KindAccount, client.Line[client.Account]{Request: request}); err != nil {
			return err
		}
	}
	return nil
}

func (f *linesFormat) transaction(t posted) error {
	if t.Kind != string(client.KindTransaction) {
		f.note("every " + t.Kind + " becomes a plain transaction")
	}
	return f.line(client.KindTransaction, client.TransactionRequest{
		ID: t.ID, Description: t.Description, Metadata: t.Metadata, EffectiveAt: t.at, Postings: client.Legs(t.legs),
	})
}

// end writes the real limits of limited accounts, and the states of accounts that are not open.
func (f *linesFormat) end(context.Context) error {
	f.result.Notes = append(f.result.Notes, "members and groups, and earlier versions of accounts, are not exported")
	for a, err := range f.Ledger.Accounts {
		if err != nil {
			return err
		}
		var change client.AccountPatch
		if !a.Overdraft.Unlimited {
			change.Overdraft = &a.Overdraft
		}
		if a.State != client.StateOpen {
			change.State = a.State
		}
		if change.Overdraft == nil && change.State == "" {
			continue
		}
		request := client.AccountChange{ID: a.ID, AccountPatch: change}
		if err := f.line(client.KindChange, client.Line[client.AccountChange]{Request: request}); err != nil {
			return err
		}
	}
	return nil
}
