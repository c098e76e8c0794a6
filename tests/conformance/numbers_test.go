package conformance

import (
	"errors"
	"strings"
	"testing"

	"ledger.example/events"
	"ledger.example/ledger"
	ledgerdynamo "ledger.example/ledger/dynamo"
	"ledger.example/projections"
	projectionsdynamo "ledger.example/projections/dynamo"
)

// The store keeps a number without its trailing zeros. Amounts that are mostly zeros come back digit for digit all the
// same, at every width: from a header, a posting, a guard that was added to, and the folds of a balance.
func TestRoundAmountsComeBackWhole(t *testing.T) {
	t.Parallel()
	client, name := newTable(t)
	journal, views := ledgerdynamo.NewJournal(client, name), projectionsdynamo.NewViews(client, name)
	minter := events.NewMinter(nil, nil)
	for _, digits := range []int{1, 2, 19, 20, events.PostedDigits, events.FoldedDigits} {
		for _, text := range []string{"1" + strings.Repeat("0", digits-1), strings.Repeat("9", digits)} {
			a := amount(t, text)
			k := events.Pair{Account: "x" + text, Asset: "USD"}
			ids, _, err := minter.Mint(2)
			if err != nil {
				t.Fatal(err)
			}
			f := projections.Fold{Through: ids[1], Credits: a, Debits: a, Expenditure: a.Neg(), Count: 2}
			if err := views.Write(t.Context(), projections.Change{Balance: projections.Balance{Pair: k, Base: f,
				Seal: f, Head: f}}); err != nil {
				t.Fatal(err)
			}
			if b, _, err := views.Balance(t.Context(), k); err != nil || b.Base != f || b.Seal != f || b.Head != f {
				t.Errorf("the folds of %s came back as %+v, %v", text, b, err)
			}
			found, err := journal.Lookup(t.Context(), ledger.LookupKeys{Credits: []events.Pair{k}})
			if err != nil || found.Credits[k] != a {
				t.Errorf("credits of %s are known as %v, %v", text, found.Credits, err)
			}

			posted := a
			if digits > events.PostedDigits {
				posted = amount(t, text[:events.PostedDigits])
			}
			header := events.TransactionPosted{
				ID: "t" + text, Kind: events.KindTransaction, Metadata: map[string]string{}, Fingerprint: "1:x",
				Actor: "test",
				Legs: []events.Leg{
					{ID: ids[0], Account: k.Account, Asset: k.Asset, Quantity: posted, Cost: posted.Neg()},
					{ID: ids[1], Account: "y", Asset: k.Asset, Quantity: posted.Neg(), Cost: posted},
				},
			}
			spend := ledger.Debit{Pair: k, Change: 1, Gross: a}
			if err := errors.Join(journal.MakeGuard(t.Context(), k), journal.TellGuard(t.Context(), k, 1)); err != nil {
				t.Fatal(err)
			}
			if _, err := journal.Append(t.Context(), ledger.NewCommit(header, spend)); err != nil {
				t.Fatal(err)
			}
			stored, _, err := journal.Transaction(t.Context(), header.ID)
			if err != nil || stored.Legs[0] != header.Legs[0] || stored.Legs[1] != header.Legs[1] {
				t.Errorf("legs of %s came back as %+v, %v", text, stored.Legs, err)
			}
			page, _, err := views.Postings(t.Context(), k, "", "")
			if err != nil || len(page) != 1 || page[0].Quantity != posted || page[0].Cost != posted.Neg() {
				t.Errorf("the posting of %s came back as %+v, %v", text, page, err)
			}
			header.ID = "u" + text
			header.Legs[0].ID, header.Legs[1].ID = ids[1], ids[0]
			_, err = journal.Append(t.Context(), ledger.NewCommit(header, spend))
			var cancelled *ledger.Cancelled
			if !errors.As(err, &cancelled) || len(cancelled.Refused) != 1 || cancelled.Refused[0].Spent != a {
				t.Errorf("%s spent came back as %+v, %v", text, cancelled, err)
			}
		}
	}
}
