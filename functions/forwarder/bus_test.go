package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"ledger.example/client"
	"ledger.example/internal/forward"
)

// fake is a bus. It refuses an entry whose detail contains refuse, and takes the others of the request.
type fake struct {
	refuse   string
	err      error
	requests [][]types.PutEventsRequestEntry
}

func (f *fake) PutEvents(_ context.Context, in *eventbridge.PutEventsInput, _ ...func(*eventbridge.Options)) (
	*eventbridge.PutEventsOutput, error,
) {
	f.requests = append(f.requests, in.Entries)
	out := &eventbridge.PutEventsOutput{}
	for i, e := range in.Entries {
		one := types.PutEventsResultEntry{EventId: aws.String(fmt.Sprint(i))}
		if f.refuse != "" && strings.Contains(*e.Detail, f.refuse) {
			one = types.PutEventsResultEntry{ErrorCode: aws.String("ThrottlingException"), ErrorMessage: aws.String("slow down")}
			out.FailedEntryCount++
		}
		out.Entries = append(out.Entries, one)
	}
	return out, f.err
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
	b := bus{client: f, name: "events", source: "ledger/books"}
	e := entries(1, 1)[0]
	if n, err := b.deliver(t.Context(), []client.JournalEntry{e}); n != 1 || err != nil {
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
		b := bus{client: f, name: "events", source: "ledger/books"}
		all := entries(c.n, c.bytes)
		n, err := b.deliver(t.Context(), all)
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

// What stands before the first refused entry was delivered, although the bus took later ones too.
func TestPartialFailures(t *testing.T) {
	f := &fake{refuse: "t-013/"}
	b := bus{client: f, name: "events"}
	n, err := b.deliver(t.Context(), entries(30, 1))
	if n != 13 || err == nil || !strings.Contains(err.Error(), "ThrottlingException: slow down") || len(f.requests) != 2 {
		t.Errorf("%d delivered in %d requests, %v", n, len(f.requests), err)
	}
	f.err = errors.New("no answer")
	if n, err := b.deliver(t.Context(), entries(30, 1)); n != 0 || !errors.Is(err, f.err) {
		t.Errorf("%d delivered, %v", n, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	f = &fake{}
	if n, err := (bus{client: f}).deliver(ctx, entries(30, 1)); n != 10 || err != nil || len(f.requests) != 1 {
		t.Errorf("%d delivered in %d requests, %v", n, len(f.requests), err)
	}
}
