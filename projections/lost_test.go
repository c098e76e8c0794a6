package projections_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// After a balance was lost and recreated, a write that compares an old version must fail. So the recreated balance must
// not reuse a version.
func TestRecreatedBalanceHasAHigherVersion(t *testing.T) {
	for _, how := range []string{"by a refold", "by EnsureVisible"} {
		b := newBook(t)
		create := func(n int) {
			id := b.PostOnes(jane, n)[0]
			if how == "by a refold" {
				b.Refold(jane, id)
			} else {
				b.Must(b.Reader.EnsureVisible(t.Context(), jane.Account, jane.Asset, id))
			}
		}
		create(1)
		before := b.Stored(jane)
		b.Damage().LoseBalance(jane)
		b.Time = b.Time.Add(time.Second)
		create(2)
		if now := b.Stored(jane); now.Version <= before.Version || now.Version < morning.UnixMilli() ||
			now.Version > store.VersionMax/2 {
			t.Errorf("%s: version %d after %d", how, now.Version, before.Version)
		}
		if err := b.Write(t.Context(), projections.Change{Balance: before}); !errors.Is(err, store.ErrConflict) {
			t.Errorf("%s: a write on version %d: %v", how, before.Version, err)
		}
	}
}

// If a stored balance is malformed, strong reads fold all its postings. The projector counts the record as malformed
// and continues.
func TestMalformedBalance(t *testing.T) {
	b := segmented(t)
	shop := events.Pair{Account: "shop", Asset: "USD"}
	b.Damage().Spoil(store.Balance.Key("jane", "USD"))
	b.project(records(append(keysOf(jane, b.PostOnes(jane, 50)...), keysOf(shop, b.PostOnes(shop, 1)...)...)...))
	viewstest.Same(t, "the other's head", b.Stored(shop).Head, ones(1, 1))
	if !b.alarmed("RecordsMalformed", 1, "account=jane", "asset=USD") {
		t.Error(b.log.String())
	}
	b.log.Reset()
	strong, err := b.Reader.Balance(t.Context(), jane, nil)
	b.Must(err)
	viewstest.Same(t, "strong", strong.Head, ones(50, 21))
	credits, err := b.Reader.Funds(t.Context(), "jane", "USD")
	b.Must(err)
	viewstest.Same(t, "credits", credits, events.NewAmount(21))
	if !strings.Contains(b.log.String(), "level=ERROR") {
		t.Errorf("no error was logged: %s", b.log.String())
	}
}
