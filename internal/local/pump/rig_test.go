package pump

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
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

type (
	response = lambdaevents.DynamoDBEventResponse
	// handling answers the nth invocation, starting at 1. items are the items of its batch.
	handling func(ctx context.Context, n int, items []string) (response, error)
)

// A rig runs a pump on a script, and records the batches that the handler gets.
type rig struct {
	*script
	pump   *Pump
	handle handling // nil: every batch succeeds
	log    log      // warnings and errors

	mu      sync.Mutex
	batches [][]string
	events  []lambdaevents.DynamoDBEventRecord
	times   []time.Time // of each batch

	cancel context.CancelFunc
	done   chan error
}

// simulate runs a test with a fake clock, on a stream with the shard A. By default batches have four records, there are
// two retries, and the window is long enough to batch all available records.
func simulate(t *testing.T, change func(*Settings), run func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		set := Settings{
			BatchSize: 4, Window: 50 * time.Millisecond, MaximumRetryAttempts: 2, Timeout: 10 * time.Minute,
		}
		if change != nil {
			change(&set)
		}
		r := &rig{script: newScript()}
		r.shard("A", "")
		var err error
		r.pump, err = New(Options{
			Stream: r.script, StreamARN: testARN, Handler: r.serve, Settings: set,
			DeadLetters: filepath.Join(t.TempDir(), "new", "dead-letters.jsonl"),
			Log:         slog.New(slog.NewTextHandler(&r.log, &slog.HandlerOptions{Level: slog.LevelWarn})),
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, r)
	})
}

func (r *rig) serve(ctx context.Context, e lambdaevents.DynamoDBEvent) (response, error) {
	items := make([]string, len(e.Records))
	for i, record := range e.Records {
		items[i] = record.Change.Keys["PK"].String()
	}
	r.mu.Lock()
	r.batches = append(r.batches, items)
	r.events = append(r.events, e.Records...)
	r.times = append(r.times, time.Now())
	handle, n := r.handle, len(r.batches)
	r.mu.Unlock()
	if handle == nil {
		return response{}, nil
	}
	return handle(ctx, n, items)
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

// advance advances the clock and waits until all goroutines are blocked.
func advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// runFor pumps for a time.
func (r *rig) runFor(t *testing.T, d time.Duration) {
	t.Helper()
	r.start()
	advance(d)
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

// items returns the names prefix1 to prefixN.
func items(prefix string, n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("%s%d", prefix, i+1))
	}
	return names
}

// sequence returns the sequence number of the nth record of a script.
func sequence(n int) string { return fmt.Sprintf("%021d", 100+n) }

func failed(sequenceNumbers ...string) response {
	var r response
	for _, n := range sequenceNumbers {
		r.BatchItemFailures = append(r.BatchItemFailures, lambdaevents.DynamoDBBatchItemFailure{ItemIdentifier: n})
	}
	return r
}

// failOn fails a batch that has the item.
func failOn(poison string) handling {
	return func(_ context.Context, _ int, items []string) (response, error) {
		if slices.Contains(items, poison) {
			return response{}, errors.New("cannot take " + poison)
		}
		return response{}, nil
	}
}

// takeFor returns a handling that takes d for each batch.
func takeFor(d time.Duration) handling {
	return func(context.Context, int, []string) (response, error) {
		time.Sleep(d)
		return response{}, nil
	}
}

// A deadLetter is one line of the dead letter file.
type deadLetter struct {
	RequestContext struct {
		RequestID              string `json:"requestId"`
		Condition              string `json:"condition"`
		ApproximateInvokeCount int    `json:"approximateInvokeCount"`
	} `json:"requestContext"`
	ResponseContext struct {
		FunctionError string `json:"functionError,omitempty"`
	} `json:"responseContext"`
	Version   string `json:"version"`
	Timestamp string `json:"timestamp"`
	BatchInfo struct {
		ShardID             string `json:"shardId"`
		StartSequenceNumber string `json:"startSequenceNumber"`
		EndSequenceNumber   string `json:"endSequenceNumber"`
		ArrivalOfFirst      string `json:"approximateArrivalOfFirstRecord"`
		ArrivalOfLast       string `json:"approximateArrivalOfLastRecord"`
		BatchSize           int    `json:"batchSize"`
		StreamARN           string `json:"streamArn"`
	} `json:"DDBStreamBatchInfo"`
	// Payload is the event in JSON: {"Records":[...]}.
	Payload string `json:"payload"`
}

// deadLetters reads the dead letter file.
func (r *rig) deadLetters(t *testing.T) []deadLetter {
	t.Helper()
	data, err := os.ReadFile(r.pump.options.DeadLetters)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var letters []deadLetter
	for line := range strings.Lines(string(data)) {
		var d deadLetter
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		letters = append(letters, d)
	}
	return letters
}

// wantDeadLetters compares the items of each dead letter, and the condition of all of them.
func (r *rig) wantDeadLetters(t *testing.T, condition string, want ...[]string) {
	t.Helper()
	var got [][]string
	for _, d := range r.deadLetters(t) {
		var e lambdaevents.DynamoDBEvent
		if err := json.Unmarshal([]byte(d.Payload), &e); err != nil {
			t.Fatal(err)
		}
		var items []string
		for _, record := range e.Records {
			items = append(items, record.Change.NewImage["PK"].String())
		}
		if got = append(got, items); d.RequestContext.Condition != condition || d.BatchInfo.BatchSize != len(items) {
			t.Errorf("dead letter %+v, want condition %s", d, condition)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("dead letters %q, want %q", got, want)
	}
}

// log is an io.Writer for a logger. It is safe for concurrent use.
type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// drain returns the text logged since the last call.
func (l *log) drain() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return l.text.String()
}
