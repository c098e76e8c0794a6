package runtime

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	template "ledger.example"
	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/table"
	"ledger.example/tests/setup"
)

// timeouts are the functions' time limits, as template.yaml sets them.
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

// gatewayMost is how long an HTTP API waits for a function (AWS, quotas of HTTP APIs: integration timeout).
const gatewayMost = 30 * time.Second

// A store that takes requests and never answers: each function answers by itself, with the time limit that
// template.yaml gives it, before Lambda would kill it and before the gateway gives up.
func TestAStoreThatNeverAnswers(t *testing.T) {
	t.Parallel()
	for folder, limit := range timeouts(t) {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			table := newTable(t, nil)
			if limit == 0 || (folder == command || folder == query) && limit >= gatewayMost {
				t.Fatalf("the time limit is %v", limit)
			}
			f := launch(t, folder, deployed(s.url, table))
			if folder == command {
				openBooks(f)
				// the definitions are known from here on
				f.must(http.StatusCreated, "POST", "/v1/transfers", transfer("t-0"))
			}
			s.silent()
			deadline := time.Now().Add(limit)
			events := map[string][]byte{projector: postings(2), lister: headers(2), sweeper: []byte(minute)}
			if event := events[folder]; event != nil {
				if folder == projector || folder == lister {
					deadline = time.Now().Add(5 * time.Second) // it uses all that it is given, but for a second
				}
				if a := f.await(f.offer(event, deadline)); !a.failed || !a.at.Before(deadline) {
					t.Errorf("answered %s, %v before its deadline", a.text, deadline.Sub(a.at))
				}
				return
			}
			event, status := request("GET", "/v1/accounts/jane", ""), http.StatusServiceUnavailable
			if folder == command {
				event, status = request("POST", "/v1/transfers", transfer("t-1")), http.StatusGatewayTimeout
			}
			r := replyOf(t, f.await(f.offer(event, deadline)))
			if r.Status != status || !r.At.Before(deadline) {
				t.Errorf("answered %d %s, %v before its deadline", r.Status, r.Body, deadline.Sub(r.At))
			}
			t.Logf("answered %d after %v of %v", r.Status, limit-deadline.Sub(r.At), limit)

			// The process lives on.
			s.holding(nil)
			if folder == command {
				f.must(http.StatusCreated, "POST", "/v1/transfers", transfer("t-1"))
			} else {
				f.must(http.StatusNotFound, "GET", "/v1/accounts/jane", "")
			}
		})
	}
}

// postings is a batch of the stream with n postings, each of an account of its own.
func postings(n int) []byte {
	return batch(n, func(i int) table.Key {
		return table.PostingKey("a"+strconv.Itoa(i), "USD", "2hWxyCXEg6UuyoQbkaYLRLjxbCy")
	})
}

// headers is a batch of the stream with n headers of transactions.
func headers(n int) []byte {
	return batch(n, func(i int) table.Key { return table.TransactionKey("t-" + strconv.Itoa(i)) })
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

// Lambda may leave less time than usual. What is left is enough to answer, or nothing is written.
func TestANearDeadline(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	environment := deployed(s.url, newTable(t, nil))
	f := launch(t, command, environment)
	openBooks(f)
	f.must(http.StatusCreated, "POST", "/v1/transfers", transfer("t-0")) // the definitions are known from here on
	s.silent()
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
		r := replyOf(t, f.await(f.offer(request("POST", "/v1/transfers", transfer("near-"+name)), deadline)))
		if r.Status != c.status || c.left > 0 && !r.At.Before(deadline) {
			t.Errorf("%s: answered %d %s, %v before its deadline", name, r.Status, r.Body, deadline.Sub(r.At))
		}
		if n := s.writes() - before; n != c.writes {
			t.Errorf("%s: %d writes were sent", name, n)
		}
	}
	s.holding(nil)
	// What had no time was not written: another body can have its id.
	f.must(http.StatusCreated, "POST", "/v1/transfers", strings.Replace(transfer("near-none"), `"1"`, `"2"`, 1))

	// A read ends by it, too.
	reader := launch(t, query, environment)
	s.silent()
	deadline := time.Now().Add(time.Second)
	if r := replyOf(t, reader.await(reader.offer(request("GET", "/v1/accounts/jane/summary", ""),
		deadline))); r.Status != http.StatusServiceUnavailable || !r.At.Before(deadline) {
		t.Errorf("answered %d %s, %v before its deadline", r.Status, r.Body, deadline.Sub(r.At))
	}
}

