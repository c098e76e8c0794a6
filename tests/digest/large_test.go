package digest

import (
	"context"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/watch/digest"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
	"ledger.example/tests/harness/full"
)

// pageEntries is the number of entries in a page of a journal.
const pageEntries = 100

// largeTable computes the journal of many transactions, a page a second. It only reads, and counts requests. It is safe
// for concurrent use.
type largeTable struct {
	table.Table
	pages int
	takes time.Duration // to read events

	mu       sync.Mutex
	requests map[string]int
	asked    func() // after each request; nil: nothing
}

func (l *largeTable) page(n int) table.Item {
	page := projections.JournalPage{ID: l.id(n)}
	for i := range pageEntries {
		page.Entries = append(page.Entries, projections.EntryOf(l.event(n*pageEntries+i)))
	}
	return projections.JournalForm.Item(page)
}

func (l *largeTable) id(n int) events.KSUID {
	return events.FirstKSUID(viewstest.Morning.Add(time.Duration(n) * time.Second))
}

// event is the same whenever it is asked for.
func (l *largeTable) event(i int) events.Event {
	at := l.id(i / pageEntries).Time().Add(-time.Second)
	quantity, ids := int64(1+i), [2]events.KSUID{events.FirstKSUID(at), events.LastKSUIDBefore(at.Add(time.Microsecond))}
	return events.TransactionPosted{ID: "t-" + strconv.Itoa(i), Kind: events.KindTransfer,
		Annotation:  events.Annotation{Metadata: map[string]string{}},
		Fingerprint: "1:" + strings.Repeat("0", 64), Actor: "test", Legs: []events.Leg{
			{ID: ids[0], Account: "jane", Asset: "USD", Quantity: events.NewAmount(-quantity)},
			{ID: ids[1], Account: "shop", Asset: "USD", Quantity: events.NewAmount(quantity)},
		}}
}

// count counts a request.
func (l *largeTable) count(operation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.requests[operation]++; l.asked != nil {
		l.asked()
	}
}

func (l *largeTable) now() time.Time { return viewstest.Morning.AddDate(1, 0, 0) }

func (l *largeTable) Get(_ context.Context, k table.Key, _ table.Consistency) (table.Item, time.Time, error) {
	l.count("Get")
	if _, id, ok := table.Journal.Parse(k); ok {
		return l.page(int(events.KSUID(id).Time().Sub(viewstest.Morning) / time.Second)), l.now(), nil
	}
	items, at, err := l.BatchGet(context.Background(), []table.Key{k}, table.Strong)
	return items[0], at, err
}

func (l *largeTable) BatchGet(_ context.Context, keys []table.Key, _ table.Consistency) ([]table.Item, time.Time, error) {
	l.count("BatchGet")
	time.Sleep(l.takes)
	items := make([]table.Item, len(keys))
	for i, k := range keys {
		id, _ := table.Transaction.Parse(k)
		n, err := strconv.Atoi(strings.TrimPrefix(id, "t-"))
		if err != nil {
			return nil, time.Time{}, err
		}
		items[i] = table.EventItem(l.event(n))
	}
	return items, l.now(), nil
}

func (l *largeTable) Query(_ context.Context, q table.Query) (p table.Page, err error) {
	if q.Partition == table.LanesGrown.PK() {
		return table.Page{At: l.now()}, nil
	}
	l.count("Query")
	first := 0
	if after := strings.TrimSuffix(strings.TrimPrefix(q.Within.From, "ENTRIES#"), "!"); after != "" {
		first = int(events.KSUID(after).Time().Sub(viewstest.Morning)/time.Second) + 1
	}
	for n := first; n < min(first+q.Limit, l.pages); n++ {
		p.Items = append(p.Items, l.page(n))
	}
	p.At = l.now()
	return p, nil
}

// processorTime is that of this process.
func processorTime(t *testing.T) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// The events of 16 pages are read at a time.
func TestEventsAreReadAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large := &largeTable{pages: 160, takes: time.Second, requests: make(map[string]int)}
		b := &book{T: t, dir: t.TempDir()}
		b.must(digest.NewKey(b.dir, origin))
		begun := time.Now()
		r, err := digest.Run(t.Context(), large.config(b.dir))
		if took := time.Since(begun); err != nil || r.Note.Size != 16_000 || took != 10*time.Second {
			t.Errorf("%d entries took %v, %v", r.Note.Size, took, err)
		}
	})
}

// Sealing and checking make the requests of reading alone. The directory has 64 bytes for each entry, and a proof the
// logarithm of their number.
func TestLargeJournal(t *testing.T) {
	entries := full.Count(12_000, 100_000)
	large := &largeTable{pages: entries / pageEntries}
	b := &book{T: t, dir: t.TempDir()}
	b.must(digest.NewKey(b.dir, origin))
	c := large.config(b.dir)
	measure := func(what string, do func()) (time.Duration, string) {
		large.requests = make(map[string]int)
		begun := processorTime(t)
		do()
		used := processorTime(t) - begun
		t.Logf("%s: %.1f µs of the processor for each entry, %v", what, float64(used.Microseconds())/float64(entries),
			large.requests)
		return used, fmt.Sprint(large.requests)
	}
	reading, requests := measure("read", func() {
		for page, err := range projections.NewJournalReader(large, large.now).Final(t.Context(), "") {
			b.must(err)
			keys := make([]table.Key, len(page.Entries))
			for i, e := range page.Entries {
				keys[i] = e.Event
			}
			items, _, err := large.BatchGet(t.Context(), keys, table.Strong)
			b.must(err)
			for _, item := range items {
				_, err := table.DecodeEvent(item)
				b.must(err)
			}
		}
	})
	sealing, sealed := measure("seal", func() {
		r, err := digest.Run(t.Context(), c)
		b.must(err)
		if r.Note.Size != int64(entries) {
			t.Errorf("%+v", r)
		}
	})
	checking, checked := measure("check", func() {
		r, err := digest.Check(t.Context(), c)
		b.must(err)
		if len(r.Findings) > 0 || r.Entries != int64(entries) || r.Notes < (entries+9_999)/10_000 {
			t.Errorf("%+v", r)
		}
	})
	checked = strings.Replace(checked, " Get:1", "", 1) // of the newest note's page, by which the ledger is known
	if sealed != requests || checked != requests {
		t.Errorf("requests of reading %s, of sealing %s, of checking %s", requests, sealed, checked)
	}
	t.Logf("sealing is %.2f, checking %.2f of reading", sealing.Seconds()/reading.Seconds(), checking.Seconds()/reading.Seconds())
	if full.Enabled() && sealing > 2*reading {
		t.Error("sealing takes more than twice the time of reading")
	}
	size := 0
	for name, text := range b.files() {
		if size += len(text); name == "hashes" &&
			int64(len(text)) != tlog.StoredHashCount(int64(entries))*tlog.HashSize {
			t.Errorf("%d bytes of hashes", len(text))
		}
	}
	if t.Logf("%d bytes in the directory", size); size > 70*entries {
		t.Errorf("the directory has %d bytes", size)
	}
	measure("prove", func() {
		p, err := digest.Prove(t.Context(), c, table.EventKey(large.event(entries/3)))
		b.must(err)
		if t.Logf("a proof has %d hashes, %d bytes", len(p.Path), len(p.Text())); len(p.Path) > bits.Len(uint(entries-1)) {
			t.Error("that is too many")
		}
	})
}
