// Package lanes tests that lists live through growths of their lanes: the real lister, reader, rebuild and growth, in
// random histories.
package lanes

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ledger.example/events"
	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
	"ledger.example/internal/table/tabletest"
	"ledger.example/internal/watch/lanes"
	"ledger.example/internal/watch/repair"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
	"ledger.example/tests/harness/full"
)

const (
	tableName = "ledger"
	indexed   = "order"
	span      = 30 * time.Minute
	skewMax   = 4900 * time.Millisecond // of a clock
	lateMax   = 5 * time.Minute         // of the put of a growth
)

var histories = flag.Int("histories", 0, "number of histories to run; 0: 25, or 200 in the full run")

// history is one random run, on the clock of its synctest bubble. It is safe for concurrent use.
type history struct {
	*testing.T
	store *memdb.Store

	mu      sync.Mutex
	random  *rand.Rand
	headers []events.TransactionPosted // that were committed
	listed  map[string]time.Time       // when a lister had listed them
}

// chance draws a number below n.
func (h *history) chance(n int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.random.IntN(n)
}

// within draws a duration of at most d.
func (h *history) within(d time.Duration) time.Duration {
	return time.Duration(h.chance(int(d/time.Millisecond)+1)) * time.Millisecond
}

// pause is how long a process takes between two steps. A function may be frozen for minutes.
func (h *history) pause() time.Duration {
	switch n := h.chance(1000); {
	case n < 900:
		return h.within(200 * time.Millisecond)
	case n < 985:
		return h.within(5 * time.Second)
	}
	return 20*time.Second + h.within(380*time.Second)
}

// sleep reports false if ctx ended before d was over.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// table returns the table as a process sees it whose requests take as long as takes says.
func (h *history) table(takes func() time.Duration) table.Table { return h.slow(h.plain(), takes) }

func (h *history) plain() table.Table { return table.NewTable(h.store.DynamoDB(), tableName) }

// slow returns a table whose requests take as long as takes says.
func (h *history) slow(t table.Table, takes func() time.Duration) table.Table {
	around := func(ctx context.Context, c tabletest.Call, apply func(context.Context) error) error {
		if !sleep(ctx, takes()) {
			return table.ErrUnavailable
		}
		return apply(ctx)
	}
	return &tabletest.Faulty{Table: t, Around: around}
}

func (h *history) clock() func() time.Time {
	skew := h.within(2*skewMax) - skewMax
	return func() time.Time { return time.Now().Add(skew) }
}

var quiet = slog.New(slog.DiscardHandler)

// grow grows the lanes, at least to wanted. Two in three puts are applied late. The grower tries again after some of
// these. It dies of the others, which are very late.
func (h *history) grow(wanted int) {
	ctx, die := context.WithCancel(context.Background())
	defer die()
	around := func(ctx context.Context, c tabletest.Call, apply func(context.Context) error) error {
		if len(c.Writes) == 0 || h.chance(3) == 0 {
			return apply(ctx)
		}
		late := h.within(lateMax)
		if h.chance(4) > 0 {
			late = lateMax - h.within(time.Minute)
			die()
		}
		go func() {
			time.Sleep(late)
			_ = apply(context.WithoutCancel(ctx))
		}()
		return table.ErrUnknownOutcome
	}
	_, _, err := lanes.Grow(ctx, h.slow(&tabletest.Faulty{Table: h.plain(), Around: around}, h.pause), wanted)
	if err != nil && !errors.Is(err, lanes.ErrFewer) && !errors.Is(err, table.ErrUnavailable) && ctx.Err() == nil {
		h.Errorf("grow to %d: %v", wanted, err)
	}
}

// transaction returns a transaction that is recorded now by a clock. Some are backdated, some are holds, and some have
// metadata.
func (h *history) transaction(id string, now time.Time) events.TransactionPosted {
	recorded := now.UTC().Truncate(time.Microsecond)
	header := events.TransactionPosted{ID: id, Kind: events.KindTransfer, Fingerprint: "1:x", Actor: "test",
		Annotation: events.Annotation{Metadata: map[string]string{}}}
	if h.chance(2) == 0 {
		header.Metadata[indexed] = "the same"
	}
	at := recorded
	switch h.chance(5) {
	case 0:
		header.RecordedAt, at = recorded, recorded.Add(-15*time.Second-h.within(14*time.Hour))
	case 1:
		header.ExpiresAt = recorded.Add(time.Minute + h.within(time.Hour).Truncate(time.Millisecond))
	}
	for i, ksuid := range []events.KSUID{events.FirstKSUID(at), events.LastKSUIDBefore(at.Add(time.Microsecond))} {
		header.Legs = append(header.Legs, events.Leg{ID: ksuid, Account: []string{"jane", "shop"}[i], Asset: "USD",
			Quantity: events.NewAmount(int64(2*i - 1))})
	}
	return header
}

