package projections_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// records returns a batch of records with these keys, numbered from 1000.
func records(keys ...table.Key) []projections.Record {
	batch := make([]projections.Record, len(keys))
	for i, k := range keys {
		batch[i] = projections.Record{SequenceNumber: fmt.Sprint(1000 + i), PK: k.PK, SK: k.SK}
	}
	return batch
}

func keysOf(k events.Pair, ids ...events.KSUID) []table.Key {
	keys := make([]table.Key, len(ids))
	for i, id := range ids {
		keys[i] = table.Posting.Key(k.Account, k.Asset, string(id))
	}
	return keys
}

func (b *book) project(batch []projections.Record) {
	b.Helper()
	if failed, err := b.Projector.Project(b.Context(), batch); failed != "" || err != nil {
		b.Fatalf("failed from %q on, error %v\n%s", failed, err, b.log.String())
	}
}

func TestBatchRefoldsEachBalanceOnce(t *testing.T) {
	b := newBook(t)
	shop := events.Pair{Account: "shop", Asset: "USD"}
	batch := slices.Concat(
		keysOf(jane, b.PostOnes(jane, upTo(1, 50)...)...), keysOf(shop, b.PostOnes(shop, upTo(1, 50)...)...))
	batch = append(batch, batch...)
	slices.SortStableFunc(batch, func(a, b table.Key) int { return strings.Compare(a.SK, b.SK) })
	b.Requests()
	b.project(records(batch...))
	r := b.Requests()
	if r.Gets != 6 || r.Writes() != 2 { // a balance, a summary and whether the account is closed each
		t.Errorf("%+v", r)
	}
	viewstest.Same(t, "jane", b.Stored(jane).Head, ones(50, 50))
	viewstest.Same(t, "shop", b.Stored(shop).Head, ones(50, 50))
}

var errBroken = errors.New("cannot be read")

// brokenFor returns a table that fails every read of the balances of some assets.
func brokenFor(t table.Table, assets map[string]error) *viewstest.Hooked {
	return &viewstest.Hooked{Table: t, BeforeBalance: func(k events.Pair) error { return assets[k.Asset] }}
}

func TestBatchStopsBeforeItsDeadline(t *testing.T) {
	b := newBook(t)
	b.Must(b.Post(t.Context(), jane, posting(1, 1)))
	for left, wanted := range map[time.Duration]bool{time.Minute: true, 500 * time.Millisecond: false} {
		ctx, cancel := context.WithTimeout(t.Context(), left)
		defer cancel()
		failed, err := b.Projector.Project(ctx, records(keysOf(jane, ksuid(1))...))
		if failed != "" || (err == nil) != wanted {
			t.Errorf("%v left: failed from %q, error %v", left, failed, err)
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v left: %v", left, err)
		}
	}
}

// Project waits while the store throttles, so that throttling does not use up a record's few redeliveries.
func TestBatchWaitsForAThrottledStore(t *testing.T) {
	for _, throttled := range []int{50, 1 << 30} {
		b := newBook(t)
		ids := b.PostOnes(jane, 1)
		b.on(&viewstest.Hooked{Table: b.Table, BeforeWrite: func(write int, _ []table.Write) error {
			if write <= throttled {
				return fmt.Errorf("wrapped: %w", table.ErrThrottled)
			}
			return nil
		}})
		_, err := b.Projector.Project(t.Context(), records(keysOf(jane, ids...)...))
		if given := throttled > 50; given != errors.Is(err, table.ErrThrottled) || given != (b.pauses == 119) {
			t.Errorf("throttled %d times: error %v after %d pauses", throttled, err, b.pauses)
		}
	}
}

// Balances of one account are refolded one after another, because they share a summary. Accounts run in parallel.
func TestBatchRefoldsBalancesOfOneAccountInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook(t)
		var batch []table.Key
		for account := range projections.AccountsAtOnce + 1 {
			for _, asset := range []string{"A", "B", "C"} {
				k := events.Pair{Account: fmt.Sprint("account", account), Asset: asset}
				batch = append(batch, keysOf(k, b.PostOnes(k, 1)...)...)
			}
		}
		b.on(&viewstest.Hooked{Table: b.Table, BeforeBalance: func(events.Pair) error {
			time.Sleep(time.Second)
			return nil
		}})
		start := time.Now()
		b.project(records(batch...))
		if took := time.Since(start); took != 6*time.Second || b.pauses != 0 {
			t.Errorf("it took %v, with %d conflicts", took, b.pauses)
		}
		viewstest.Same(t, "assets", b.summary("account0").Assets, 3)
	})
}

// lastLine is the newest line of the log, from its message on.
func (b *book) lastLine() string {
	lines := strings.Split(strings.TrimSpace(b.log.String()), "\n")
	_, line, _ := strings.Cut(lines[len(lines)-1], "msg=")
	return line
}

// Each batch logs one line. It has a value per refold for the postings read over all attempts, the lag of the newest
// named posting, and the conflicts.
func TestBatchLogsItsMetrics(t *testing.T) {
	shop := events.Pair{Account: "shop", Asset: "USD"}
	b := newBook(t)
	ids := b.PostOnes(jane, upTo(1, 30)...)
	batch := append(keysOf(jane, ids[9], ids[4]), keysOf(shop, b.PostOnes(shop, 1)...)...)

	b.Time = morning.Add(time.Minute)
	b.project(records(batch...))
	// The batch names two of jane's thirty postings. The refold reads them all.
	if got, want := b.lastLine(),
		`batch records=3 groups=2 failed=0 cached=0 RefoldDepth="[30 1]" ProjectionLag="[59990 59999]"`; got != want {
		t.Errorf("%s\nwanted %s", got, want)
	}
	b.project(records(batch...))
	// The cache knows that they are counted: no posting is read.
	if got, want := b.lastLine(), `batch records=3 groups=2 failed=0 cached=2`; got != want {
		t.Errorf("%s\nwanted %s", got, want)
	}
}

// The lag of a posting with an effective date begins when it was written, not at the time in its KSUID.
func TestLagOfBackdatedPostingsBeginsWithTheWrite(t *testing.T) {
	b := newBook(t)
	batch := records(keysOf(jane, b.PostOnes(jane, 1)...)...)
	b.Time = morning.Add(time.Hour)
	batch[0].Written = b.Time.Add(-3 * time.Second)
	b.project(batch)
	if got := b.lastLine(); !strings.HasSuffix(got, "RefoldDepth=[1] ProjectionLag=[3000]") {
		t.Error(got)
	}
}

func TestBatchLogsConflicts(t *testing.T) {
	b := newBook(t)
	ids := b.PostOnes(jane, 5000)
	b.Time = morning // the projector's clock is behind the KSUID's: the lag must not be negative
	conflicts := 3
	b.on(&viewstest.Hooked{Table: b.Table, BeforeWrite: func(write int, _ []table.Write) error {
		if write <= conflicts {
			return table.ErrConflict
		}
		return nil
	}})
	b.project(records(keysOf(jane, ids...)...))
	if got := b.lastLine(); !strings.HasSuffix(got, "RefoldDepth=[4] ProjectionLag=[0] ProjectionConflicts=[3]") {
		t.Error(got)
	}
	conflicts = 1 << 30
	if _, err := b.Projector.Project(t.Context(), records(keysOf(jane, b.PostOnes(jane, 5001)...)...)); err == nil {
		t.Error("no error after too many conflicts")
	}
	if got := b.log.String(); !strings.Contains(got, "failed=1 cached=0 RefoldDepth=[24] ProjectionConflicts=[12]") {
		t.Error(got)
	}
}
