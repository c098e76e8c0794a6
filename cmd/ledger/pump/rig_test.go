package pump

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
)

// rig runs a pump over a script, and keeps what the handler was given.
type rig struct {
	*script
	pump *Pump
	// handle decides about a batch, given as its items; nil takes everything.
	handle func(ctx context.Context, items []string) (lambdaevents.DynamoDBEventResponse, error)

	mu      sync.Mutex
	batches [][]string
	events  []lambdaevents.DynamoDBEventRecord
	times   []time.Time // when each batch came
	aside   string

	cancel context.CancelFunc
	done   chan error
}

// settings to begin a test with: batches of four, two retries, and a window in
// which the records that are there come together.
func settings() Settings {
	return Settings{BatchSize: 4, Window: 50 * time.Millisecond, MaximumRetryAttempts: 2, ParallelizationFactor: 1,
		ReportBatchItemFailures: true}
}

func newRig(t *testing.T, s *script, set Settings) *rig {
	t.Helper()
	r := &rig{script: s, aside: filepath.Join(t.TempDir(), "aside.jsonl")}
	p, err := New(Options{Stream: s, StreamARN: testARN, Handler: r.serve, Settings: set, SetAside: r.aside})
	if err != nil {
		t.Fatal(err)
	}
	r.pump = p
	return r
}

func (r *rig) serve(ctx context.Context, e lambdaevents.DynamoDBEvent) (lambdaevents.DynamoDBEventResponse, error) {
	items := make([]string, len(e.Records))
	for i, record := range e.Records {
		items[i] = record.Change.Keys["PK"].String()
	}
	r.mu.Lock()
	r.batches = append(r.batches, items)
	r.events = append(r.events, e.Records...)
	r.times = append(r.times, time.Now())
	handle := r.handle
	r.mu.Unlock()
	if handle == nil {
		return lambdaevents.DynamoDBEventResponse{}, nil
	}
	return handle(ctx, items)
}

func (r *rig) start() {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel, r.done = cancel, make(chan error, 1)
	go func() { r.done <- r.pump.Run(ctx) }()
}

func (r *rig) stop(t *testing.T) {
	t.Helper()
	r.cancel()
	if err := <-r.done; err != nil {
		t.Errorf("Run returned %v", err)
	}
}

// let lets a time pass, and everything happen that happens in it.
func let(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// runFor pumps for a time, long enough for everything to happen.
func (r *rig) runFor(t *testing.T, d time.Duration) {
	t.Helper()
	r.start()
	let(d)
	r.stop(t)
}

func (r *rig) want(t *testing.T, batches ...[]string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !reflect.DeepEqual(r.batches, batches) {
		t.Errorf("the handler got %q\nwant            %q", r.batches, batches)
	}
}

func (r *rig) stats(t *testing.T, want Stats) {
	t.Helper()
	if got := r.pump.Stats(); got != want {
		t.Errorf("stats %+v\nwant  %+v", got, want)
	}
}

// items are names prefix1 to prefixN.
func items(prefix string, n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("%s%d", prefix, i+1))
	}
	return names
}

// sequence is the sequence number of the nth record that a script was given.
func sequence(n int) string { return fmt.Sprintf("%021d", 100+n) }

func failed(sequenceNumbers ...string) lambdaevents.DynamoDBEventResponse {
	var r lambdaevents.DynamoDBEventResponse
	for _, n := range sequenceNumbers {
		r.BatchItemFailures = append(r.BatchItemFailures, lambdaevents.DynamoDBBatchItemFailure{ItemIdentifier: n})
	}
	return r
}

// failOn fails a batch that has one of the items.
func failOn(poison ...string) func(context.Context, []string) (lambdaevents.DynamoDBEventResponse, error) {
	return func(_ context.Context, items []string) (lambdaevents.DynamoDBEventResponse, error) {
		for _, p := range poison {
			if slices.Contains(items, p) {
				return lambdaevents.DynamoDBEventResponse{}, errors.New("cannot take " + p)
			}
		}
		return lambdaevents.DynamoDBEventResponse{}, nil
	}
}

// asides reads the file of what was set aside.
func (r *rig) asides(t *testing.T) []invocationRecord {
	t.Helper()
	data, err := os.ReadFile(r.aside)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var records []invocationRecord
	for line := range strings.Lines(string(data)) {
		var record invocationRecord
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		records = append(records, record)
	}
	return records
}

// payload is the items of the records in an invocation record.
func payload(t *testing.T, r invocationRecord) []string {
	t.Helper()
	var e lambdaevents.DynamoDBEvent
	if err := json.Unmarshal([]byte(r.Payload), &e); err != nil {
		t.Fatal(err)
	}
	var items []string
	for _, record := range e.Records {
		items = append(items, record.Change.NewImage["PK"].String())
	}
	return items
}
