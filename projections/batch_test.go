package projections_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// records makes a batch of keys, numbered from 1000.
func records(keys ...table.Key) []projections.Record {
	batch := make([]projections.Record, len(keys))
	for i, k := range keys {
		batch[i] = projections.Record{SequenceNumber: fmt.Sprint(1000 + i), PK: k.PK, SK: k.SK}
	}
	return batch
}

func of(k projections.Key, ids ...events.KSUID) []table.Key {
	keys := make([]table.Key, len(ids))
	for i, id := range ids {
		keys[i] = table.PostingKey(k.Account, k.Asset, string(id))
	}
	return keys
}

func (b *book) project(batch []projections.Record) {
	b.Helper()
	if failed, err := b.projector.Project(b.Context(), batch); failed != "" || err != nil {
		b.Fatalf("failed from %q on, error %v\n%s", failed, err, b.log.String())
	}
}

func TestBatchRefoldsEachBalanceOnce(t *testing.T) {
	b := newBook(t)
	shop := projections.Key{Account: "shop", Asset: "USD"}
	batch := slices.Concat(
		of(jane, b.post(jane, upTo(1, 50)...)...),
		of(shop, b.post(shop, upTo(1, 50)...)...),
	)
	batch = append(batch, batch...)
	slices.SortStableFunc(batch, func(a, b table.Key) int { return strings.Compare(a.SK, b.SK) })
	b.Requests()
	b.project(records(batch...))
	r := b.Requests()
	if r.Balance != 2 || r.Writes != 2 {
		t.Errorf("%+v", r)
	}
	same(t, "jane", b.stored(jane).Head, ones(50, 50))
	same(t, "shop", b.stored(shop).Head, ones(50, 50))
}

func TestBatchOf100PostingsOnOneBalanceIsOneWrite(t *testing.T) {
	b := newBook(t)
	b.project(records(of(jane, b.post(jane, upTo(1, 200)...)...)...))
	ids := b.post(jane, upTo(201, 300)...) // closes a segment too
	b.Requests()
	b.project(records(of(jane, ids...)...))
	same(t, "requests", b.Requests(), viewstest.Requests{Balance: 1, Postings: 1, PostingsRead: 100, Writes: 1, Transactions: 1})
}

func TestBatchSkipsWhatIsNotAnEvent(t *testing.T) {
	b := newBook(t)
	b.post(jane, 1)
	b.Requests()
	b.project(records(
		table.BalanceKey("jane", "USD"), table.SegmentKey("jane", "USD", string(ksuid(1))), table.SummaryKey("jane"),
		table.MembershipKey("jane", "ann"), table.SpendKey("jane", "USD"), table.TransactionKey("t-1"),
		table.AccountKey("jane"), table.AssetKey("USD"), table.Key{PK: "anything", SK: "else"}, table.Key{},
	))
	b.project(nil)
	same(t, "requests", b.Requests(), viewstest.Requests{})
	same(t, "log", b.log.String(), "")
}

func TestBatchAlarmsOfDeletedItems(t *testing.T) {
	b := newBook(t)
	b.post(jane, 1)
	batch := records(of(jane, ksuid(1))...)
	batch[0].Removed = true
	b.Requests()
	b.project(batch)
	same(t, "requests", b.Requests(), viewstest.Requests{})
	if log := b.log.String(); !strings.Contains(log, `level=ERROR msg="item was deleted"`) || !strings.Contains(log, string(ksuid(1))) {
		t.Errorf("log: %s", log)
	}
}

// broken fails every read of some balances.
type broken struct {
	*viewstest.Memory
	assets map[string]bool
}

var errBroken = errors.New("cannot be read")

func (b broken) Balance(ctx context.Context, k projections.Key) (projections.Balance, time.Time, error) {
	if b.assets[k.Asset] {
		return projections.Balance{}, time.Time{}, errBroken
	}
	return b.Memory.Balance(ctx, k)
}

