package books

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"ledger.example/client"
	"ledger.example/events"
)

// collect gives ids to all names, and says which can have none.
func (m *mapping) collect(transactions []Transaction) {
	wrong := make(map[string]bool)
	for _, name := range m.declared {
		if _, err := m.accounts.id(name); err != nil {
			m.wrong(Position{}, "account %v", err)
		}
	}
	for _, t := range transactions {
		for i := range t.Postings {
			p := &t.Postings[i]
			at := t.of(*p)
			if told := valueOf(p.Metadata, TagCost); told != "" {
				weight, err := parseCost(told)
				if err != nil {
					m.wrong(at, "%s: %v", TagCost, err)
				}
				p.Weight = &weight
			}
			if _, known := m.first[p.Account]; !known {
				m.first[p.Account] = at
				if _, err := m.accounts.id(p.Account); err != nil {
					m.wrong(at, "account %v", err)
				}
			}
			for _, a := range p.amounts() {
				if _, err := m.assets.id(a.Commodity); err != nil && !wrong[a.Commodity] {
					wrong[a.Commodity] = true
					m.wrong(at, "commodity %v", err)
				}
			}
		}
	}
}

// of is where a posting stands.
func (t Transaction) of(p Posting) Position {
	return Position{t.File, cmp.Or(p.Line, t.Line)}
}

func (p Posting) amounts() []Amount {
	if p.Weight == nil {
		return []Amount{p.Quantity}
	}
	return []Amount{p.Quantity, *p.Weight}
}

// asset is a line that registers an asset.
type asset struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Scale    int    `json:"scale"`
	Currency string `json:"currency,omitempty"`
}

// defineAssets writes a line for each asset that the ledger does not have. Those that it has keep their scale and
// currency.
func (m *mapping) defineAssets(ctx context.Context, transactions []Transaction) error {
	seen := make(map[string]int)                    // decimals of quantities, by commodity
	weights := make(map[string]map[string]int)      // how often by commodity and commodity
	weighed := make(map[string]int)                 // decimals of weights
	note := func(of map[string]int, a Amount) int { // the most decimals
		of[a.Commodity] = max(of[a.Commodity], a.Number.decimals())
		return of[a.Commodity]
	}
	for _, t := range transactions {
		for _, p := range t.Postings {
			note(seen, p.Quantity)
			if p.Weight != nil {
				note(weighed, *p.Weight)
				if weights[p.Quantity.Commodity] == nil {
					weights[p.Quantity.Commodity] = make(map[string]int)
				}
				weights[p.Quantity.Commodity][p.Weight.Commodity]++
			}
		}
	}
	var fresh []string
	for _, name := range slices.Sorted(maps.Keys(m.assets.given)) {
		assetID := m.assets.given[name]
		r, err := m.Ledger.Asset(ctx, assetID)
		switch {
		case err == nil:
			m.scales[assetID] = r.Value.Scale
			if r.Value.Currency != "" {
				m.currencies[assetID] = r.Value.Currency
			}
			continue
		case !isAbsent(err, "asset_not_found"):
			return err
		}
		fresh = append(fresh, name)
		scale, isTold := m.Scales[name]
		if decimals, isPosted := seen[name]; !isTold && isPosted {
			scale = decimals
		} else if !isTold {
			scale = min(weighed[name], 2)
		}
		if scale > events.ScaleMax {
			m.wrong(Position{}, "commodity %q has %d decimals, and there are at most %d", name, scale, events.ScaleMax)
		}
		m.scales[assetID] = scale
	}
	for _, name := range fresh {
		assetID := m.assets.given[name]
		often := weights[name]
		for _, c := range slices.SortedFunc(maps.Keys(often), func(a, b string) int {
			return cmp.Or(cmp.Compare(often[b], often[a]), strings.Compare(a, b))
		})[:min(1, len(often))] {
			if currency := m.assets.given[c]; !m.leads(currency, assetID) {
				m.currencies[assetID] = currency
			}
		}
	}
	written := make(map[string]bool)
	var write func(name string)
	write = func(name string) { // its currency first
		assetID := m.assets.given[name]
		if written[assetID] || !slices.Contains(fresh, name) {
			return
		}
		written[assetID] = true
		if currency := m.currencies[assetID]; currency != "" {
			write(m.assets.of[currency])
		}
		m.line(Position{}, "asset", asset{assetID, nameOf(name, assetID), m.scales[assetID], m.currencies[assetID]})
	}
	for _, name := range fresh {
		write(name)
	}
	return nil
}

// leads reports whether the currencies from one asset on lead to another: a circle cannot be registered.
func (m *mapping) leads(from, to string) bool {
	for ; from != ""; from = m.currencies[from] {
		if from == to {
			return true
		}
	}
	return false
}

// nameOf is a name as an asset or account may have it.
func nameOf(name, id string) string {
	if name = strings.ToValidUTF8(name, "?"); name == "" {
		return id
	}
	return cut(name, events.NameChars)
}

// cut is the beginning of s of so many characters at most.
func cut(s string, chars int) string {
	if r := []rune(s); len(r) > chars {
		return string(r[:chars])
	}
	return s
}

// isAbsent reports whether the ledger said that there is no such thing.
func isAbsent(err error, code string) bool {
	refused, ok := errors.AsType[*client.Error](err)
	return ok && refused.Code == code
}

// defineAccounts writes a line for each account that the ledger does not have. One that it has must let the book's
// postings pass, whatever their order.
func (m *mapping) defineAccounts(ctx context.Context) error {
	if m.needsConversion {
		if _, isOwn := m.accounts.of[Conversion]; isOwn {
			m.wrong(m.first[m.accounts.of[Conversion]], "account %q is where conversions are closed: rename it",
				Conversion)
		}
		m.accounts.given[Conversion] = Conversion
	}
	for _, name := range slices.Sorted(maps.Keys(m.accounts.given)) {
		accountID := m.accounts.given[name]
		r, err := m.Ledger.Account(ctx, accountID)
		switch {
		case isAbsent(err, "account_not_found"):
			m.line(m.first[name], "account", map[string]string{
				"id": accountID, "name": nameOf(name, accountID), "overdraft": "unlimited"})
		case err != nil:
			return err
		case !r.Value.Overdraft.Unlimited:
			m.wrong(m.first[name], "account %q is in the ledger already, with a limit: it could refuse postings",
				accountID)
		case r.Value.State != client.StateOpen:
			m.wrong(m.first[name], "account %q is in the ledger already, and %s", accountID, r.Value.State)
		}
	}
	return nil
}
