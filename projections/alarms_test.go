package projections_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// alarmed reports whether the log has an error line that counts n in a metric and contains all texts of about.
func (b *book) alarmed(metric string, n int, about ...string) bool {
	for line := range strings.Lines(b.log.String()) {
		missing := !strings.Contains(line, "level=ERROR") ||
			!strings.HasSuffix(line, fmt.Sprintf(" %s=%d\n", metric, n))
		for _, what := range about {
			missing = missing || !strings.Contains(line, what)
		}
		if !missing {
			return true
		}
	}
	return false
}

// setState changes the state of jane's account.
func (b *book) setState(state events.AccountState) {
	b.Helper()
	b.Must(b.Change(b.Context(), events.AccountChanged{
		ID: "jane", Number: 1, State: state, Actor: "test", At: b.Time,
	}))
}

// Each credit to a closed account raises one alarm. Redelivered records and debits raise none.
func TestCreditAfterCloseRaisesAlarm(t *testing.T) {
	for _, c := range []struct {
		state      events.AccountState
		quantities []int64
		alarms     int
	}{
		{events.StateClosed, []int64{5, 3}, 1},
		{events.StateClosed, []int64{5, -5, 7}, 2},
		{events.StateClosed, []int64{-5, 5}, 0}, // of an account without a limit
		{events.StateFrozen, []int64{5}, 0},
		{"", []int64{5}, 0},
	} {
		b := newBook(t)
		if c.state != "" {
			b.setState(c.state)
		}
		for i, quantity := range c.quantities {
			b.Must(b.Post(t.Context(), jane, posting(i+1, quantity)))
			b.project(records(keysOf(jane, ksuid(i+1))...))
			b.project(records(keysOf(jane, ksuid(i+1))...)) // again
		}
		if got := strings.Count(b.log.String(), "CreditsAfterClose=1\n"); got != c.alarms ||
			got > 0 && !b.alarmed("CreditsAfterClose", 1, "account=jane", "asset=USD", "quantity=") {
			t.Errorf("%s account, %v: %d alarms, want %d: %s", c.state, c.quantities, got, c.alarms, b.log.String())
		}
	}
}

// The debit that empties an account may be projected after the close, together with the late credit.
func TestCreditAfterCloseRaisesAlarmIfADebitIsProjectedLate(t *testing.T) {
	for _, batches := range [][]int{{2, 3}, {3}} {
		b := newBook(t)
		b.Must(b.Post(t.Context(), jane, posting(1, 50)))
		b.project(records(keysOf(jane, ksuid(1))...))
		b.Must(b.Post(t.Context(), jane, posting(2, -50)))
		b.setState(events.StateClosed)
		b.Must(b.Post(t.Context(), jane, posting(3, 30)))
		for _, i := range batches {
			b.project(records(keysOf(jane, ksuid(i))...))
		}
		if !b.alarmed("CreditsAfterClose", 1, "account=jane", "quantity=30") {
			t.Errorf("%v: no alarm: %s", batches, b.log.String())
		}
	}
}

// lostAnswers is a table that applies transactions but returns an unknown outcome.
type lostAnswers struct{ table.Table }

func (t lostAnswers) Transact(ctx context.Context, writes []table.Write) (time.Time, error) {
	at, err := t.Table.Transact(ctx, writes)
	return at, cmp.Or(err, table.ErrUnknownOutcome)
}

// A write with an unknown outcome must raise the alarm: when the record is redelivered, the credit is already counted.
func TestCreditAfterCloseRaisesAlarmOnUnknownOutcome(t *testing.T) {
	b := newBook(t)
	b.on(lostAnswers{b.Table})
	b.setState(events.StateClosed)
	b.Must(b.Post(t.Context(), jane, posting(1, 30)))
	_, _ = b.Projector.Project(t.Context(), records(keysOf(jane, ksuid(1))...)) // fails
	if !b.alarmed("CreditsAfterClose", 1, "account=jane", "quantity=30") {
		t.Errorf("no alarm: %s", b.log.String())
	}
}

