package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ledger.example/internal/store"
	"ledger.example/internal/store/storetest"
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
func each(ctx context.Context, on store.Table, check func(method string, isWrite bool, err error)) {
	put := store.Write{Item: item(1), If: store.IfAbsent}
	_, _, err := on.Get(ctx, key(1), store.Eventual)
	check("Get", false, err)
	_, _, err = on.BatchGet(ctx, []store.Key{key(1)}, store.Eventual)
	check("BatchGet", false, err)
	_, _, err = on.Snapshot(ctx, []store.Key{key(1)})
	check("Snapshot", false, err)
	_, err = on.Query(ctx, store.Query{Partition: "P", Within: store.Range{From: "A", To: "Z"}})
	check("Query", false, err)
	_, err = on.Scan(ctx, store.Scan{})
	check("Scan", false, err)
	_, err = on.Write(ctx, put)
	check("Write of an item", true, err)
	_, err = on.Write(ctx, store.Write{Key: key(1), Update: "SET N = :n", Values: store.Item{":n": store.Integer(1)}})
	check("Write of an update", true, err)
	_, err = on.Transact(ctx, []store.Write{put})
	check("Transact", true, err)
}

func (s *tableSuite) finalErrors() {
	each(s.ctx, s.missing, func(_ string, _ bool, err error) { isFinal(s.T, err) })
	_, err := s.table.Write(s.ctx, store.Write{Key: key(1), If: store.IfAbsent}) // a check alone
	isFinal(s.T, err)
	_, err = s.table.Transact(s.ctx, []store.Write{{Item: item(1)}, {Item: item(1)}})
	isFinal(s.T, err)

	over, cancel := context.WithCancel(s.ctx)
	cancel()
	each(over, s.table, func(method string, _ bool, err error) {
		if !errors.Is(err, store.ErrUnavailable) {
			s.Errorf("%s after its context: %v", method, err)
		}
	})
	s.same(s.get(1), store.Item(nil))
}

// A write is sent once, whatever the answer. What an answer proves differs between reads and writes.
func TestTableErrors(t *testing.T) {
	for _, c := range []struct {
		reply       storetest.Reply
		read, write error
	}{
		{storetest.Refusal(400, "ThrottlingException", "x"), store.ErrThrottled, store.ErrThrottled},
		{storetest.Refusal(400, "TransactionConflictException", "x"), store.ErrConflict, store.ErrConflict},
		{storetest.Refusal(500, "InternalServerError", "x"), store.ErrUnavailable, store.ErrUnknownOutcome},
		{storetest.Reply{Err: &url.Error{Op: "Post", Err: syscall.ECONNRESET}}, store.ErrUnavailable,
			store.ErrUnknownOutcome},
	} {
		fake, client := storetest.New(t, storetest.Always(c.reply))
		before := 0
		each(t.Context(), store.NewTable(client, "books"), func(method string, isWrite bool, err error) {
			want := c.read
			if isWrite {
				want = c.write
			}
			sent := len(fake.Requests()) - before
			if before += sent; !errors.Is(err, want) || isWrite && sent != 1 {
				t.Errorf("%s: %v, want %v; sent %d times", method, err, want, sent)
			}
		})
	}
}

// The reasons of a cancelled transaction are in the order of its writes. Each transaction has its own client request
// token: else the store would not apply the second one, and repeat the answer to the first.
func TestCancelledTransaction(t *testing.T) {
	none, condition, conflict := store.CauseNone, store.CauseCondition, store.CauseConflict
	throttled := store.CauseThrottled
	tokens := map[any]bool{}
	for reasons, want := range map[string]struct {
		causes []store.Cause
		err    error // nil: final
	}{
		"None ConditionalCheckFailed":                  {[]store.Cause{none, condition}, store.ErrConflict},
		"TransactionConflict ThrottlingError":          {[]store.Cause{conflict, throttled}, store.ErrConflict},
		"ThrottlingError None":                         {[]store.Cause{throttled, none}, store.ErrThrottled},
		"None ProvisionedThroughputExceeded":           {[]store.Cause{none, throttled}, store.ErrThrottled},
		"None None":                                    {nil, store.ErrUnknownOutcome},
		"TransactionConflict":                          {nil, store.ErrUnknownOutcome},
		"TransactionConflict None None":                {nil, store.ErrUnknownOutcome},
		"TransactionConflict SomethingNew":             {nil, store.ErrUnknownOutcome},
		"":                                             {nil, store.ErrUnknownOutcome},
		"TransactionConflict ValidationError":          {nil, nil},
		"ItemCollectionSizeLimitExceeded None":         {nil, nil},
		"SomethingNew ItemCollectionSizeLimitExceeded": {nil, nil},
	} {
		var list []string
		for code := range strings.FieldsSeq(reasons) {
			list = append(list, fmt.Sprintf(`{"Code":%q}`, code))
		}
		fake, client := storetest.New(t, storetest.Always(storetest.Reply{Status: 400, Body: `{"__type":` +
			`"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"cancelled",` +
			`"CancellationReasons":[` + strings.Join(list, ",") + `]}`}))
		on := store.NewTable(client, "books")
		at, err := on.Transact(t.Context(), []store.Write{{Item: item(1)}, {Item: item(2)}})
		var causes []store.Cause
		if cancelled, ok := errors.AsType[*store.Cancelled](err); ok {
			for _, r := range cancelled.Reasons {
				causes = append(causes, r.Is)
			}
		}
		if !slices.Equal(causes, want.causes) || want.err != nil && !errors.Is(err, want.err) || at.IsZero() {
			t.Errorf("%q: %v, causes %v, at %v", reasons, err, causes, at)
		}
		if want.err == nil {
			isFinal(t, err)
		}
		tokens[fake.Requests()[0].Body["ClientRequestToken"]] = true
	}
	if len(tokens) != 12 || tokens[nil] {
		t.Errorf("tokens %v", tokens)
	}
}
