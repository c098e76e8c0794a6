package ledger_test

import (
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/internal/store/storetest"
	"ledger.example/ledger"
)

// Every list is read to its end, even if its pages have one item, and come after empty ones. Malformed entries of due
// holds are skipped.
func TestListsAreReadToTheirEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.holds(3)
		odd := store.KeyItem(store.Key{PK: store.Hold.Prefix() + "2020", SK: "ODD"})
		odd[store.AttrPK2] = store.String(store.OpenHoldsPK2(store.Shard("h-001")))
		if _, err := r.journal.book.table.Write(t.Context(), store.Write{Item: odd}); err != nil {
			t.Fatal(err)
		}
		r.mustPost(transfer("t-1", "bank", "shop", "9"))
		r.journal.book.table = store.NewTable(r.journal.memory.DynamoDB(storetest.Cut), tableName)
		r.restart()

		for _, id := range []string{"r-1", "r-2"} {
			if _, err := r.Post(t.Context(), reversal(id, "t-1", some("2"))); err != nil {
				t.Error(err)
			}
		}
		if lifecycle, err := r.Lifecycle(t.Context(), "t-1"); err != nil || len(lifecycle.Reversals) != 2 {
			t.Errorf("%+v, %v", lifecycle.Reversals, err)
		}
		if _, err := r.Grant(t.Context(), grant(events.RoleOwner)); err != nil || r.newest() != "1 owner" {
			t.Errorf("newest %s, %v", r.newest(), err)
		}
		if err := r.Revoke(t.Context(), revoke); err != nil || r.newest() != "2 revoked" {
			t.Errorf("newest %s, %v", r.newest(), err)
		}
		r.journal.Guard(pair("jane", "AAPL"))
		r.state("jane", isFrozen)
		if v := r.guardVersion("jane"); v != 2 { // in USD, on the second page
			t.Errorf("the guard has version %d", v)
		}
		time.Sleep(2 * time.Hour)
		want := ledger.Swept{Due: 3, Expired: 3}
		swept, err := r.Sweep(t.Context())
		if swept.Delay = 0; err != nil || swept != want {
			t.Errorf("%+v, %v", swept, err)
		}
	})
}