func TestBatchReportsTheFirstRecordOfAFailedGroup(t *testing.T) {
	posting := func(account, asset string, n int) table.Key {
		return table.PostingKey(account, asset, string(ksuid(n)))
	}
	for _, c := range []struct {
		name   string
		broken []string
		batch  []table.Key
		failed string // sequence number, "" for none
		err    error
		done   []string // assets of jane that are counted
	}{
		{"none", nil, []table.Key{posting("jane", "A", 1), posting("jane", "B", 1)}, "", nil, []string{"A", "B"}},
		{"the last", []string{"B"}, []table.Key{posting("jane", "A", 1), posting("jane", "B", 1)}, "1001", nil, []string{"A"}},
		{"one in the middle", []string{"B"}, []table.Key{posting("jane", "A", 1), posting("jane", "B", 1), posting("jane", "C", 1)}, "1001", nil, []string{"A", "C"}},
		{"the lower of two", []string{"B", "C"}, []table.Key{posting("jane", "A", 1), posting("jane", "C", 1), posting("jane", "B", 1)}, "1001", nil, []string{"A"}},
		{"the lower of two accounts", []string{"B"}, []table.Key{posting("jane", "A", 1), posting("shop", "B", 1), posting("jane", "B", 1)}, "1001", nil, []string{"A"}},
		{"the first record of its group", []string{"B"}, []table.Key{posting("jane", "A", 1), posting("jane", "B", 2), posting("jane", "A", 2), posting("jane", "B", 1)}, "1001", nil, []string{"A"}},
		{"the batch's first", []string{"A"}, []table.Key{posting("jane", "A", 1), posting("jane", "B", 1)}, "", errBroken, []string{"B"}},
		{"the batch's first among others", []string{"A", "B"}, []table.Key{posting("jane", "A", 1), posting("jane", "B", 1), posting("jane", "C", 1)}, "", errBroken, []string{"C"}},
		{"one that is no key", nil, []table.Key{posting("jane", "A", 1), {PK: "ACCOUNT#jane", SK: "POSTING#A"}, posting("jane", "B", 1)}, "1001", nil, []string{"A", "B"}},
		{"one that is no KSUID", nil, []table.Key{posting("jane", "A", 1), table.PostingKey("jane", "A", "x"), posting("jane", "B", 1)}, "1001", nil, []string{"A", "B"}},
		{"one that is no grant", nil, []table.Key{posting("jane", "A", 1), {PK: "ACCOUNT#jane", SK: "GRANT#ann#x"}, posting("jane", "B", 1)}, "1001", nil, []string{"A", "B"}},
		{"one in no account", nil, []table.Key{posting("jane", "A", 1), {PK: "TXN#1", SK: posting("jane", "A", 1).SK}}, "1001", nil, []string{"A"}},
		{"the first is no key", nil, []table.Key{{PK: "ACCOUNT#jane", SK: "POSTING#"}, posting("jane", "B", 1)}, "", projections.ErrMalformedRecord, []string{"B"}},
		{"a grant that isn't there", nil, []table.Key{posting("jane", "A", 1), table.GrantKey("jane", "ann", 1)}, "1001", nil, []string{"A"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBook(t)
			assets := make(map[string]bool)
			for _, asset := range c.broken {
				assets[asset] = true
			}
			for _, asset := range []string{"A", "B", "C"} {
				b.post(projections.Key{Account: "jane", Asset: asset}, 1, 2)
			}
			b.on(broken{b.Memory, assets})
			failed, err := b.projector.Project(t.Context(), records(c.batch...))
			if failed != c.failed || !errors.Is(err, c.err) || (err != nil) != (c.err != nil) {
				t.Errorf("failed from %q, error %v; wanted %q, %v", failed, err, c.failed, c.err)
			}
			var done []string
			for _, asset := range []string{"A", "B", "C"} {
				if b.stored(projections.Key{Account: "jane", Asset: asset}).Head.Count == 2 {
					done = append(done, asset)
				}
			}
			same(t, "done", done, c.done)
			if complained := strings.Contains(b.log.String(), "projection failed"); complained != (c.failed != "" || c.err != nil) {
				t.Errorf("log: %s", b.log.String())
			}
		})
	}
}

func TestBatchNeverNamesARecordWithoutAName(t *testing.T) {
	b := newBook(t)
	batch := records(append(of(jane, b.post(jane, 1)...), table.Key{PK: "ACCOUNT#jane", SK: "POSTING#"})...)
	batch[1].SequenceNumber = ""
	if failed, err := b.projector.Project(t.Context(), batch); failed != "" || !errors.Is(err, projections.ErrMalformedRecord) {
		t.Errorf("failed from %q, error %v: that reads as success", failed, err)
	}
}

func TestBatchStopsShortOfItsDeadline(t *testing.T) {
	b := newBook(t)
	b.must(b.Post(t.Context(), jane, posting(1, 1)))
	for left, wanted := range map[time.Duration]bool{time.Minute: true, 500 * time.Millisecond: false} {
		ctx, cancel := context.WithTimeout(t.Context(), left)
		defer cancel()
		failed, err := b.projector.Project(ctx, records(of(jane, ksuid(1))...))
		if failed != "" || (err == nil) != wanted {
			t.Errorf("%v left: failed from %q, error %v", left, failed, err)
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v left: %v", left, err)
		}
	}
}

// The few deliveries that a record gets are not used up by a table that is throttled for a while.
func TestBatchWaitsForAThrottledStore(t *testing.T) {
	for _, c := range []struct {
		name             string
		throttled, pause int // writes that are throttled; pauses until the delivery is cut off, 0 for never
		done             bool
	}{
		{"for a while", 50, 0, true},
		{"until there is no time left", 50, 20, false},
		{"without a deadline, for ever", 1 << 30, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBook(t)
			ids := b.post(jane, 1)
			b.on(&failing{Memory: b.Memory, before: func(write int, _ projections.Change) error {
				if write <= c.throttled {
					return fmt.Errorf("wrapped: %w", table.ErrThrottled)
				}
				return nil
			}})
			pauses := 0
			b.projector.Pause(func(context.Context, int) error {
				if pauses++; pauses == c.pause {
					return context.DeadlineExceeded
				}
				return nil
			})
			failed, err := b.projector.Project(t.Context(), records(of(jane, ids...)...))
			if failed != "" || c.done != (err == nil) || err != nil && !errors.Is(err, table.ErrThrottled) {
				t.Errorf("failed from %q, error %v after %d pauses", failed, err, pauses)
			}
			if b.stored(jane).Head.Count == 1 != c.done {
				t.Errorf("stored %+v", b.stored(jane))
			}
		})
	}
}

