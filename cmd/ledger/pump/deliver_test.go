package pump

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

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