// unreadableAccounts is a table that fails to read the newest changes of accounts.
type unreadableAccounts struct{ table.Table }

func (t unreadableAccounts) Get(ctx context.Context, k table.Key, c table.Consistency) (table.Item, time.Time, error) {
	if _, ok := table.Current.Parse(k); ok {
		return nil, time.Time{}, errBroken
	}
	return t.Table.Get(ctx, k, c)
}

// If the account cannot be read, the refold writes nothing and fails, so that the record is redelivered.
func TestNoCreditIsCountedIfTheAccountCannotBeRead(t *testing.T) {
	b := newBook(t)
	b.on(unreadableAccounts{b.Table})
	ids := b.PostOnes(jane, 1)
	if _, err := b.Projector.Project(t.Context(), records(keysOf(jane, ids...)...)); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	viewstest.Same(t, "count", b.Stored(jane).Head.Count, 0)
}

// The ledger never deletes an item and never alters an event. Such a record raises an alarm and changes nothing.
// Altered projections and guards are normal and raise no alarm.
func TestBatchRaisesAlarmsForAlteredAndDeletedItems(t *testing.T) {
	posted := keysOf(jane, ksuid(1))[0]
	kinds := []table.Key{
		posted, table.Grant.Key("jane", "ann", 1), table.Transaction.Key("t-1"), table.Asset.Key("USD"),
		table.Account.Key("jane"),
		table.Spend.Key("jane", "USD"), table.Balance.Key("jane", "USD"),
		table.Segment.Key("jane", "USD", string(ksuid(1))),
		table.Summary.Key("jane"), table.Membership.Key("jane", "ann"),
	}
	const eventKinds = 5 // of kinds
	for i, k := range kinds {
		for _, change := range []string{"removed", "altered"} {
			b := newBook(t)
			b.PostOnes(jane, 1)
			batch := records(k)
			batch[0].Removed, batch[0].Altered = change == "removed", change == "altered"
			batch[0].Figures = &events.Figures{}
			b.Requests()
			b.project(batch)
			viewstest.Same(t, "requests", b.Requests(), viewstest.Requests{})
			metric := map[string]string{"removed": "ItemsDeleted"}[change]
			if i < eventKinds {
				metric = map[string]string{"removed": "EventsDeleted", "altered": "EventsAltered"}[change]
			}
			if metric == "" && b.log.Len() > 0 ||
				metric != "" && !b.alarmed(metric, 1, k.PK, k.SK, "sequence_number=1000") {
				t.Errorf("%v was %s, the log has: %s", k, change, b.log.String())
			}
		}
	}
}

