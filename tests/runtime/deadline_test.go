package runtime

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	template "ledger.example"
	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/table"
	"ledger.example/tests/harness/setup"
)

// timeouts returns the functions' timeouts in template.yaml.
func timeouts(t *testing.T) map[string]time.Duration {
	t.Helper()
	var stack struct {
		Resources map[string]struct {
			Properties struct {
				Timeout int `yaml:"Timeout"`
			} `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(template.YAML, &stack); err != nil {
		t.Fatal(err)
	}
	limits := make(map[string]time.Duration)
	for folder, name := range map[string]string{command: "CommandFunction", query: "QueryFunction",
		projector: "ProjectorFunction", lister: "ListerFunction", sweeper: "SweeperFunction"} {
		limits[folder] = time.Duration(stack.Resources[name].Properties.Timeout) * time.Second
	}
	return limits
}

// gatewayTimeout is the maximum integration timeout of an HTTP API (AWS, quotas of HTTP APIs).
const gatewayTimeout = 30 * time.Second

// If the store never answers, each function must answer before its timeout in template.yaml, at which Lambda would kill
// it, and before the gateway's timeout.
func TestStoreThatNeverAnswers(t *testing.T) {
	t.Parallel()
	for folder, limit := range timeouts(t) {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			table := newTable(t, nil)
			if limit == 0 || (folder == command || folder == query) && limit >= gatewayTimeout {
				t.Fatalf("the time limit is %v", limit)
			}
			f := launch(t, folder, deployedEnvironment(s.url, table))
			if folder == command {
				openBooks(f)
				// fills the caches of definitions
				f.must(http.StatusCreated, "POST", "/v1/transfers", transfer("t-0"))
			}
			s.stopAnswering()
			deadline := time.Now().Add(limit)
			events := map[string][]byte{projector: postings(2), lister: headers(2), sweeper: []byte(scheduleEvent)}
			if event := events[folder]; event != nil {
				if folder == projector || folder == lister {
					deadline = time.Now().Add(5 * time.Second) // it uses its whole time but for a second
				}
				if a := f.await(f.startInvocation(event, deadline)); !a.failed || !a.at.Before(deadline) {
					t.Errorf("answered %s, %v before its deadline", a.text, deadline.Sub(a.at))
				}
				return
			}
			event, status := request("GET", "/v1/accounts/jane", ""), http.StatusServiceUnavailable
			if folder == command {
				event, status = request("POST", "/v1/transfers", transfer("t-1")), http.StatusGatewayTimeout
			}
			r := replyOf(t, f.await(f.startInvocation(event, deadline)))
			if r.Status != status || !r.At.Before(deadline) {
				t.Errorf("answered %d %s, %v before its deadline", r.Status, r.Body, deadline.Sub(r.At))
			}
			t.Logf("answered %d after %v of %v", r.Status, limit-deadline.Sub(r.At), limit)

			// The process serves the next invocation.
			s.setHold(nil)
			if folder == command {
				f.must(http.StatusCreated, "POST", "/v1/transfers", transfer("t-1"))
			} else {
				f.must(http.StatusNotFound, "GET", "/v1/accounts/jane", "")
			}
		})
	}
}

// postings returns an event of the stream with n postings, each in another account.
func postings(n int) []byte {
	return batch(n, func(i int) table.Key {
		return table.Posting.Key("a"+strconv.Itoa(i), "USD", "2hWxyCXEg6UuyoQbkaYLRLjxbCy")
	})
}

// headers returns an event of the stream with n headers of transactions.
func headers(n int) []byte {
	return batch(n, func(i int) table.Key { return table.Transaction.Key("t-" + strconv.Itoa(i)) })
}

func batch(n int, key func(i int) table.Key) []byte {
	var records []any
	for i := range n {
		records = append(records, map[string]any{
			"eventName": "INSERT", "eventSource": "aws:dynamodb",
			"dynamodb": map[string]any{
				"SequenceNumber": strconv.Itoa(100000000000000000 + i),
				"Keys": map[string]any{
					"PK": map[string]string{"S": key(i).PK},
					"SK": map[string]string{"S": key(i).SK},
				},
			},
		})
	}
	text, err := json.Marshal(map[string]any{"Records": records})
	if err != nil {
		panic(err)
	}
	return text
}

// With little time left, a command still answers before the deadline. With too little time for an answer, it writes
// nothing.
func TestNearDeadline(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	environment := deployedEnvironment(s.url, newTable(t, nil))
	f := launch(t, command, environment)
	openBooks(f)
	f.must(http.StatusCreated, "POST", "/v1/transfers", transfer("t-0")) // fills the caches
	s.stopAnswering()
	for name, c := range map[string]struct {
		left   time.Duration
		status int
		writes int
	}{
		"some": {2500 * time.Millisecond, http.StatusGatewayTimeout, 1},
		"none": {300 * time.Millisecond, http.StatusServiceUnavailable, 0},
		"past": {-time.Second, http.StatusServiceUnavailable, 0},
	} {
		before := s.writes()
		deadline := time.Now().Add(c.left)
		r := replyOf(t, f.await(f.startInvocation(request("POST", "/v1/transfers", transfer("near-"+name)), deadline)))
		if r.Status != c.status || c.left > 0 && !r.At.Before(deadline) {
			t.Errorf("%s: answered %d %s, %v before its deadline", name, r.Status, r.Body, deadline.Sub(r.At))
		}
		if n := s.writes() - before; n != c.writes {
			t.Errorf("%s: %d writes were sent", name, n)
		}
	}
	s.setHold(nil)
	// The transfer without time was not written, so its id can be used with another body.
	f.must(http.StatusCreated, "POST", "/v1/transfers", strings.Replace(transfer("near-none"), `"1"`, `"2"`, 1))

	// A read answers before its deadline, too.
	reader := launch(t, query, environment)
	s.stopAnswering()
	deadline := time.Now().Add(time.Second)
	if r := replyOf(t, reader.await(reader.startInvocation(request("GET", "/v1/accounts/jane/summary", ""),
		deadline))); r.Status != http.StatusServiceUnavailable || !r.At.Before(deadline) {
		t.Errorf("answered %d %s, %v before its deadline", r.Status, r.Body, deadline.Sub(r.At))
	}
}

// A process creates its client once, so later invocations reuse its connections.
func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	f := launch(t, command, with(deployedEnvironment(s.url, newTable(t, nil)), "LEDGER_METRICS", "Ledger/books"))
	openBooks(f)
	for i := range 5 {
		f.must(http.StatusCreated, "POST", "/v1/transfers", transfer("t-"+strconv.Itoa(i)))
	}
	connections, requests := s.observed()
	if connections != 1 || len(requests) < 9 {
		t.Errorf("%d connections for %d requests", connections, len(requests))
	}
	if !f.output.waitFor(`"TransactionsPosted":1`, `"requestId":"`, `"level":"INFO"`, "_aws", "Ledger/books") {
		t.Errorf("no metric of the posted transactions: %s", f.output)
	}
	// Requests are signed with the region, key and session token of the environment.
	for _, r := range requests {
		signed := r.Header.Get("Authorization")
		if !strings.Contains(signed, "Credential=AKID/") ||
			!strings.Contains(signed, "/eu-central-1/dynamodb/aws4_request") ||
			r.Header.Get("X-Amz-Security-Token") != "token" {
			t.Fatalf("%s is signed with %q", operation(r), signed)
		}
	}
}

// After SIGTERM, a process first answers its invocation. An idle process exits at once.
func TestSIGTERM(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	environment := deployedEnvironment(s.url, newTable(t, nil))
	for _, folder := range functions {
		idle := launch(t, folder, environment)
		idle.invoke([]byte(`{"requestContext":{"http":{"method":"GET"}},"rawPath":"/healthz"}`), defaultTime)
		idle.waitForPoll()
		idle.signal(syscall.SIGTERM)
		if status := idle.waitForExit(); status != 0 {
			t.Errorf("%s: ended with %d: %s", folder, status, idle.output)
		}
	}

	f := launch(t, command, environment)
	openBooks(f)
	reached, release := make(chan struct{}, 10), make(chan struct{})
	s.setHold(func(operation string) <-chan struct{} {
		if operation != "TransactWriteItems" {
			return nil
		}
		reached <- struct{}{}
		return release
	})
	f.accept = make(chan struct{})
	to := f.startInvocation(request("POST", "/v1/transfers", transfer("t-1")), time.Now().Add(defaultTime))
	select {
	case <-reached:
	case a := <-to:
		t.Fatalf("answered %s without a write", a.text)
	case <-time.After(timeout):
		t.Fatalf("sent no write: %s", f.output)
	}
	f.signal(syscall.SIGTERM)
	wantRunning := func(when string) {
		t.Helper()
		select {
		case <-f.exited:
			t.Fatal("the process exited", when)
		case <-time.After(100 * time.Millisecond): // enough time to exit
		}
	}
	wantRunning("during an invocation")
	close(release)
	if r := replyOf(t, f.await(to)); r.Status != http.StatusCreated {
		t.Errorf("answered %d %s", r.Status, r.Body)
	}
	wantRunning("before its answer was accepted")
	close(f.accept)
	if status := f.waitForExit(); status != 0 {
		t.Errorf("ended with %d: %s", status, f.output)
	}
}

// scheduleEvent is the event that an EventBridge schedule sends.
const scheduleEvent = `{"version":"0","id":"1","detail-type":"Scheduled Event","source":"aws.events","detail":{}}`

// The sweeper ends due holds, and logs the metrics that an alarm watches.
func TestSweeper(t *testing.T) {
	t.Parallel()
	table := newTable(t, nil)
	client := dynamolocal.DynamoDB(dynamoDB(t))
	setup.DueHold(t, client, table, "h-1", time.Minute)
	f := launch(t, sweeper, with(deployedEnvironment(newStore(t).url, table), "LEDGER_METRICS", "Ledger/books"))
	if a := f.invoke([]byte(scheduleEvent), defaultTime); a.failed ||
		!f.output.waitFor(`"HoldsExpired":1`, `"ExpiryDelay":`) {
		t.Errorf("answered %s; the log: %s", a.text, f.output)
	}
}

// The forwarder sends events to the endpoint of EventBridge, signed, and stores its cursor. It continues there in the
// next invocation, and begins again at a time that an invocation names.
func TestForwarder(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var sent []string
	bus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Entries []struct{ Detail, EventBusName, Source, DetailType string }
		}
		if r.Header.Get("X-Amz-Target") == "AWSEvents.DescribeEventBus" {
			_, _ = io.WriteString(w, `{"Name":"events"}`)
			return
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Entries) != 1 ||
			r.Header.Get("X-Amz-Target") != "AWSEvents.PutEvents" ||
			!strings.Contains(r.Header.Get("Authorization"), "/eu-central-1/events/") {
			t.Errorf("%+v, %v, %v", in, r.Header, err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, in.Entries[0].EventBusName+" "+in.Entries[0].DetailType+" "+in.Entries[0].Source)
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		_, _ = io.WriteString(w, `{"FailedEntryCount":0,"Entries":[{"EventId":"1"}]}`)
	}))
	t.Cleanup(bus.Close)
	table := newTable(t, nil)
	setup.Listed(t, dynamolocal.DynamoDB(dynamoDB(t)), table, time.Minute, "jane")
	environment := with(deployedEnvironment(newStore(t).url, table), "LEDGER_METRICS", "Ledger/books",
		"AWS_ENDPOINT_URL_EVENTBRIDGE", bus.URL)
	f := launch(t, forwarder, environment)
	for _, event := range []string{scheduleEvent, scheduleEvent, `{"rewind":"2026-01-01T00:00:00Z"}`} {
		if a := f.invoke([]byte(event), defaultTime); a.failed || !f.output.waitFor(`"ForwardingLag":0`) {
			t.Errorf("answered %s; the log: %s", a.text, f.output)
		}
	}
	for _, event := range []string{`{"rewind":"yesterday"}`, `{"rewind":"2126-01-01T00:00:00Z"}`, `[]`} {
		if a := f.invoke([]byte(event), defaultTime); !a.failed {
			t.Errorf("%s: answered %s", event, a.text)
		}
	}
	// A source that was given is another one than the table's name, which a restore changes.
	f = launch(t, forwarder, with(environment, "LEDGER_EVENT_SOURCE", "ledger/books"))
	if a := f.invoke([]byte(`{"rewind":"2026-01-01T00:00:00Z"}`), defaultTime); a.failed {
		t.Errorf("answered %s; the log: %s", a.text, f.output)
	}
	want := "events account.opened ledger/"
	if !slices.Equal(sent, []string{want + table, want + table, want + "books"}) {
		t.Errorf("sent %q", sent)
	}
}

// An invocation with a malformed event fails, and the process goes on. The sweeper ignores its event.
func TestMalformedEvents(t *testing.T) {
	t.Parallel()
	environment := deployedEnvironment(newStore(t).url, newTable(t, nil))
	for _, folder := range []string{command, query, projector, lister} {
		f := launch(t, folder, environment)
		for _, event := range []string{``, `{`, `[]`, `{"version":2,"headers":[],"Records":"text"}`} {
			if a := f.invoke([]byte(event), defaultTime); !a.failed {
				t.Errorf("%s: %q answered %s", folder, event, a.text)
			}
		}
	}
}
