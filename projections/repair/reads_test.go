package repair_test

import (
	"context"
	"errors"
	"testing"

	"ledger.example/internal/store"
	"ledger.example/internal/store/storetest"
	"ledger.example/projections"
	"ledger.example/projections/repair"
)

// A rebuild judges stored items by what it reads. So each of its reads is one request to the table, not to an index,
// and is strongly consistent or a transaction.
func TestReadsOfARebuildAreStronglyConsistent(t *testing.T) {
	fake, client := storetest.New(t, func(r storetest.Request) storetest.Reply {
		if r.Operation == "TransactGetItems" {
			return storetest.OK(`{"Responses":[{},{}]}`)
		}
		return storetest.OK(`{"Items":[]}`)
	})
	b := repair.NewRebuilder(store.NewTable(client, "books"), nil, quietly)
	reads := errorsOfReads(t.Context(), b)
	requests := fake.Requests()
	if len(requests) != len(reads) {
		t.Errorf("%d reads made %d requests", len(reads), len(requests))
	}
	for _, r := range requests {
		if r.Operation != "TransactGetItems" && r.Body["ConsistentRead"] != true || r.Body["IndexName"] != nil {
			t.Errorf("%s is not strongly consistent, or reads an index: %v", r.Operation, r.Body)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	over := errorsOfReads(ctx, b)
	for i, err := range reads {
		if err != nil && !errors.Is(err, store.ErrAbsent) {
			t.Errorf("read %d: %v", i, err)
		}
		if over[i] == nil || errors.Is(over[i], store.ErrAbsent) {
			t.Errorf("read %d with a canceled context: %v", i, over[i])
		}
	}
}

// errorsOfReads calls each read once.
func errorsOfReads(ctx context.Context, b *repair.Rebuilder) []error {
	scan := b.Scan(ctx)
	_, first := b.FirstKey(ctx, store.Account.PK("jane"), store.Grant.NextAfter(""))
	_, segments := b.IsLost(ctx, projections.Balance{Pair: jane})
	_, _, _, alone := b.BalanceAnd(ctx, jane)
	_, _, _, snapshot := b.BalanceAnd(ctx, jane, ksuid(1))
	_, _, _, account := b.SummaryAnd(ctx, "jane", "USD")
	_, membership := b.StoredMembership(ctx, projections.Membership{Account: "jane", User: "ann"})
	return []error{scan, first, segments, alone, snapshot, account, membership}
}

// A rebuild's write is conditional on the item being unchanged, even if the item has no usable version.
func TestRevisionsOfMalformedVersions(t *testing.T) {
	b := newBook(t)
	for _, version := range []store.Item{
		{}, {store.AttrVersion: store.Integer(7)}, {store.AttrVersion: store.String("x")},
		{store.AttrVersion: store.Digits("9223372036854775807")}, {store.AttrVersion: store.Flag(false)},
		{store.AttrVersion: store.Map(store.Item{})}, {store.AttrVersion: store.Maps(nil)},
	} {
		for name, value := range store.KeyItem(store.Balance.Key(jane.Account, jane.Asset)) {
			version[name] = value
		}
		_, err := b.Table.Write(t.Context(), store.Write{Item: version})
		b.Must(err)
		found, _, _, err := b.rebuilder.BalanceAnd(t.Context(), jane)
		if err != nil || !found.Exists || found.Fault == nil {
			t.Fatalf("version %v was read as %+v, %v", version, found, err)
		}
		change := projections.Change{Balance: projections.Balance{Pair: jane, Version: 100}, Revision: &found.Revision}
		if err := b.Write(t.Context(), change); err != nil {
			t.Errorf("version %v: %v", version, err)
		}
		if err := b.Write(t.Context(), change); !errors.Is(err, store.ErrConflict) {
			t.Errorf("version %v was replaced twice: %v", version, err)
		}
		if stored := b.Stored(jane); stored.Version != 101 {
			t.Errorf("version %v became %d", version, stored.Version)
		}
	}
}
