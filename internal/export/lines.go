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

func (f *linesFormat) line(kind string, body any) error {
	return f.lines.Encode(map[string]any{kind: body})
}

func (f *linesFormat) asset(a client.Asset) error {
	return f.line("asset", struct {
		ID          string `json:"id"`
		Name        string `json:"name"`
		Description string `json:"description,omitempty"`
		Scale       int    `json:"scale"`
		Currency    string `json:"currency,omitempty"`
	}{a.ID, a.Name, a.Description, a.Scale, a.Currency})
}

// accountLine opens an account, or changes it.
type accountLine struct {
	ID        string            `json:"id"`
	Name      string            `json:"name,omitempty"`
	Profile   json.RawMessage   `json:"profile,omitempty"`
	Overdraft *client.Overdraft `json:"overdraft,omitempty"`
	State     string            `json:"state,omitempty"`
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
		overdraft := a.Overdraft
		if !overdraft.Unlimited {
			overdraft = open
		}
		err := f.line("account", accountLine{ID: a.ID, Name: a.Name, Profile: profiles[n], Overdraft: &overdraft})
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *linesFormat) transaction(t posted) error {
	if t.Kind != string(client.KindTransaction) {
		f.note("every " + t.Kind + " becomes a plain transaction")
	}
	return f.line("transaction", client.TransactionRequest{
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
		change := accountLine{ID: a.ID}
		if !a.Overdraft.Unlimited {
			change.Overdraft = &a.Overdraft
		}
		if a.State != client.StateOpen {
			change.State = a.State
		}
		if change.Overdraft == nil && change.State == "" {
			continue
		}
		if err := f.line(string(client.KindChange), change); err != nil {
			return err
		}
	}
	return nil
}