// post commits a transaction, late at random, and delivers its record to some listers, late or twice at random.
func (h *history) post(id string, now func() time.Time, listers []*projections.Lister) {
	header := h.transaction(id, now())
	if time.Sleep(h.within(200 * time.Millisecond)); h.chance(10) == 0 {
		time.Sleep(h.within(8 * time.Second))
	}
	item := table.EventItem(header)
	if _, err := h.table(func() time.Duration { return 0 }).Write(h.Context(), table.Write{Item: item}); err != nil {
		h.Error(err)
	}
	h.mu.Lock()
	h.headers = append(h.headers, header)
	h.mu.Unlock()
	key := table.EventKey(header)
	batch := []projections.Record{{SequenceNumber: "1", PK: key.PK, SK: key.SK, Event: header}}
	for range 1 + h.chance(5)/4 {
		time.Sleep(h.within(time.Second))
		if h.chance(5) == 0 {
			time.Sleep(h.within(15 * time.Minute))
		}
		for failed, err := "", error(nil); ; time.Sleep(time.Second) {
			if failed, err = listers[h.chance(len(listers))].List(context.Background(), batch); failed == "" && err == nil {
				break
			}
		}
		h.mu.Lock()
		if h.listed[id].IsZero() {
			h.listed[id] = time.Now()
		}
		h.mu.Unlock()
	}
}

// walk pages through a list of transactions. It must show once what was listed before it began.
func (h *history) walk(l *projections.Lists, by projections.Search) {
	h.pages(fmt.Sprintf("%+v", by), func(s projections.Slice) (projections.Page[events.Transaction], error) {
		return l.Transactions(context.Background(), by, s)
	}, func(header events.TransactionPosted) bool {
		inSpan := by.To.IsZero() || header.Legs[0].ID < events.FirstKSUID(by.To)
		return inSpan && (by.Key == "" || header.Metadata[by.Key] == by.Value)
	})
}

// walkHolds pages through the list of open holds, as walk does.
func (h *history) walkHolds(l *projections.Lists) {
	h.pages("open holds", func(s projections.Slice) (projections.Page[events.Transaction], error) {
		return l.OpenHolds(context.Background(), s)
	}, events.TransactionPosted.IsHold)
}

// pages pages through a list. It must show once what belongs in it and was listed before.
func (h *history) pages(of string, list func(projections.Slice) (projections.Page[events.Transaction], error),
	isIn func(events.TransactionPosted) bool,
) {
	missing := make(map[string]bool)
	h.mu.Lock()
	for _, header := range h.headers {
		if !h.listed[header.ID].IsZero() && isIn(header) {
			missing[header.ID] = true
		}
	}
	h.mu.Unlock()
	seen := make(map[string]bool)
	for s := (projections.Slice{}); ; time.Sleep(h.pause()) {
		s.Limit = []int{1, 3, 20}[h.chance(3)]
		page, err := list(s)
		if err != nil {
			h.Error(err)
			return
		}
		for _, t := range page.Items {
			if seen[t.Header.ID] {
				h.Errorf("%s was shown twice", t.Header.ID)
			}
			seen[t.Header.ID] = true
			delete(missing, t.Header.ID)
		}
		if s.After = page.Next; s.After == "" {
			break
		}
	}
	if len(missing) > 0 {
		h.Errorf("a walk of %s missed %v", of, missing)
	}
}

// rebuild rebuilds the lists while everything goes on. Whoever runs it runs it again if the store did not answer in time.
func (h *history) rebuild() {
	t := h.table(func() time.Duration { return h.within(3 * time.Second) })
	for try := 1; ; try++ {
		var mu sync.Mutex
		var failed error
		c := repair.Config{Table: t, ListsOnly: true, Indexed: []string{indexed}, Log: quiet,
			Append: projections.NewLister(t, nil, nil, quiet).Append, Report: func(r rebuild.Report) {
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, r.Err)
			}}
		err := errors.Join(repair.New(c).Run(context.Background()), failed)
		if err == nil {
			return
		}
		if try == 3 || !errors.Is(err, table.ErrUnavailable) {
			h.Errorf("rebuild: %v", err)
			return
		}
	}
}

