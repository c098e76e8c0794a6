package books

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"ledger.example/client"
)

// openingID returns the id of the nth opening entry. It depends neither on the day nor on the amounts, so that opening
// entries of another day, or of older entries that were changed, are never posted beside the first ones.
func openingID(n int) string { return fmt.Sprintf("opening.%d", n) }

func sortedHeld[V any](all map[held]V) []held {
	return slices.SortedFunc(maps.Keys(all), func(a, b held) int {
		return cmp.Or(strings.Compare(a.account, b.account), strings.Compare(a.commodity, b.commodity))
	})
}

// total returns an entry at the beginning of a day with the totals of older entries: their quantities, and the costs
// that are in the asset's currency.
func (m *mapping) total() (Transaction, error) {
	quantities, costs, inferred := make(map[held]Number), make(map[held]Number), make(map[held]bool)
	errs := make(map[held]Number) // of the costs
	for t, err := range m.entries() {
		if err != nil {
			return t, err
		}
		if m.at = t.Position; t.Date >= m.Opening {
			continue
		}
		for _, p := range t.Postings {
			if p.Wrong != "" {
				m.wrong(t.position(p), "%s", p.Wrong)
				continue
			}
			of := held{p.Account, p.Quantity.Commodity}
			quantities[of], inferred[of] = quantities[of].plus(p.Quantity.Number), inferred[of] || p.Inferred
			if p.Weight == nil {
				continue
			}
			currency := m.currencies[m.assets.ids[p.Quantity.Commodity]]
			if currency != "" && m.assets.ids[p.Weight.Commodity] == currency {
				costs[of], errs[of] = costs[of].plus(p.Weight.Number), errs[of].plus(p.WeightError)
			} else if !p.Weight.Number.isZero() {
				m.note(costNote(p))
			}
		}
	}
	t := Transaction{Position: Position{File: m.File}, Date: m.Opening, Description: "Opening balances",
		isTotal: true}
	for _, of := range sortedHeld(quantities) {
		p := Posting{Account: of.account, Quantity: Amount{quantities[of], of.commodity}, Inferred: inferred[of]}
		if cost, ok := costs[of]; ok {
			p.WeightError = errs[of]
			p.Weight = &Amount{cost, m.assets.names[m.currencies[m.assets.ids[of.commodity]]]}
		}
		t.Postings = append(t.Postings, p)
	}
	return t, nil
}

func (n Number) plus(o Number) Number {
	return Number{new(big.Rat).Add(n.value(), o.value()), max(n.places, o.places)}
}

// openings returns the opening entries of older entries, with their ids.
func (m *mapping) openings() ([]*request, error) {
	if !m.hasOlder {
		return nil, nil
	}
	total, err := m.total()
	if err != nil {
		return nil, err
	}
	parts := m.transaction(total)
	for i, r := range parts {
		r.ID = openingID(i + 1)
	}
	return parts, nil
}

// compareOpenings returns the opening entries that must be sent. What the ledger has must be of the same day, with the
// same amounts. Without opening entries, the book must not have entries before those that the ledger has.
func (m *mapping) compareOpenings(ctx context.Context, parts []*request) ([]*request, error) {
	var stored []client.Transaction
	for {
		r, err := m.Ledger.Transaction(ctx, openingID(len(stored)+1))
		if isAbsent(err, client.CodeTransactionNotFound) {
			break
		}
		if err != nil {
			return nil, err
		}
		stored = append(stored, r.Value)
		for _, p := range r.Value.Postings {
			if err := m.learn(ctx, p.Asset); err != nil {
				return nil, err
			}
		}
	}
	if len(stored) == 0 {
		return parts, nil
	}
	at := Position{File: m.File}
	day := dayOf(stored[0])
	hasOlder := false
	if m.Opening == "" {
		var err error
		if hasOlder, err = m.hasBefore(stored, day); err != nil {
			return nil, err
		}
	}
	switch {
	case hasOlder:
		m.wrong(at, "the ledger has opening entries of %s (transaction %q), and the book has entries before that day: "+
			"import it with --opening %s", day, stored[0].ID, day)
	case m.Opening == "" || len(parts) == 0:
	case day != m.Opening:
		m.wrong(at, "the ledger has opening entries of %s (transaction %q), not of %s: import the book with "+
			"--opening %s", day, stored[0].ID, m.Opening, day)
	default:
		return m.compareTotals(stored, parts), nil
	}
	return nil, nil
}

