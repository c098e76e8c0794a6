package conformance

import (
	"context"
	"errors"
	"testing"

	"ledger.example/internal/store"
)

// isFinal fails the test unless err is an error that no retry can fix.
func isFinal(t *testing.T, err error) {
	t.Helper()
	for _, one := range []error{
		nil, store.ErrConflict, store.ErrThrottled, store.ErrUnavailable, store.ErrUnknownOutcome,
	} {
		if errors.Is(err, one) {
			t.Errorf("error %v", err)
		}
	}
}

// each calls all methods of a table, and passes their errors on.
func each(ctx context.Context, on store.Table, check func(method string, err error)) {
	put := store.Write{Item: item(1), If: store.IfAbsent}
	_, _, err := on.Get(ctx, key(1), store.Eventual)
	check("Get", err)
	_, _, err = on.BatchGet(ctx, []store.Key{key(1)}, store.Eventual)
	check("BatchGet", err)
	_, _, err = on.Snapshot(ctx, []store.Key{key(1)})
	check("Snapshot", err)
	_, err = on.Query(ctx, store.Query{Partition: "P", Within: store.Range{From: "A", To: "Z"}})
	check("Query", err)
	_, err = on.Scan(ctx, store.Scan{})
	check("Scan", err)
	_, err = on.Write(ctx, put)
	check("Write of an item", err)
	_, err = on.Write(ctx, store.Write{Key: key(1), Update: "SET N = :n", Values: store.Item{":n": store.Integer(1)}})
	check("Write of an update", err)
	_, err = on.Transact(ctx, []store.Write{put})
	check("Transact", err)
}

func (s *tableSuite) finalErrors() {
	each(s.ctx, s.missing, func(_ string, err error) { isFinal(s.T, err) })
	_, err := s.table.Write(s.ctx, store.Write{Key: key(1), If: store.IfAbsent}) // a check alone
	isFinal(s.T, err)
	_, err = s.table.Transact(s.ctx, []store.Write{{Item: item(1)}, {Item: item(1)}})
	isFinal(s.T, err)

	over, cancel := context.WithCancel(s.ctx)
	cancel()
	each(over, s.table, func(method string, err error) {
		if !errors.Is(err, store.ErrUnavailable) {
			s.Errorf("%s after its context: %v", method, err)
		}
	})
	s.same(s.get(1), store.Item(nil))
}
