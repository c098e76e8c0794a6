package repair_test

import (
	"context"
	"errors"
	"testing"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/ddb/ddbtest"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/repair"
)

// A rebuild judges stored items by what it reads. So each of its reads is one request to the table, not to an index,
// and is strongly consistent or a transaction.
func TestReadsOfARebuildAreStronglyConsistent(t *testing.T) {
	fake, client := ddbtest.New(t, func(r ddbtest.Request) ddbtest.Reply {
		if r.Operation == "TransactGetItems" {
			return ddbtest.OK(`{"Responses":[{},{}]}`)
		}
		return ddbtest.OK(`{"Items":[]}`)
	})
	b := repair.NewRebuilder(ddb.NewTable(client, "books"), nil, quietly)
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
	_, _, _, accounts := b.Accounts(ctx, nil)
	_, first := b.FirstKey(ctx, table.Account.PK("jane"), table.Grant.NextAfter(""))
	_, _, segments := b.SegmentsAfter(ctx, jane, "")
	_, _, _, alone := b.Snapshot(ctx, jane, nil)
	_, _, _, snapshot := b.Snapshot(ctx, jane, []events.KSUID{ksuid(1)})
	_, _, _, account := b.SnapshotAccount(ctx, "jane", []string{"USD"})
	_, membership := b.StoredMembership(ctx, projections.Membership{Account: "jane", User: "ann"})
	return []error{accounts, first, segments, alone, snapshot, account, membership}
}

// A rebuild's write is conditional on the item being unchanged, even if the item has no usable version.
func TestRevisionsOfMalformedVersions(t *testing.T) {
	b := newBook(t)
	for _, version := range []store.Item{
		{}, {table.AttrVersion: ddb.Integer(7)}, {table.AttrVersion: ddb.String("x")},
		{table.AttrVersion: ddb.Digits("9223372036854775807")}, {table.AttrVersion: ddb.Flag(false)},
		{table.AttrVersion: ddb.Map(store.Item{})}, {table.AttrVersion: ddb.Maps(nil)},
	} {
		for name, value := range ddb.Key(table.Balance.Key(jane.Account, jane.Asset)) {
			version[name] = value
		}
		_, err := b.Table.Write(t.Context(), store.Write{Item: version})
		b.Must(err)
		found, _, _, err := b.rebuilder.Snapshot(t.Context(), jane, nil)
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
