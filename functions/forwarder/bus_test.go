package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"ledger.example/client"
	"ledger.example/functions/app"
	"ledger.example/internal/forward"
	"ledger.example/internal/retry"
	"ledger.example/tests/harness/setup"
	"ledger.example/tests/harness/system"
)

// fake is a bus. It refuses an entry whose detail contains refuse, and takes the others of the request.
type fake struct {
	refuse string
	every  int // it also refuses each entry of this number; 0: none
	seen   int // entries
	took   int
	takes  time.Duration // until it answers
	err    error

	mu       sync.Mutex
	requests [][]types.PutEventsRequestEntry // in the order of the journal, once a page is sent
	running  int                             // requests at the same time
	most     int
}

func (f *fake) DescribeEventBus(context.Context, *eventbridge.DescribeEventBusInput, ...func(*eventbridge.Options)) (
	*eventbridge.DescribeEventBusOutput, error,
) {
	return &eventbridge.DescribeEventBusOutput{}, nil
}

func (f *fake) PutEvents(ctx context.Context, in *eventbridge.PutEventsInput, _ ...func(*eventbridge.Options)) (
	*eventbridge.PutEventsOutput, error,
) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, in.Entries)
	slices.SortStableFunc(f.requests, func(a, b []types.PutEventsRequestEntry) int {
		return strings.Compare(entryID(a), entryID(b))
	})
	if f.takes > 0 {
		f.running++
		f.most = max(f.most, f.running)
		f.mu.Unlock()
		err := retry.Sleep(ctx, f.takes)
		f.mu.Lock()
		f.running--
		if err != nil {
			return nil, err
		}
	}
	out := &eventbridge.PutEventsOutput{}
	for i, e := range in.Entries {
		one := types.PutEventsResultEntry{EventId: aws.String(fmt.Sprint(i))}
		f.seen++
		if f.refuse != "" && strings.Contains(*e.Detail, f.refuse) || f.every > 0 && f.seen%f.every == 0 {
			one = types.PutEventsResultEntry{ErrorCode: aws.String("ThrottlingException"), ErrorMessage: aws.String("slow down")}
			out.FailedEntryCount++
		} else {
			f.took++
		}
		out.Entries = append(out.Entries, one)
	}
	return out, f.err
}

// entryID is the id of the first event of a request, in the order of the journal.
func entryID(request []types.PutEventsRequestEntry) string {
	_, id, _ := strings.Cut(*request[0].Detail, `"data":{"id":`)
	return id
}

// send delivers events to a bus, and returns how many the bus took.
func send(t *testing.T, b *bus, all []client.JournalEntry) (n int, err error) {
	t.Helper()
	taken, err := b.deliver(t.Context(), all)
	for _, is := range taken {
		if is {
			n++
		}
	}
	return n, err
}

func entries(n, bytes int) (all []client.JournalEntry) {
	data := json.RawMessage(`{"id":"` + strings.Repeat("x", bytes) + `"}`)
	for i := range n {
		id := fmt.Sprintf("TXN#t-%03d/TXN#t-%03d", i, i)
		all = append(all, client.JournalEntry{ID: id, Type: "transaction.posted", At: "2026-11-21T09:00:00.123456Z", Data: data})
	}
	return all
}

