package pump

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

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

func TestAFailedBatchIsBisected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.put("A", items("a", 12)...)
		set := settings()
		set.BatchSize, set.BisectBatchOnFunctionError, set.MaximumRetryAttempts = 8, true, 0
		r := newRig(t, s, set)
		r.handle = failOn("a6")
		r.runFor(t, time.Minute)
		a := items("a", 12)
		// Halving uses up no retry: with none allowed, only the record that
		// cannot be taken is given up.
		r.want(t, a[:8], a[:4], a[4:8], a[4:6], a[4:5], a[5:6], a[6:8], a[8:])
		r.stats(t, Stats{Records: 12, Delivered: 11, SetAside: 1, Invocations: 8, Failures: 4, Bisected: 3, ShardsReading: 1})
		if got := r.asides(t); len(got) != 1 || !slices.Equal(payload(t, got[0]), a[5:6]) {
			t.Errorf("set aside: %+v", got)
		}
	})
}

func TestAPoisonRecordIsSetAsideAndTheShardGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.put("A", items("a", 6)...)
		set := settings()
		set.BatchSize, set.BisectBatchOnFunctionError, set.MaximumRetryAttempts = 2, true, 2
		r := newRig(t, s, set)
		r.handle = failOn("a3")
		written := time.Now()
		r.runFor(t, time.Minute)
		a := items("a", 6)
		r.want(t, a[:2], a[2:4], a[2:3], a[2:3], a[2:3], a[3:4], a[4:])
		r.stats(t, Stats{Records: 6, Delivered: 5, SetAside: 1, Invocations: 7, Failures: 4, Retries: 2, Bisected: 1, ShardsReading: 1})

		got := r.asides(t)
		if len(got) != 1 {
			t.Fatalf("set aside: %+v", got)
		}
		record := got[0]
		info := record.BatchInfo
		if record.RequestContext.Condition != "RetryAttemptsExhausted" || record.RequestContext.ApproximateInvokeCount != 4 ||
			record.RequestContext.RequestID == "" || record.ResponseContext.FunctionError != "cannot take a3" || record.Version != "1.0" ||
			info.ShardID != "A" || info.StreamARN != testARN || info.BatchSize != 1 ||
			info.StartSequenceNumber != sequence(3) || info.EndSequenceNumber != sequence(3) {
			t.Errorf("record %+v", record)
		}
		if at, err := time.Parse(invocationTime, record.Timestamp); err != nil || at.Before(written) {
			t.Errorf("timestamp %q: %v", record.Timestamp, err)
		}
		// The record is whole: the handler can be given it again.
		var kept lambdaevents.DynamoDBEvent
		if err := json.Unmarshal([]byte(record.Payload), &kept); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(r.events, func(e lambdaevents.DynamoDBEventRecord) bool { return e.Change.SequenceNumber == sequence(3) })
		want := r.events[i]
		gotTime, wantTime := kept.Records[0].Change.ApproximateCreationDateTime, want.Change.ApproximateCreationDateTime
		if !gotTime.Equal(wantTime.Time) {
			t.Errorf("kept with time %s, delivered with %s", gotTime, wantTime)
		}
		kept.Records[0].Change.ApproximateCreationDateTime = wantTime
		if !reflect.DeepEqual(kept.Records[0], want) {
			t.Errorf("kept      %+v\ndelivered %+v", kept.Records[0], want)
		}
	})
}

func TestWithoutBisectingTheWholeBatchIsSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.put("A", items("a", 5)...)
		r := newRig(t, s, settings())
		r.handle = failOn("a3")
		r.runFor(t, time.Minute)
		a := items("a", 5)
		r.want(t, a[:4], a[:4], a[:4], a[4:])
		got := r.asides(t)
		if len(got) != 1 || !slices.Equal(payload(t, got[0]), a[:4]) || got[0].BatchInfo.BatchSize != 4 {
			t.Errorf("set aside: %+v", got)
		}
		r.stats(t, Stats{Records: 5, Delivered: 1, SetAside: 4, Invocations: 4, Failures: 3, Retries: 2, ShardsReading: 1})
	})
}

func TestEndlessRetriesBlockTheShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.put("A", items("a", 5)...)
		set := settings()
		set.MaximumRetryAttempts = -1
		r := newRig(t, s, set)
		r.handle = failOn("a3")
		r.runFor(t, time.Hour)
		got := r.pump.Stats()
		if got.Delivered != 0 || got.SetAside != 0 {
			t.Errorf("stats %+v", got)
		}
		// The pauses grow to maxBackoff, of which at least half is waited.
		if most := int64(time.Hour/(maxBackoff/2)) + 10; got.Retries < 1000 || got.Retries > most {
			t.Errorf("%d retries in an hour, want 1,000 to %d", got.Retries, most)
		}
	})
}

func TestReportedFailuresMoveTheCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.put("A", items("a", 10)...)
		set := settings()
		set.BatchSize = 8
		r := newRig(t, s, set)
		first := true
		r.handle = func(_ context.Context, items []string) (lambdaevents.DynamoDBEventResponse, error) {
			if first {
				first = false
				return failed(sequence(6), sequence(3), sequence(8)), nil
			}
			return lambdaevents.DynamoDBEventResponse{}, nil
		}
		r.runFor(t, time.Minute)
		a := items("a", 10)
		r.want(t, a[:8], a[2:8], a[8:]) // from the lowest on, successes too
		r.stats(t, Stats{Records: 10, Delivered: 10, Invocations: 3, Failures: 1, Retries: 1, ShardsReading: 1})
	})
}

func TestAnIdentifierThatIsNotInTheBatchFailsAllOfIt(t *testing.T) {
	identifiers := map[string]string{
		"empty":                "",
		"unknown":              sequence(77),
		"the event's id":       "event-a2",
		"of a batch before it": sequence(1),
	}
	for name, identifier := range identifiers {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				s.shard("A", "")
				s.put("A", items("a", 6)...)
				set := settings()
				set.BisectBatchOnFunctionError = true
				r := newRig(t, s, set)
				first := true
				r.handle = func(_ context.Context, items []string) (lambdaevents.DynamoDBEventResponse, error) {
					if items[0] == "a5" && first {
						first = false
						return failed(sequence(6), identifier), nil
					}
					return lambdaevents.DynamoDBEventResponse{}, nil
				}
				r.runFor(t, time.Minute)
				a := items("a", 6)
				r.want(t, a[:4], a[4:], a[4:5], a[5:]) // halved, like after an error
			})
		})
	}
}

func TestReportedFailuresAreIgnoredUnlessSwitchedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.put("A", "a1")
		set := settings()
		set.ReportBatchItemFailures = false
		r := newRig(t, s, set)
		r.handle = func(context.Context, []string) (lambdaevents.DynamoDBEventResponse, error) {
			return failed(sequence(1)), nil
		}
		r.runFor(t, time.Minute)
		r.want(t, []string{"a1"})
	})
}

// oneByOne takes the first record of a batch and reports the second.
func oneByOne(_ context.Context, items []string) (lambdaevents.DynamoDBEventResponse, error) {
	if len(items) == 1 {
		return lambdaevents.DynamoDBEventResponse{}, nil
	}
	return failed(sequence(int(items[1][1] - '0'))), nil
}

func TestBisectingSplitsAtTheNumberReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.put("A", items("a", 4)...)
		set := settings()
		set.BisectBatchOnFunctionError, set.MaximumRetryAttempts = true, 0
		r := newRig(t, s, set)
		r.handle = oneByOne
		r.runFor(t, time.Minute)
		a := items("a", 4)
		r.want(t, a, a[1:], a[2:], a[3:]) // and it uses up no retry
		r.stats(t, Stats{Records: 4, Delivered: 4, Invocations: 4, Failures: 3, Bisected: 3, ShardsReading: 1})
	})
}

func TestWithoutBisectingAReportedFailureIsARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.put("A", items("a", 4)...)
		set := settings()
		set.MaximumRetryAttempts = 1
		r := newRig(t, s, set)
		r.handle = oneByOne
		r.runFor(t, time.Minute)
		a := items("a", 4)
		r.want(t, a, a[1:])
		if got := r.asides(t); len(got) != 1 || !slices.Equal(payload(t, got[0]), a[2:]) {
			t.Errorf("set aside: %+v", got)
		}
	})
}

func TestAReportedFirstRecordIsNeverHalved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.put("A", items("a", 4)...)
		set := settings()
		set.BisectBatchOnFunctionError, set.MaximumRetryAttempts = true, 1
		r := newRig(t, s, set)
		r.handle = func(context.Context, []string) (lambdaevents.DynamoDBEventResponse, error) {
			return failed(sequence(1)), nil
		}
		r.runFor(t, time.Minute)
		r.want(t, items("a", 4), items("a", 4))
		if got := r.asides(t); len(got) != 1 || got[0].BatchInfo.BatchSize != 4 {
			t.Errorf("set aside: %+v", got)
		}
	})
}