// learn reads an asset of the ledger that the book may not have, and its currency, for messages.
func (m *mapping) learn(ctx context.Context, asset string) error {
	for ; asset != ""; asset = m.currencies[asset] {
		if _, isKnown := m.scales[asset]; isKnown {
			continue
		}
		r, err := m.Ledger.Asset(ctx, asset)
		if err != nil {
			return err
		}
		m.scales[asset] = r.Value.Scale
		if r.Value.Currency != "" {
			m.currencies[asset] = r.Value.Currency
		}
	}
	return nil
}

// sendOpenings adds the opening entries to the lines, or to what is sent together.
func (m *mapping) sendOpenings(send []*request) {
	for _, r := range send {
		m.checkLegs(r.at, r.Postings)
	}
	if len(send) > 1 && isAtomic(send) {
		m.out.openings = send
		return
	}
	for _, r := range send {
		m.define(r.at, client.KindTransaction, r.TransactionRequest)
	}
}

// hasBefore reports whether entries before a day use an account of the opening entries.
func (m *mapping) hasBefore(stored []client.Transaction, day string) (bool, error) {
	opened := make(map[string]bool)
	for _, t := range stored {
		for _, p := range t.Postings {
			opened[p.Account] = true
		}
	}
	for t, err := range m.entries() {
		if err != nil || t.Date < day && slices.ContainsFunc(t.Postings, func(p Posting) bool {
			return opened[m.accounts.ids[p.Account]]
		}) {
			return true, err
		}
	}
	return false, nil
}

// compareTotals returns the opening entries that the ledger does not have. An import that was cut off may have posted
// only the first ones.
func (m *mapping) compareTotals(stored []client.Transaction, parts []*request) (send []*request) {
	wanted, had := make(map[held]client.Leg), make(map[held]client.Leg)
	add := func(to map[held]client.Leg, legs []client.Leg) {
		for _, leg := range legs {
			of := held{leg.Account, leg.Asset}
			sum := to[of]
			sum.Quantity, _ = sum.Quantity.Add(leg.Quantity) // of valid transactions
			sum.Cost, _ = sum.Cost.Add(leg.Cost)
			to[of] = sum
		}
	}
	isSame := len(stored) <= len(parts)
	for i, t := range stored {
		add(had, client.Legs(t.Postings))
		isSame = isSame && foundOf(t, parts[i].TransactionRequest) != Another && !isReversed(t)
	}
	if isSame {
		m.out.Replayed += int64(len(stored))
		return parts[len(stored):]
	}
	for _, r := range parts {
		add(wanted, r.Postings)
	}
	if book := stored[0].Metadata[TagBook]; book != "" && book != m.bookName() {
		m.wrong(Position{File: m.File}, "the ledger has opening entries of the file %s already (transaction %q), and "+
			"a ledger has those of one file: replace the entries of this book before %s by one entry of that day with "+
			"their totals, and import it without --opening", book, stored[0].ID, m.Opening)
		return nil
	}
	for of := range wanted {
		if _, ok := had[of]; !ok {
			had[of] = client.Leg{}
		}
	}
	for _, of := range sortedHeld(had) {
		if a, b := had[of], wanted[of]; of.account != Clearing && (a.Quantity != b.Quantity || a.Cost != b.Cost) {
			m.wrong(Position{File: m.File}, "the opening entries in the ledger have %s on the account %q, and the "+
				"entries before %s now add up to %s: change the older entries back, and write the difference as an "+
				"entry of a later day. Books with opening entries in one ledger must be imported as one file that "+
				"includes them",
				m.amounts(of, a), of.account, m.Opening, m.amounts(of, b))
		}
	}
	if len(m.problems) == 0 {
		m.wrong(Position{File: m.File}, "the opening entries in the ledger (transaction %q) were changed or reversed "+
			"there: they cannot be posted again", stored[0].ID)
	}
	return nil
}

// amounts describes a total for people.
func (m *mapping) amounts(of held, total client.Leg) string {
	text := total.Quantity.Decimal(m.scales[of.commodity]) + " " + of.commodity
	if currency := m.currencies[of.commodity]; !total.Cost.IsZero() {
		text += " for " + total.Cost.Decimal(m.scales[currency]) + " " + currency
	}
	return text
}

// costNote says why a cost is not recorded.
func costNote(p Posting) string {
	return fmt.Sprintf("costs and prices of %s in %s are not recorded, because it has another currency",
		p.Quantity.Commodity, p.Weight.Commodity)
}

// CheckOpening checks the day of opening entries.
func CheckOpening(day string, now time.Time) error {
	at, err := time.Parse(time.DateOnly, day)
	switch {
	case err != nil:
		return fmt.Errorf("%q is not a day like 2015-01-01", day)
	case at.Before(firstDay) || at.After(now):
		return fmt.Errorf("%s must be a day from %s to today", day, firstDay.Format(time.DateOnly))
	}
	return nil
}
