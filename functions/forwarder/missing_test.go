package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"

	"ledger.example/functions/app"
	"ledger.example/internal/table"
	"ledger.example/tests/harness/setup"
	"ledger.example/tests/harness/system"
)

// bridge answers as EventBridge does. PutEvents is answered 200 with ids and no failures, also for a bus that does not
// exist: its events are lost. Only DescribeEventBus says that there is no such bus.
type bridge struct {
	mu     sync.Mutex
	exists bool
	denied bool // the role may not DescribeEventBus
	onPut  func()
	asked  int // times, for the bus
	put    int // entries
	took   int // entries while the bus existed
}

func (b *bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	refuse := func(code, message string) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"__type":%q,"message":%q}`, code, message)
	}
	switch r.Header.Get("X-Amz-Target") {
	case "AWSEvents.DescribeEventBus":
		b.asked++
		switch {
		case b.denied:
			refuse("AccessDeniedException", "not authorized to perform: events:DescribeEventBus")
		case !b.exists:
			refuse("ResourceNotFoundException", "Event bus events does not exist.")
		default:
			fmt.Fprint(w, `{"Name":"events","Arn":"arn:aws:events:us-east-1:123456789012:event-bus/events"}`)
		}
	case "AWSEvents.PutEvents":
		var in struct{ Entries []json.RawMessage }
		_ = json.NewDecoder(r.Body).Decode(&in)
		if b.onPut != nil {
			b.onPut()
		}
		b.put += len(in.Entries)
		if b.exists {
			b.took += len(in.Entries)
		}
		fmt.Fprint(w, `{"FailedEntryCount":0,"Entries":[`+
			strings.TrimSuffix(strings.Repeat(`{"EventId":"11710aed-b79e-4468-a20b-bb3c0c3b4860"},`, len(in.Entries)), ",")+`]}`)
	default:
		refuse("UnknownOperationException", r.Header.Get("X-Amz-Target"))
	}
}

// A bus that does not exist takes every event, as AWS answers it. The run fails, says so, and moves no cursor. Once the
// bus exists, it gets every event.
func TestMissingBus(t *testing.T) {
	const events = 250
	accounts := make([]string, events)
	for i := range accounts {
		accounts[i] = fmt.Sprint("a-", i)
	}
	for name, c := range map[string]struct {
		is      *bridge
		mends   func(*bridge)
		says    string
		lostPut int // at most so many entries are put before the run finds out
	}{
		"missing": {&bridge{}, func(b *bridge) { b.exists = true }, "the bus events does not exist", 0},
		"denied": {
			&bridge{exists: true, denied: true}, func(b *bridge) { b.denied = false }, "events:DescribeEventBus", 0,
		},
		"deleted meanwhile": {
			&bridge{exists: true}, func(b *bridge) { b.exists, b.onPut = true, nil }, "the bus events does not exist", 100,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := system.New(t)
			setup.Listed(t, s.Plain, s.Table, time.Hour, accounts...)
			if name == "deleted meanwhile" {
				c.is.onPut = func() { c.is.exists = false }
			}
			server := httptest.NewServer(c.is)
			defer server.Close()
			b := &bus{name: "events", source: "ledger/books", client: eventbridge.New(eventbridge.Options{
				Region: "us-east-1", BaseEndpoint: &server.URL, RetryMaxAttempts: 1,
				Credentials: aws.NewCredentialsCache(credentials.NewStaticCredentialsProvider("id", "secret", "")),
			})}
			run := s.Service.Forward("events", b.deliver)
			all, err := run(t.Context(), app.Forwarding{})
			if err == nil || !strings.Contains(err.Error(), c.says) || all.Delivered != 0 {
				t.Errorf("%d delivered to no bus, %v", all.Delivered, err)
			}
			if item := s.Contents()[table.Forwarded.Key("events")]; item != nil {
				t.Errorf("the cursor moved: %v", item)
			}
			if c.is.put > c.lostPut {
				t.Errorf("%d events were put", c.is.put)
			}
			if log := s.Log.String(); !strings.Contains(log, `"level":"ERROR"`) && !strings.Contains(log, "level=ERROR") {
				t.Errorf("the log has no error: %s", log)
			}
			c.mends(c.is)
			c.is.took, c.is.asked = 0, 0
			all, err = run(t.Context(), app.Forwarding{})
			if err != nil || all.Delivered != events || c.is.took != events {
				t.Errorf("%d delivered, %d taken, %v", all.Delivered, c.is.took, err)
			}
			if pages := 3; c.is.asked > pages+1 {
				t.Errorf("asked %d times for the bus", c.is.asked)
			}
		})
	}
}