// One client, made once: what follows in the same process goes over the connections that there are.
func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	f := launch(t, command, with(deployed(s.url, newTable(t, nil)), "LEDGER_METRICS", "Ledger/books"))
	openBooks(f)
	for i := range 5 {
		f.must(http.StatusCreated, "POST", "/v1/transfers", transfer("t-"+strconv.Itoa(i)))
	}
	connections, requests := s.seen()
	if connections != 1 || len(requests) < 9 {
		t.Errorf("%d connections for %d requests", connections, len(requests))
	}
	if !f.output.has(`"TransactionsPosted":1`, `"requestId":"`, `"level":"INFO"`, "_aws", "Ledger/books") {
		t.Errorf("what was posted is not measured: %s", f.output)
	}
	// Signed with what the environment says: the region, the key, the session.
	for _, r := range requests {
		signed := r.Header.Get("Authorization")
		if !strings.Contains(signed, "Credential=AKID/") ||
			!strings.Contains(signed, "/eu-central-1/dynamodb/aws4_request") ||
			r.Header.Get("X-Amz-Security-Token") != "token" {
			t.Fatalf("%s is signed with %q", operation(r), signed)
		}
	}
}

// Who asks the process to end lets an invocation under way be answered; an idle process ends at once.
func TestSIGTERM(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	environment := deployed(s.url, newTable(t, nil))
	for _, folder := range functions {
		idle := launch(t, folder, environment)
		idle.invoke([]byte(`{"requestContext":{"http":{"method":"GET"}},"rawPath":"/healthz"}`), usualTime)
		idle.polled()
		idle.signal(syscall.SIGTERM)
		if status := idle.ended(); status != 0 {
			t.Errorf("%s: ended with %d: %s", folder, status, idle.output)
		}
	}

	f := launch(t, command, environment)
	openBooks(f)
	reached, release := make(chan struct{}, 10), make(chan struct{})
	s.holding(func(operation string) <-chan struct{} {
		if operation != "TransactWriteItems" {
			return nil
		}
		reached <- struct{}{}
		return release
	})
	f.accept = make(chan struct{})
	to := f.offer(request("POST", "/v1/transfers", transfer("t-1")), time.Now().Add(usualTime))
	<-reached
	f.signal(syscall.SIGTERM)
	goesOn := func(when string) {
		t.Helper()
		select {
		case <-f.exited:
			t.Fatal("cut off", when)
		case <-time.After(100 * time.Millisecond): // long enough to end, were it to do so
		}
	}
	goesOn("in the middle of an invocation")
	close(release)
	if r := replyOf(t, f.await(to)); r.Status != http.StatusCreated {
		t.Errorf("answered %d %s", r.Status, r.Body)
	}
	goesOn("before its answer was taken")
	close(f.accept)
	if status := f.ended(); status != 0 {
		t.Errorf("ended with %d: %s", status, f.output)
	}
}

// minute is what a schedule sends.
const minute = `{"version":"0","id":"1","detail-type":"Scheduled Event","source":"aws.events","detail":{}}`

// The sweeper ends what is due, whatever the schedule says, and logs what an alarm watches.
func TestSweeper(t *testing.T) {
	t.Parallel()
	table := newTable(t, nil)
	client := dynamolocal.DynamoDB(dynamoDB(t))
	setup.DueHold(t, client, table, "h-1", time.Minute)
	f := launch(t, sweeper, with(deployed(newStore(t).url, table), "LEDGER_METRICS", "Ledger/books"))
	for _, expired := range []string{`"HoldsExpired":1`, `"HoldsExpired":0`} {
		if a := f.invoke([]byte(minute), usualTime); a.failed || !f.output.has(expired, `"ExpiryDelay":`) {
			t.Errorf("answered %s; the log: %s", a.text, f.output)
		}
	}
	// With older forms only nothing is ended: that must not look as if nothing was due.
	setup.DueHold(t, client, table, "h-2", time.Minute)
	f = launch(t, sweeper, with(deployed(newStore(t).url, table), "LEDGER_NEWEST_FORM", "2"))
	if a := f.invoke([]byte(minute), usualTime); a.failed || !f.output.has(`"failed":1`) || !f.output.has("NewestForm is 2") {
		t.Errorf("answered %s; the log: %s", a.text, f.output)
	}
}

// An event that no function can take fails, and the process lives on. The sweeper looks at none.
func TestPoison(t *testing.T) {
	t.Parallel()
	environment := deployed(newStore(t).url, newTable(t, nil))
	for _, folder := range []string{command, query, projector, lister} {
		f := launch(t, folder, environment)
		for _, event := range []string{``, `{`, `[]`, `{"version":2,"headers":[],"Records":"text"}`} {
			if a := f.invoke([]byte(event), usualTime); !a.failed {
				t.Errorf("%s: %q answered %s", folder, event, a.text)
			}
		}
	}
}