// Project reports the first record whose group failed, as an error if it is the batch's first. A record that no retry
// fixes does not block the others.
func TestBatchSkipsRecordsThatNoRetryFixes(t *testing.T) {
	posting := func(asset string, n int) table.Key { return table.Posting.Key("jane", asset, string(ksuid(n))) }
	undecodable := func(err error) error { return fmt.Errorf("read postings: %w: Quantity", err) }
	name := events.PostingRecorded{}.EventName()
	of := func(name string, version int) error {
		_, err := events.DecodeFigures(events.StoredPosting{Name: name, Version: version}, nil)
		return undecodable(err)
	}
	a1, a2, b1, b2, c1 := posting("A", 1), posting("A", 2), posting("B", 1), posting("B", 2), posting("C", 1)
	badGrant := table.Key{PK: "ACCOUNT#jane", SK: "GRANT#ann#x"}
	type keys = []table.Key
	type assets = map[string]error
	for _, c := range []struct {
		name   string
		broken map[string]error
		batch  []table.Key
		failed string // the sequence number, "" for none
		err    error  // of the batch
		count  int    // of RecordsMalformed; 0: none
		about  string // in the line that counts
		done   string // assets of jane that are counted
	}{
		{"nothing", nil, keys{a1, b1}, "", nil, 0, "", "A B"},
		{"the middle", assets{"B": errBroken}, keys{a1, b1, c1}, "1001", nil, 0, "", "A C"},
		{"the lower of two", assets{"B": errBroken, "C": errBroken}, keys{a1, c1, b1}, "1001", nil, 0, "", "A"},
		{"the first record of its group", assets{"B": errBroken}, keys{a1, b2, a2, b1}, "1001", nil, 0, "", "A"},
		{"the batch's first", assets{"A": errBroken}, keys{a1, b1}, "", errBroken, 0, "", "B"},

		{"a key too short", nil, keys{{PK: "ACCOUNT#jane", SK: "POSTING#"}, b1}, "", nil, 1, "sk=POSTING#", "B"},
		{"no key", nil, keys{{}, b1}, "", nil, 1, "sequence_number=1000", "B"},
		{"no KSUID", nil, keys{a1, table.Posting.Key("jane", "A", "x"), b1}, "", nil, 1, "sk=POSTING#A#x", "A B"},
		{"no grant", nil, keys{a1, badGrant}, "", nil, 1, "sk=GRANT#ann#x", "A"},
		{"in no account", nil, keys{a1, {PK: "TXN#1", SK: a1.SK}}, "", nil, 1, "pk=TXN#1", "A"},
		{"a grant that is gone", nil, keys{a1, table.Grant.Key("jane", "ann", 1)}, "", nil, 1, "user=ann", "A"},
		{"an event", assets{"B": undecodable(events.ErrMalformedEvent)}, keys{b1, a1, b2}, "", nil, 2, "asset=B", "A"},
		{"an item", assets{"B": undecodable(table.ErrMalformedItem)}, keys{a1, b1}, "", nil, 1, "asset=B", "A"},
		{"an item of newer code", assets{"B": undecodable(table.ErrNewerForm)}, keys{a1, b1}, "1001", nil, 0, "", "A"},
		{"a sum out of range", assets{"B": events.ErrOverflow}, keys{a1, b1}, "", nil, 1, "asset=B", "A"},
		{"postings missing", assets{"B": projections.ErrPostingsMissing}, keys{a1, b1}, "", nil, 1, "asset=B", "A"},
		{"no known type, of a high version", assets{"B": of("Oops", 9)}, keys{a1, b1}, "", nil, 1, "asset=B", "A"},
		{"of version 0", assets{"B": of(name, 0)}, keys{a1, b1}, "", nil, 1, "asset=B", "A"},
		{"of newer code", assets{"B": of(name, events.Form+7)}, keys{a1, b1}, "1001", nil, 0, "", "A"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBook(t)
			for _, asset := range []string{"A", "B", "C"} {
				b.PostOnes(events.Pair{Account: "jane", Asset: asset}, 1, 2)
			}
			b.on(brokenFor(b.Table, c.broken))
			failed, err := b.Projector.Project(t.Context(), records(c.batch...))
			if failed != c.failed || !errors.Is(err, c.err) || (err != nil) != (c.err != nil) {
				t.Errorf("failed from %q, error %v; wanted %q, %v", failed, err, c.failed, c.err)
			}
			var done []string
			for _, asset := range []string{"A", "B", "C"} {
				if b.Stored(events.Pair{Account: "jane", Asset: asset}).Head.Count == 2 {
					done = append(done, asset)
				}
			}
			viewstest.Same(t, "done", strings.Join(done, " "), c.done)
			if c.count > 0 && !b.alarmed("RecordsMalformed", c.count, c.about) ||
				c.count == 0 && strings.Contains(b.log.String(), "RecordsMalformed") {
				t.Errorf("log: %s", b.log.String())
			}
		})
	}
	// An empty sequence number would mean success.
	b := newBook(t)
	b.on(brokenFor(b.Table, assets{"B": errBroken}))
	batch := records(a1, b1)
	batch[1].SequenceNumber = ""
	if _, err := b.Projector.Project(t.Context(), batch); !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
}