// An event is a CloudEvent in its detail, with the type as the detail's type, the time and the source, for rules.
func TestEntry(t *testing.T) {
	f := &fake{}
	b := &bus{client: f, name: "events", source: "ledger/books"}
	e := entries(1, 1)[0]
	if n, err := send(t, b, []client.JournalEntry{e}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	got := f.requests[0][0]
	want := `{"specversion":"1.0","id":"` + forward.ID(e) + `","source":"ledger/books","type":"transaction.posted",` +
		`"time":"2026-11-21T09:00:00.123456Z","data":{"id":"TXN#t-000/TXN#t-000","type":"transaction.posted",` +
		`"at":"2026-11-21T09:00:00.123456Z","data":{"id":"x"},"canonical":""}}`
	if *got.Detail != want || *got.DetailType != e.Type || *got.Source != "ledger/books" || *got.EventBusName != "events" ||
		got.Time.Format("2006-01-02T15:04:05.000000Z") != e.At {
		t.Errorf("%s\n%+v", *got.Detail, got)
	}
}

// A request has at most 10 entries and 256 KB, in the order of the journal. An event that is larger goes alone.
func TestRequestsFit(t *testing.T) {
	for _, c := range []struct{ n, bytes, requests int }{{25, 10, 3}, {10, 30 << 10, 2}, {3, 200 << 10, 3}, {2, 300 << 10, 2}} {
		f := &fake{}
		b := &bus{client: f, name: "events", source: "ledger/books"}
		all := entries(c.n, c.bytes)
		n, err := send(t, b, all)
		if n != c.n || err != nil {
			t.Errorf("%+v: %d, %v", c, n, err)
		}
		next := 0
		for _, request := range f.requests {
			size := 0
			for _, e := range request {
				if !strings.Contains(*e.Detail, all[next].ID) {
					t.Errorf("%+v: %s is not next", c, *e.Detail)
				}
				size += len(*e.Detail) + len(*e.Source) + len(*e.DetailType) + 14
				next++
			}
			if len(request) > 10 || len(request) > 1 && size > 256<<10 {
				t.Errorf("%+v: %d entries, %d bytes", c, len(request), size)
			}
		}
		if len(f.requests) != c.requests {
			t.Errorf("%+v: %d requests", c, len(f.requests))
		}
	}
}

// The requests of a page are sent side by side.
func TestRequestsAreSentSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{takes: time.Second}
		began := time.Now()
		n, err := send(t, &bus{client: f, name: "events"}, entries(100, 1))
		if took := time.Since(began); n != 100 || err != nil || f.most != 10 || took != time.Second {
			t.Errorf("%d delivered in %v, %d at once, %v", n, took, f.most, err)
		}
	})
}

// The bus may take later entries than one that it refuses, of the same and of other requests. A request without an
// answer may have been taken, and counts as refused.
func TestPartialFailures(t *testing.T) {
	f := &fake{refuse: "t-013/"}
	b := &bus{client: f, name: "events"}
	taken, err := b.deliver(t.Context(), entries(30, 1))
	want := slices.Repeat([]bool{true}, 30)
	want[13] = false
	if !slices.Equal(taken, want) || err == nil || !strings.Contains(err.Error(), "ThrottlingException: slow down") ||
		len(f.requests) != 3 {
		t.Errorf("took %v in %d requests, %v", taken, len(f.requests), err)
	}
	f.err = errors.New("no answer")
	if n, err := send(t, b, entries(30, 1)); n != 0 || !errors.Is(err, f.err) {
		t.Errorf("%d delivered, %v", n, err)
	}
}

// A bus that refuses some entries of each request gets the others once, in one run of the function.
func TestBusThatRefusesNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)))
		s := system.New(t, system.Direct)
		const events = 400
		accounts := make([]string, events)
		for i := range accounts {
			accounts[i] = fmt.Sprint("a-", i)
		}
		setup.Listed(t, s.Plain, s.Table, time.Hour, accounts...)
		f := &fake{every: 25}
		all, err := s.Service.Forward("events", (&bus{client: f, name: "events"}).deliver)(t.Context(), app.Forwarding{})
		if err != nil || all.Delivered != events {
			t.Errorf("%d delivered, %v", all.Delivered, err)
		}
		if f.took != events {
			t.Errorf("the bus took %d entries of %d events", f.took, events)
		}
	})
}

// A slow bus does not keep a run from storing how far it got well before Lambda ends it, after a minute. The next run
// goes on there: no event is sent twice. A request without an answer is cut.
func TestSlowBus(t *testing.T) {
	for takes, delivers := range map[time.Duration]int{4 * time.Second: 100, 7 * time.Second: 100, 9 * time.Second: 100, time.Hour: 0} {
		t.Run(takes.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)))
				s := system.New(t, system.Direct)
				accounts := make([]string, 100)
				for i := range accounts {
					accounts[i] = fmt.Sprint("a-", i)
				}
				setup.Listed(t, s.Plain, s.Table, time.Hour, accounts...)
				f, delivered := &fake{takes: takes}, 0
				run := s.Service.Forward("events", (&bus{client: f, name: "events"}).deliver)
				for range 4 {
					ctx, end := context.WithTimeout(t.Context(), time.Minute)
					began := time.Now()
					all, err := run(ctx, app.Forwarding{})
					if took := time.Since(began); took > 50*time.Second || (err != nil) != (delivers == 0) {
						t.Errorf("%d delivered in %v, %v", all.Delivered, took, err)
					}
					delivered += all.Delivered
					end()
				}
				sent := 0
				for _, request := range f.requests {
					sent += len(request)
				}
				if delivered != delivers || delivers > 0 && sent != delivers {
					t.Errorf("%d sent, %d of them delivered", sent, delivered)
				}
			})
		})
	}
}