// crowd counts how many are inside at once, by account, and holds the first until as many came as were wanted.
type crowd struct {
	*viewstest.Memory
	mu           sync.Mutex
	inside       map[string]int
	now, most    int
	wanted       int
	full         context.Context // done when all wanted are inside, or never came
	filled       context.CancelFunc
	sameAccounts int
}

func (c *crowd) Balance(ctx context.Context, k projections.Key) (projections.Balance, time.Time, error) {
	c.mu.Lock()
	if c.inside[k.Account]++; c.inside[k.Account] > 1 {
		c.sameAccounts++
	}
	c.now++
	if c.most = max(c.most, c.now); c.now == c.wanted {
		c.filled()
	}
	c.mu.Unlock()
	<-c.full.Done()
	c.mu.Lock()
	c.inside[k.Account]--
	c.now--
	c.mu.Unlock()
	return c.Memory.Balance(ctx, k)
}

func TestBatchRefoldsAccountsAtOnceButAnAccountInTurn(t *testing.T) {
	b := newBook(t)
	var batch []table.Key
	for account := range 12 {
		for _, asset := range []string{"A", "B", "C"} {
			k := projections.Key{Account: fmt.Sprint("account", account), Asset: asset}
			batch = append(batch, of(k, b.post(k, 1)...)...)
		}
	}
	full, filled := context.WithTimeout(t.Context(), 10*time.Second)
	defer filled()
	c := &crowd{Memory: b.Memory, inside: make(map[string]int), wanted: 8, full: full, filled: filled}
	b.on(c)
	b.project(records(batch...))
	if c.most != 8 || c.sameAccounts != 0 {
		t.Errorf("%d at once, wanted 8; %d times two of one account", c.most, c.sameAccounts)
	}
	if b.pauses != 0 {
		t.Errorf("%d conflicts", b.pauses)
	}
	for account := range 12 {
		if s := b.summary(fmt.Sprint("account", account)); s.Assets != 3 || s.Holdings != 3 {
			t.Errorf("summary %+v", s)
		}
	}
}

func TestBatchRemembersMemberships(t *testing.T) {
	b := newBook(t)
	shown := func(user string) projections.Membership {
		t.Helper()
		m, err := b.Membership(t.Context(), "jane", user)
		b.must(err)
		return m
	}
	grant := func(user string, number int64, role events.Role) table.Key {
		b.must(b.Grant(t.Context(), projections.Membership{Account: "jane", User: user, Number: number, Role: role}))
		return table.GrantKey("jane", user, number)
	}
	first, second := grant("ann", 1, events.RoleViewer), grant("ann", 2, events.RoleOwner)
	b.project(records(second, grant("bob", 1, events.RoleOperator), first))
	same(t, "ann", shown("ann"), projections.Membership{Account: "jane", User: "ann", Number: 2, Role: events.RoleOwner})
	same(t, "bob", shown("bob"), projections.Membership{Account: "jane", User: "bob", Number: 1, Role: events.RoleOperator})

	revoked := grant("ann", 3, "")
	b.project(records(revoked))
	b.project(records(first, second)) // late and again
	same(t, "ann", shown("ann"), projections.Membership{Account: "jane", User: "ann", Number: 3})
	if n := b.Requests().Memberships; n != 3 {
		t.Errorf("%d memberships written", n)
	}
}

func TestRedeliveredBacklogWritesNothing(t *testing.T) {
	const backlog, size = 20_000, 100
	b := newBook(t)
	b.Page = 1000
	b.now = morning.Add(time.Hour)
	ids := b.post(jane, upTo(1, backlog)...)
	deliver := func() viewstest.Requests {
		b.Requests()
		for from := 0; from < backlog; from += size {
			b.project(records(of(jane, ids[from:from+size]...)...))
		}
		return b.Requests()
	}
	once := deliver()
	if most := backlog + 2*projections.StretchPostings*(backlog/size); once.PostingsRead > most {
		t.Errorf("%d postings read, at most %d", once.PostingsRead, most)
	}
	if once.Writes != 1 {
		t.Errorf("%d writes", once.Writes)
	}
	same(t, "head", b.stored(jane).Head, ones(backlog, backlog))
	before := b.stored(jane)
	again := deliver()
	if again.Writes != 0 || again.PostingsRead > 2*projections.StretchPostings*(backlog/size) {
		t.Errorf("redelivery: %+v", again)
	}
	same(t, "balance", b.stored(jane), before)
}