func TestAPanicAndATimeOutAreFailures(t *testing.T) {
	handlers := map[string]struct {
		handle func(context.Context, []string) (lambdaevents.DynamoDBEventResponse, error)
		says   string
	}{
		"panic": {func(context.Context, []string) (lambdaevents.DynamoDBEventResponse, error) {
			panic("index out of range")
		}, "index out of range"},
		"late": {func(context.Context, []string) (lambdaevents.DynamoDBEventResponse, error) {
			time.Sleep(11 * time.Second)
			return lambdaevents.DynamoDBEventResponse{}, nil
		}, "longer than 10s"},
		"deadline kept": {func(ctx context.Context, _ []string) (lambdaevents.DynamoDBEventResponse, error) {
			<-ctx.Done()
			return lambdaevents.DynamoDBEventResponse{}, ctx.Err()
		}, "deadline exceeded"},
	}
	for name, tt := range handlers {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				s.shard("A", "")
				s.put("A", "a1")
				set := settings()
				set.MaximumRetryAttempts, set.Timeout = 1, 10*time.Second
				r := newRig(t, s, set)
				r.handle = tt.handle
				r.runFor(t, time.Minute)
				r.want(t, []string{"a1"}, []string{"a1"})
				if got := r.asides(t); len(got) != 1 || !strings.Contains(got[0].ResponseContext.FunctionError, tt.says) {
					t.Errorf("set aside: %+v", got)
				}
			})
		})
	}
}

func TestTheHandlerHasARequestID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.put("A", items("a", 8)...)
		r := newRig(t, s, settings())
		ids := make(map[string]bool)
		r.handle = func(ctx context.Context, _ []string) (lambdaevents.DynamoDBEventResponse, error) {
			if lc, ok := lambdacontext.FromContext(ctx); ok {
				ids[lc.AwsRequestID] = true
			}
			return lambdaevents.DynamoDBEventResponse{}, nil
		}
		r.runFor(t, time.Second)
		if len(ids) != 2 || ids[""] {
			t.Errorf("request ids %v", ids)
		}
	})
}

func TestABatchWaitsForItsWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		set := settings()
		set.Window = time.Second
		r := newRig(t, s, set)
		r.start()
		let(time.Minute)
		began := time.Now()
		s.put("A", "a1")
		let(400 * time.Millisecond)
		s.put("A", "a2")
		let(400 * time.Millisecond)
		s.put("A", "a3")
		let(time.Minute)
		r.want(t, []string{"a1", "a2", "a3"})
		if after := r.times[0].Sub(began); after < time.Second || after > time.Second+2*maxPoll {
			t.Errorf("the batch came after %s, want the window", after)
		}
		began = time.Now()
		s.put("A", items("b", 5)...)
		let(maxPoll) // a full batch doesn't wait
		r.want(t, []string{"a1", "a2", "a3"}, items("b", 4))
		let(time.Minute)
		if after := r.times[2].Sub(began); after < time.Second || after > time.Second+2*maxPoll {
			t.Errorf("the rest came after %s, want the window", after)
		}
		r.stop(t)
	})
}

func TestWithoutAWindowABatchDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		set := settings()
		set.Window = 0
		r := newRig(t, s, set)
		r.start()
		let(time.Minute)
		began := time.Now()
		s.put("A", "a1")
		let(time.Minute)
		r.stop(t)
		r.want(t, []string{"a1"})
		if after := r.times[0].Sub(began); after > maxPoll {
			t.Errorf("the batch came after %s", after)
		}
	})
}

func TestRecordsReadAheadHaveWaitedAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		set := settings()
		set.Window = 10 * time.Second
		r := newRig(t, s, set)
		r.handle = func(context.Context, []string) (lambdaevents.DynamoDBEventResponse, error) {
			time.Sleep(time.Minute)
			return lambdaevents.DynamoDBEventResponse{}, nil
		}
		s.put("A", items("a", 4)...)
		r.start()
		let(time.Second)
		s.put("A", "b1") // read and left waiting while the handler has the first batch
		let(10 * time.Minute)
		r.stop(t)
		r.want(t, items("a", 4), []string{"b1"})
		if after := r.times[1].Sub(r.times[0]); after != time.Minute {
			t.Errorf("the second batch came %s after the first, want as soon as that was done", after)
		}
	})
}

func TestABacklogComesInFullBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.put("A", items("a", 40)...)
		set := settings()
		set.Window = time.Second
		r := newRig(t, s, set)
		r.handle = func(context.Context, []string) (lambdaevents.DynamoDBEventResponse, error) {
			time.Sleep(5 * time.Second) // longer than the window: all of it has waited long enough
			return lambdaevents.DynamoDBEventResponse{}, nil
		}
		r.runFor(t, 5*time.Minute)
		for i, b := range r.batches {
			if len(b) != 4 {
				t.Errorf("batch %d has %d records", i, len(b))
			}
		}
	})
}

func TestABatchStaysWithinThePayload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.put("A", items("a", 5)...)
		for i, size := range []int64{maxBatchBytes - 100, 100, 1, maxBatchBytes, 1} {
			s.find("A").records[i].Dynamodb.SizeBytes = aws.Int64(size)
		}
		r := newRig(t, s, settings())
		r.runFor(t, time.Minute)
		a := items("a", 5)
		r.want(t, a[:2], a[2:3], a[3:4], a[4:])
	})
}

func TestRecordsTooOldAreSetAsideUnsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		time.Sleep(time.Second) // off the whole minute
		s.put("A", items("a", 4)...)
		set := settings()
		set.MaximumRecordAge = time.Minute
		r := newRig(t, s, set)
		r.handle = func(_ context.Context, items []string) (lambdaevents.DynamoDBEventResponse, error) {
			if items[0] == "a1" {
				time.Sleep(90 * time.Second)
			}
			return lambdaevents.DynamoDBEventResponse{}, nil
		}
		r.start()
		let(time.Second)
		s.put("A", "b1", "b2") // they wait behind a1 to a4 for 89 s
		let(80 * time.Second)
		s.put("A", "c1")
		let(time.Minute)
		r.stop(t)
		r.want(t, items("a", 4), []string{"c1"})
		got := r.asides(t)
		if len(got) != 1 || got[0].RequestContext.Condition != "RecordAgeExceeded" || !slices.Equal(payload(t, got[0]), []string{"b1", "b2"}) {
			t.Errorf("set aside: %+v", got)
		}
		r.stats(t, Stats{Records: 7, Delivered: 5, SetAside: 2, Invocations: 2, ShardsReading: 1})
	})
}

func TestARestartAfterALongPauseSetsNothingAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		time.Sleep(time.Second)
		s.put("A", "a1")
		set := settings()
		set.MaximumRecordAge = time.Minute
		r := newRig(t, s, set)
		r.runFor(t, time.Second)
		s.put("A", "a2")
		time.Sleep(12 * time.Hour)
		r.runFor(t, time.Second)
		r.want(t, []string{"a1"}, []string{"a1", "a2"})
	})
}

func TestRetriesEndWithTheAgeOfTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		let(time.Second)
		s.put("A", items("a", 5)...)
		set := settings()
		set.MaximumRetryAttempts, set.MaximumRecordAge = -1, time.Minute
		r := newRig(t, s, set)
		r.handle = failOn("a2")
		r.start()
		let(50 * time.Second)
		if n := r.pump.Stats().SetAside; n != 0 {
			t.Errorf("%d set aside before their time", n)
		}
		s.put("A", "a6")
		let(time.Minute)
		r.stop(t)
		if got := r.asides(t); len(got) == 0 || got[0].RequestContext.Condition != "RecordAgeExceeded" || got[0].RequestContext.ApproximateInvokeCount < 2 {
			t.Errorf("set aside: %+v", got)
		}
		if last := r.batches[len(r.batches)-1]; !slices.Contains(last, "a6") {
			t.Errorf("the shard did not go on: the last batch is %q", last)
		}
	})
}

func TestNothingIsSetAsideWhileTheStreamIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.put("A", "a1")
		r := newRig(t, s, settings())
		down := errors.New("connection refused")
		away := false
		r.handle = func(context.Context, []string) (lambdaevents.DynamoDBEventResponse, error) {
			away = true
			s.change(func() { s.fault = func(string, string) error { return down } })
			return lambdaevents.DynamoDBEventResponse{}, down
		}
		r.start()
		let(10 * time.Minute)
		if got := r.pump.Stats(); !away || got.SetAside != 0 || got.Invocations < 10 {
			t.Errorf("stats %+v", got)
		}
		s.change(func() { s.fault = nil })
		r.mu.Lock()
		r.handle = nil
		r.mu.Unlock()
		let(time.Minute)
		r.stop(t)
		if got := r.pump.Stats(); got.Delivered != 1 || got.SetAside != 0 {
			t.Errorf("stats %+v", got)
		}
	})
}

func TestNothingIsDroppedThatCannotBeSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.put("A", items("a", 5)...)
		r := newRig(t, s, settings())
		blocked := filepath.Join(t.TempDir(), "blocked")
		if err := os.WriteFile(blocked, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		r.aside = filepath.Join(blocked, "aside.jsonl") // below a file
		r.pump.aside.path = r.aside
		r.handle = failOn("a1")
		r.start()
		let(time.Minute)
		if got := r.pump.Stats(); got.SetAside != 0 || got.Delivered != 0 {
			t.Errorf("stats %+v", got)
		}
		if err := os.Remove(blocked); err != nil {
			t.Fatal(err)
		}
		let(time.Minute)
		r.stop(t)
		if got := r.pump.Stats(); got.SetAside != 4 || got.Delivered != 1 || len(r.asides(t)) != 1 {
			t.Errorf("stats %+v", got)
		}
	})
}

func TestLanesKeepTheOrderOfEachItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		for range 20 {
			s.put("A", items("a", 9)...)
		}
		set := settings()
		set.ParallelizationFactor = 4
		r := newRig(t, s, set)
		running, most := 0, 0
		r.handle = func(context.Context, []string) (lambdaevents.DynamoDBEventResponse, error) {
			r.mu.Lock()
			running++
			most = max(most, running)
			r.mu.Unlock()
			time.Sleep(time.Second)
			r.mu.Lock()
			running--
			r.mu.Unlock()
			return lambdaevents.DynamoDBEventResponse{}, nil
		}
		r.runFor(t, 10*time.Minute)
		if most < 2 || most > 4 {
			t.Errorf("%d batches were under way at once", most)
		}
		last := make(map[string]string)
		for _, e := range r.events {
			item := e.Change.Keys["PK"].String()
			if e.Change.SequenceNumber <= last[item] {
				t.Errorf("item %s: %s came after %s", item, e.Change.SequenceNumber, last[item])
			}
			last[item] = e.Change.SequenceNumber
		}
		if len(r.events) != 180 {
			t.Errorf("%d records came, want 180", len(r.events))
		}
	})
}

func TestFilteredRecordsAreDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.put("A", "POSTING#1", "BALANCE#1", "GRANT#1", "BALANCE#2", "POSTING#2", "SUMMARY", "POSTING#3")
		set := settings()
		set.Filters = []string{
			`{"dynamodb":{"Keys":{"PK":{"S":[{"prefix":"POSTING#"}]}}}}`,
			`{"dynamodb":{"Keys":{"PK":{"S":[{"prefix":"GRANT#"}]}}}}`,
		}
		r := newRig(t, s, set)
		r.start()
		let(time.Second)
		if !r.pump.CaughtUp(time.Now().Add(-500 * time.Millisecond)) {
			t.Error("not caught up")
		}
		r.stop(t)
		r.want(t, []string{"POSTING#1", "GRANT#1", "POSTING#2", "POSTING#3"})
		r.stats(t, Stats{Records: 7, Filtered: 3, Delivered: 4, Invocations: 1, ShardsReading: 1})
	})
}

func TestAnUnreadableRecordIsSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.put("A", "a1", "a2", "a3")
		s.find("A").records[1].Dynamodb.NewImage["New"] = &types.UnknownUnionMember{Tag: "DECIMAL128"}
		r := newRig(t, s, settings())
		r.runFor(t, time.Second)
		r.want(t, []string{"a1", "a3"})
		got := r.asides(t)
		if len(got) != 1 || got[0].RequestContext.Condition != unreadable || got[0].BatchInfo.StartSequenceNumber != sequence(2) {
			t.Errorf("set aside: %+v", got)
		}
		r.stats(t, Stats{Records: 3, Delivered: 2, SetAside: 1, Invocations: 1, ShardsReading: 1})
	})
}

func TestALineThatACrashCutOffSpoilsNoOther(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "aside.jsonl")
	a := &asideFile{path: file}
	if err := a.append([]byte(`{"n":1}`)); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"n":`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := a.append([]byte(`{"n":3}`)); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if want := "{\"n\":1}\n{\"n\":\n{\"n\":3}\n"; err != nil || string(got) != want {
		t.Errorf("the file has %q, %v; want %q", got, err, want)
	}
}