// follow reads the journal from its last position on, until ended is closed. It must see every page.
func (h *history) follow(ended <-chan struct{}) {
	slow := func() time.Duration {
		if h.chance(4) == 0 {
			return h.within(time.Minute)
		}
		return h.within(time.Second)
	}
	r := projections.NewJournalReader(h.table(slow), h.clock())
	after, seen := "", make(map[string]bool)
	read := func() (n int) {
		page, err := r.After(context.Background(), projections.Slice{After: after, Limit: 1 + h.chance(20)}, "")
		if err != nil {
			h.Errorf("the journal after %s: %v", after, err)
			return 0
		}
		for _, e := range page.Items {
			id, _, _ := strings.Cut(e.Position, "#")
			seen[id] = true
		}
		after = page.Next
		return len(page.Items)
	}
	for isEnding := false; !isEnding; {
		select {
		case <-ended:
			isEnding = true
		case <-time.After(h.within(30 * time.Second)):
			read()
		}
	}
	time.Sleep(2 * time.Minute) // the last pages are older than the trail
	for read() > 0 {
	}
	for _, key := range h.keysOf(table.Journal.Type) {
		if _, id, _ := table.Journal.Parse(key); !seen[id] {
			h.Errorf("a follower missed page %s, written at %s", id, events.KSUID(id).Time())
		}
	}
}

// keysOf returns the keys of all items of a type that are not void.
func (h *history) keysOf(kind string) (keys []table.Key) {
	t := h.plain()
	page, err := t.Scan(context.Background(), table.Scan{Consistency: table.Strong, Types: []string{kind}})
	if err != nil || page.Next != nil {
		h.Errorf("%v, and there are more: %v", err, page.Next != nil)
	}
	for _, item := range page.Items {
		if !table.Read(item).OptionalFlag(table.AttrVoid) {
			keys = append(keys, table.ItemKey(item))
		}
	}
	return keys
}

// play runs the history.
func (h *history) play() {
	var listers []*projections.Lister
	var readers []*projections.Lists
	for range 3 {
		listers = append(listers, projections.NewLister(h.table(h.pause), []string{indexed}, h.clock(), quiet))
		readers = append(readers, projections.NewLists(h.table(func() time.Duration { return h.within(300 * time.Millisecond) })))
	}
	var all sync.WaitGroup
	at := func(d time.Duration, do func()) {
		all.Go(func() {
			time.Sleep(d)
			do()
		})
	}
	for range 1 + h.chance(3) {
		begin, wanted := h.within(10*time.Minute), []int{2, 4, 32, 64}[h.chance(4)]
		for range 1 + h.chance(3)/2 { // sometimes two at once
			at(begin, func() { h.grow(wanted) })
		}
	}
	for n := range 60 {
		id, now := fmt.Sprint("t-", n), h.clock()
		at(h.within(span), func() { h.post(id, now, listers) })
	}
	for range 10 {
		begin, by := h.within(span+10*time.Minute), projections.Search{OldestFirst: h.chance(2) == 0}
		if h.chance(3) == 0 {
			by.Key, by.Value = indexed, "the same"
		}
		if h.chance(3) == 0 {
			by.To = time.Now().Add(begin - h.within(30*time.Minute))
		}
		reader := readers[h.chance(len(readers))]
		at(begin, func() { h.walk(reader, by) })
	}
	for range 3 {
		reader := readers[h.chance(len(readers))]
		at(h.within(span+10*time.Minute), func() { h.walkHolds(reader) })
	}
	for range h.chance(3) {
		at(h.within(span), h.rebuild)
	}
	ended := make(chan struct{})
	var followers sync.WaitGroup
	for range 2 {
		followers.Go(func() { h.follow(ended) })
	}
	all.Wait()
	time.Sleep(lateMax + time.Minute)
	close(ended)
	followers.Wait()
}

