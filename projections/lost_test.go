package projections_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// A write that was sent on a version of before a balance was lost fails on the one that is made anew, also if that
// was written as often.
func TestALostBalanceIsMadeAnewBeyondItsVersions(t *testing.T) {
	for _, how := range []string{"by a refold", "by a command that makes sure"} {
		b := newBook(t)
		make := func(n int) {
			id := b.PostOnes(jane, n)[0]
			if how == "by a refold" {
				b.Refold(jane, id)
			} else {
				b.Must(b.Reader.EnsureVisible(t.Context(), jane.Account, jane.Asset, id))
			}
		}
		make(1)
		before := b.Stored(jane)
		b.Damage().LoseBalance(jane)
		b.Time = b.Time.Add(time.Second)
		make(2)
		if now := b.Stored(jane); now.Version <= before.Version || now.Version < morning.UnixMilli() ||
			now.Version > table.VersionMax/2 {
			t.Errorf("%s: version %d after %d", how, now.Version, before.Version)
		}
		if err := b.Write(t.Context(), projections.Change{Balance: before}); !errors.Is(err, store.ErrConflict) {
			t.Errorf("%s: a write on version %d: %v", how, before.Version, err)
		}
	}
}

// A balance that cannot be read, such as one whose version is no number of ours, is folded from its postings by
// strong reads. The projector leaves it alone and goes on.
func TestABalanceThatCannotBeRead(t *testing.T) {
	b := segmented(t)
	shop := events.Pair{Account: "shop", Asset: "USD"}
	b.Damage().Spoil(table.BalanceKey("jane", "USD"))
	b.project(records(append(of(jane, b.PostOnes(jane, 50)...), of(shop, b.PostOnes(shop, 1)...)...)...))
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
		t.Errorf("nothing is said of it: %s", b.log.String())
	}
}
