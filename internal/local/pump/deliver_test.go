package pump

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

// The handler's answer decides which records are redelivered, and which become dead letters.
func TestDelivery(t *testing.T) {
	a := items("a", 12)
	halved := [][]string{a[:2], a[:1], a[1:2]}
	reportFirst := func(numbers ...string) handling { // in the first invocation only
		return func(_ context.Context, n int, _ []string) (response, error) {
			if n == 1 {
				return failed(numbers...), nil
			}
			return response{}, nil
		}
	}
	// oneByOne accepts the first record of a batch and reports the second.
	oneByOne := func(_ context.Context, n int, items []string) (response, error) {
		if len(items) == 1 {
			return response{}, nil
		}
		return failed(sequence(n + 1)), nil
	}
	for name, c := range map[string]struct {
		records, batch, retries int
		handle                  handling
		want                    [][]string
		dead                    [][]string
	}{
		"all is taken": {records: 10, batch: 4, want: [][]string{a[:4], a[4:8], a[8:10]}},
		"halving uses up no retry": {
			12, 8, 0, failOn("a6"),
			[][]string{a[:8], a[:4], a[4:8], a[4:6], a[4:5], a[5:6], a[6:8], a[8:]}, [][]string{a[5:6]},
		},
		"one record is retried": {
			6, 2, 2, failOn("a3"),
			[][]string{a[:2], a[2:4], a[2:3], a[2:3], a[2:3], a[3:4], a[4:6]}, [][]string{a[2:3]},
		},
		"reported failures move the checkpoint": {
			10, 8, 0, reportFirst(sequence(6), sequence(3), sequence(8)), [][]string{a[:8], a[2:8], a[8:10]}, nil,
		},
		"moving it uses up no retry": {4, 4, 0, oneByOne, [][]string{a[:4], a[1:4], a[2:4], a[3:4]}, nil},
		"what is left has its own retries": {
			4, 4, 1, func(_ context.Context, n int, _ []string) (response, error) {
				return [...]response{failed(sequence(1)), failed(sequence(2)), failed(sequence(2)), {}}[n-1], nil
			}, [][]string{a[:4], a[:4], a[1:4], a[1:4]}, nil,
		},
		"a reported first record is never halved": {
			4, 4, 1, func(context.Context, int, []string) (response, error) { return failed(sequence(1)), nil },
			[][]string{a[:4], a[:4]}, [][]string{a[:4]},
		},
		// An identifier that is not in the batch fails the whole batch.
		"an empty identifier":   {2, 4, 2, reportFirst(sequence(2), ""), halved, nil},
		"an unknown identifier": {2, 4, 2, reportFirst(sequence(2), sequence(77)), halved, nil},
		"the id of an event":    {2, 4, 2, reportFirst(sequence(2), "event-a2"), halved, nil},
		"one of another batch": {
			6, 4, 2, func(_ context.Context, n int, _ []string) (response, error) {
				if n == 2 {
					return failed(sequence(6), sequence(1)), nil
				}
				return response{}, nil
			}, [][]string{a[:4], a[4:6], a[4:5], a[5:6]}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			change := func(s *Settings) { s.BatchSize, s.MaximumRetryAttempts = c.batch, c.retries }
			simulate(t, change, func(t *testing.T, r *rig) {
				r.put("A", a[:c.records]...)
				r.handle = c.handle
				r.start()
				advance(time.Minute)
				if !r.pump.CaughtUp(time.Now().Add(-time.Second)) {
					t.Error("not caught up")
				}
				r.stop(t)
				r.want(t, c.want...)
				r.wantDeadLetters(t, retriesExhausted, c.dead...)
			})
		})
	}
}

// A dead letter has the cause of the failure, and the event that the handler got.
func TestDeadLetter(t *testing.T) {
	simulate(t, nil, func(t *testing.T, r *rig) {
		r.put("A", "a1", "a2")
		r.handle = failOn("a2")
		written := time.Now()
		r.runFor(t, time.Minute)
		letters := r.deadLetters(t)
		if len(letters) != 1 {
			t.Fatalf("dead letters: %+v", letters)
		}
		d := letters[0]
		info := d.BatchInfo
		if d.RequestContext.ApproximateInvokeCount != 4 || d.RequestContext.RequestID == "" || d.Version != "1.0" ||
			d.ResponseContext.FunctionError != "cannot take a2" || info.ShardID != "A" || info.StreamARN != testARN ||
			info.StartSequenceNumber != sequence(2) || info.EndSequenceNumber != sequence(2) {
			t.Errorf("dead letter %+v", d)
		}
		if at, err := time.Parse(deadLetterTime, d.Timestamp); err != nil || at.Before(written) {
			t.Errorf("timestamp %q: %v", d.Timestamp, err)
		}
		var kept lambdaevents.DynamoDBEvent
		if err := json.Unmarshal([]byte(d.Payload), &kept); err != nil {
			t.Fatal(err)
		}
		for _, value := range []string{
			`"Cost":{"N":"150000"}`, `"PK":{"S":"a2"}`, `"Map":{"M":{"None":{"NULL":true}}}`, `"List":{"L":[{"BOOL":true}]}`,
		} {
			if !strings.Contains(d.Payload, value) {
				t.Errorf("no %s in %s", value, d.Payload)
			}
		}
		want := r.events[1]
		created := &kept.Records[0].Change.ApproximateCreationDateTime
		if created.Equal(want.Change.ApproximateCreationDateTime.Time) {
			*created = want.Change.ApproximateCreationDateTime // the location may differ
		}
		if !reflect.DeepEqual(kept.Records[0], want) {
			t.Errorf("kept      %+v\ndelivered %+v", kept.Records[0], want)
		}
	})
}

// A panic and a late answer are failures, and each invocation has a deadline and a request id.
func TestInvocations(t *testing.T) {
	for name, c := range map[string]struct {
		handle handling
		says   string
	}{
		"panic": {func(context.Context, int, []string) (response, error) { panic("bad index") }, "bad index"},
		"late":  {takeFor(11 * time.Second), "longer than 10s"},
		"deadline kept": {func(ctx context.Context, _ int, _ []string) (response, error) {
			<-ctx.Done()
			return response{}, ctx.Err()
		}, "deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			change := func(s *Settings) { s.MaximumRetryAttempts, s.Timeout = 1, 10*time.Second }
			simulate(t, change, func(t *testing.T, r *rig) {
				r.put("A", "a1")
				ids := make(map[string]bool)
				r.handle = func(ctx context.Context, n int, items []string) (response, error) {
					lc, _ := lambdacontext.FromContext(ctx)
					ids[lc.AwsRequestID] = true
					return c.handle(ctx, n, items)
				}
				r.runFor(t, time.Minute)
				r.want(t, []string{"a1"}, []string{"a1"})
				if len(ids) != 2 || ids[""] {
					t.Errorf("request ids %v", ids)
				}
				got := r.deadLetters(t)
				if len(got) != 1 || !strings.Contains(got[0].ResponseContext.FunctionError, c.says) {
					t.Errorf("dead letters: %+v", got)
				}
			})
		})
	}
}