// check checks that each transaction is once in each of its lists, where the final log says.
func (h *history) check() {
	t := h.plain()
	log, err := table.ReadLanes(h.Context(), t, time.Now())
	if err != nil {
		h.Fatal(err)
	}
	stored := make(map[table.Key]bool)
	for _, key := range h.keysOf(table.Listed.Type) {
		stored[key] = true
	}
	for _, key := range h.keysOf(table.Journal.Type) {
		if _, id, _ := table.Journal.Parse(key); key.PK != table.Journal.PK(log.OfPage(events.KSUID(id))) {
			h.Errorf("page %s is at %s", id, key.PK)
		}
	}
	for _, header := range h.headers {
		lane, ksuid := log.Of(header.ID, header.Recorded()), string(header.Legs[0].ID)
		wanted := []table.Key{table.Listed.Key(lane, ksuid, header.ID)}
		if value, ok := header.Metadata[indexed]; ok {
			wanted = append(wanted, table.ListedMetadata.Key(lane, indexed, value, ksuid, header.ID))
		}
		if header.IsHold() {
			entry, _ := h.store.Item(table.OpenHold.Key(events.FormatTime(header.ExpiresAt), header.ID))
			if pk2 := table.TextOf(entry[table.AttrPK2]); pk2 != table.OpenHold.PK2(lane) {
				h.Errorf("hold %s is listed at %q", header.ID, pk2)
			}
		}
		for _, k := range wanted {
			if !stored[k] {
				h.Errorf("%s is not listed at %s", header.ID, k.PK)
			}
			delete(stored, k)
		}
	}
	for k := range stored {
		h.Errorf("there is also %s %s", k.PK, k.SK)
	}
	for i, g := range log.Grown() {
		if g.Number != int64(i+1) || i > 0 && (g.Lanes <= log.Grown()[i-1].Lanes || g.From.Before(log.Grown()[i-1].From)) {
			h.Errorf("the log is %+v", log.Grown())
		}
	}
}

// Through growths whose puts are late, with wrong clocks, late commits, backdated transactions, listers that are frozen
// for minutes, redeliveries and rebuilds: each transaction is once in each list, where the log says, readers in both
// directions miss nothing and see nothing twice, and followers of the journal see each page.
func TestListsLiveThroughGrowths(t *testing.T) {
	for seed := range cmp.Or(*histories, full.Count(25, 200)) {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
			h := &history{T: t, random: rand.New(rand.NewPCG(uint64(seed), 1)), listed: make(map[string]time.Time)}
			h.store = memdb.New(memdb.Options{Now: time.Now})
			if _, err := dynamolocal.CreateTable(t.Context(), h.store.DynamoDB(), tableName); err != nil {
				t.Fatal(err)
			}
			h.play()
			h.check()
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		})
	}
}

// A growth is decided once, however often it is asked for, and lanes are never taken away.
func TestGrow(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	store := memdb.New(memdb.Options{Now: func() time.Time { return now }, Violation: func(err error) { t.Error(err) }})
	if _, err := dynamolocal.CreateTable(t.Context(), store.DynamoDB(), tableName); err != nil {
		t.Fatal(err)
	}
	v := table.NewTable(store.DynamoDB(), tableName)
	first := events.LanesGrown{Number: 1, Lanes: 4, From: now.Add(10 * time.Minute)}
	for _, decided := range []bool{true, false} {
		if got, is, err := lanes.Grow(t.Context(), v, 4); got != first || is != decided || err != nil {
			t.Errorf("%+v, %v, %v", got, is, err)
		}
	}
	for _, fewer := range []int{1, 2} {
		if _, _, err := lanes.Grow(t.Context(), v, fewer); !errors.Is(err, lanes.ErrFewer) {
			t.Errorf("to %d: %v", fewer, err)
		}
	}
	for _, wrong := range []int{0, -4, 3, 12, 512} {
		if _, _, err := lanes.Grow(t.Context(), v, wrong); err == nil || !strings.Contains(err.Error(), "power of two") {
			t.Errorf("to %d: %v", wrong, err)
		}
	}
	now = now.Add(-time.Minute) // another store's clock is a little behind
	if got, _, err := lanes.Grow(t.Context(), v, 32); got != (events.LanesGrown{Number: 2, Lanes: 32, From: first.From}) {
		t.Errorf("%+v, %v", got, err)
	}
	// Another one comes first: it is read, and this one gets the next number.
	raced := &tabletest.Faulty{Table: v, Around: func(ctx context.Context, c tabletest.Call, apply func(context.Context) error) error {
		if len(c.Writes) == 1 && table.TextOf(c.Writes[0].Item[table.AttrSK]) == "LANES#000000000003" {
			if _, _, err := lanes.Grow(ctx, v, 64); err != nil {
				t.Error(err)
			}
		}
		return apply(ctx)
	}}
	if got, is, err := lanes.Grow(t.Context(), raced, 128); got.Number != 4 || !is || err != nil {
		t.Errorf("%+v, %v, %v", got, is, err)
	}
}
