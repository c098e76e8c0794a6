package pump

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

func TestRecordsComeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.put("A", items("a", 10)...)
		r := newRig(t, s, settings())
		r.runFor(t, time.Minute)
		a := items("a", 10)
		r.want(t, a[:4], a[4:8], a[8:])
		r.stats(t, Stats{Records: 10, Delivered: 10, Invocations: 3, ShardsReading: 1})
	})
}

func TestAParentIsDoneBeforeItsChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		// Listed with the youngest first, two to a page.
		s.shard("grandchild", "child1")
		s.shard("child1", "parent")
		s.shard("child2", "parent")
		s.shard("parent", "trimmed long ago")
		s.put("grandchild", items("g", 2)...)
		s.put("child1", items("c", 5)...)
		s.put("child2", items("d", 5)...)
		s.put("parent", items("p", 9)...)
		s.close("parent")
		s.close("child1")
		r := newRig(t, s, settings())
		r.handle = func(context.Context, []string) (lambdaevents.DynamoDBEventResponse, error) {
			time.Sleep(time.Second) // all of it is read long before it is delivered
			return lambdaevents.DynamoDBEventResponse{}, nil
		}
		r.runFor(t, time.Minute)
		order := strings.Join(slices.Concat(r.batches...), " ")
		if !strings.HasPrefix(order, strings.Join(items("p", 9), " ")) {
			t.Errorf("a child came before its parent was done: %s", order)
		}
		if strings.Index(order, "g1") < strings.Index(order, "c5") {
			t.Errorf("the grandchild came before its parent was done: %s", order)
		}
		if n := len(strings.Fields(order)); n != 21 {
			t.Errorf("%d records came, want 21: %s", n, order)
		}
		r.stats(t, Stats{Records: 21, Delivered: 21, Invocations: int64(len(r.batches)), ShardsReading: 2, ShardsEnded: 2})
	})
}

func TestShardsThatSplitWhileRunningAreFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.put("A", "a1")
		r := newRig(t, s, settings())
		r.start()
		let(time.Minute)
		s.put("A", "a2")
		s.close("A")
		s.change(func() {
			s.fault = func(operation, _ string) error {
				if operation == "DescribeStream" {
					return &types.InternalServerError{}
				}
				return nil
			}
		})
		let(time.Second) // nobody can list the children
		if r.pump.CaughtUp(time.Now().Add(-time.Hour)) {
			t.Error("caught up, although nobody knows whether the shard has children")
		}
		s.change(func() { s.fault = nil })
		let(time.Second) // the children take a moment to be listed
		if r.pump.CaughtUp(time.Now()) {
			t.Error("caught up, although the children are not known yet")
		}
		s.shard("B", "A")
		s.shard("C", "A")
		s.put("B", "b1")
		s.put("C", "c1")
		let(discoverInterval / 2) // they are looked for at once, not at the next round
		r.stop(t)
		got := slices.Concat(r.batches...)
		if !slices.Equal(got[:2], []string{"a1", "a2"}) || len(got) != 4 ||
			!slices.Contains(got, "b1") || !slices.Contains(got, "c1") {
			t.Errorf("the handler got %q", got)
		}
	})
}

func TestARestartBeginsAtTheTrimHorizon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.put("A", items("a", 4)...)
		r := newRig(t, s, settings())
		r.runFor(t, time.Second)
		s.change(func() { s.find("A").trimmed = 1 })
		s.put("A", "a5")
		r.runFor(t, time.Second)
		a := items("a", 5)
		r.want(t, a[:4], a[1:])
	})
}

func TestTheEndOfTheContextFinishesTheBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.put("A", items("a", 8)...)
		r := newRig(t, s, settings())
		finished := false
		r.handle = func(ctx context.Context, _ []string) (lambdaevents.DynamoDBEventResponse, error) {
			select {
			case <-time.After(10 * time.Second):
				finished = true
			case <-ctx.Done():
			}
			return lambdaevents.DynamoDBEventResponse{}, ctx.Err()
		}
		r.start()
		let(time.Second)
		began := time.Now()
		r.stop(t)
		if took := time.Since(began); !finished || took != 9*time.Second {
			t.Errorf("the batch was finished: %t; Run took %s to return, want 9 s", finished, took)
		}
		r.want(t, items("a", 4))
	})
}

func TestTheEndOfTheContextDoesNotWaitForRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.put("A", "a1")
		set := settings()
		set.MaximumRetryAttempts = -1
		r := newRig(t, s, set)
		r.handle = func(context.Context, []string) (lambdaevents.DynamoDBEventResponse, error) {
			return lambdaevents.DynamoDBEventResponse{}, errors.New("never")
		}
		r.start()
		let(time.Minute)
		began := time.Now()
		r.stop(t)
		if took := time.Since(began); took > 0 {
			t.Errorf("Run took %s to return", took)
		}
	})
}

func TestReadingGoesAheadOfTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.put("A", items("a", 5000)...)
		set := settings()
		set.BatchSize = 100
		r := newRig(t, s, set)
		release := make(chan struct{})
		r.handle = func(context.Context, []string) (lambdaevents.DynamoDBEventResponse, error) {
			<-release
			return lambdaevents.DynamoDBEventResponse{}, nil
		}
		r.start()
		let(time.Minute)
		if n := s.reads; n < 200 || n > readAheadBatches*100+pageRecords {
			t.Errorf("%d records were read while the handler had its first 100", n)
		}
		if got := r.pump.Stats(); got.Delivered != 0 || got.Pending != int64(s.reads) {
			t.Errorf("stats %+v", got)
		}
		close(release)
		let(time.Minute)
		r.stop(t)
		if got := slices.Concat(r.batches...); !slices.Equal(got, items("a", 5000)) {
			t.Errorf("%d records came, or out of order", len(got))
		}
	})
}

func TestCaughtUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		r := newRig(t, s, settings())
		r.handle = func(context.Context, []string) (lambdaevents.DynamoDBEventResponse, error) {
			time.Sleep(time.Second)
			return lambdaevents.DynamoDBEventResponse{}, nil
		}
		r.start()
		let(time.Minute)
		if r.pump.CaughtUp(time.Now().Add(-time.Minute)) {
			t.Error("caught up with a stream that has no shard yet")
		}
		s.shard("A", "")
		let(time.Minute)
		if !r.pump.CaughtUp(time.Now().Add(-time.Second)) {
			t.Error("not caught up with an empty shard")
		}
		s.put("A", "a1")
		written := time.Now()
		if r.pump.CaughtUp(written) {
			t.Error("caught up with a record that was just written")
		}
		let(500 * time.Millisecond)
		if r.pump.CaughtUp(written) {
			t.Error("caught up while the handler has the record")
		}
		let(time.Second)
		if !r.pump.CaughtUp(written) {
			t.Error("not caught up after the handler took the record")
		}
		r.stop(t)
	})
}

func TestReadingSurvivesFailures(t *testing.T) {
	tests := map[string]func(s *script){
		"expired iterators": func(s *script) { s.change(func() { s.epoch++ }) },
		"errors of the service": func(s *script) {
			left := map[string]int{"DescribeStream": 3, "GetShardIterator": 3, "GetRecords": 3}
			s.change(func() {
				s.fault = func(operation, _ string) error {
					if left[operation]--; left[operation] >= 0 {
						return &types.InternalServerError{}
					}
					return nil
				}
			})
		},
		"a shard that is not found for a moment": func(s *script) {
			left := 3
			s.change(func() {
				s.fault = func(operation, _ string) error {
					if left--; operation == "GetRecords" && left >= 0 {
						return notFound()
					}
					return nil
				}
			})
		},
	}
	for name, disturb := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				s.shard("A", "")
				s.put("A", items("a", 2)...)
				r := newRig(t, s, settings())
				r.start()
				let(time.Second)
				disturb(s)
				let(10 * time.Second)
				s.put("A", "a3")
				let(time.Minute)
				r.stop(t)
				r.want(t, []string{"a1", "a2"}, []string{"a3"})
			})
		})
	}
}

func TestTrimmedRecordsAreSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.put("A", "a1")
		r := newRig(t, s, settings())
		r.start()
		let(time.Second)
		s.put("A", items("b", 3)...)
		s.change(func() { s.find("A").trimmed = 3 }) // a1, b1 and b2 go before b1 is read
		let(time.Minute)
		r.stop(t)
		r.want(t, []string{"a1"}, []string{"b3"})
	})
}

func TestAShardThatIsGoneIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.shard("B", "A")
		s.put("A", "a1")
		s.put("B", "b1")
		r := newRig(t, s, settings())
		r.start()
		let(time.Second)
		s.change(func() { s.shards = s.shards[1:] })
		let(time.Minute)
		r.stop(t)
		r.stats(t, Stats{Records: 2, Delivered: 2, Invocations: 2, ShardsReading: 1}) // and forgotten
		r.want(t, []string{"a1"}, []string{"b1"})
	})
}

func TestAStreamThatIsGoneIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.put("A", "a1")
		r := newRig(t, s, settings())
		r.start()
		let(time.Second)
		s.change(func() { s.gone = true })
		if err := <-r.done; !errors.Is(err, ErrStreamNotFound) || !strings.Contains(err.Error(), testARN) {
			t.Errorf("Run returned %v", err)
		}
		r.want(t, []string{"a1"})
		r.start()
		if err := <-r.done; !errors.Is(err, ErrStreamNotFound) {
			t.Errorf("Run for a stream that isn't there returned %v", err)
		}
	})
}

func TestADisabledStreamIsReadToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.shard("B", "A")
		s.put("A", items("a", 5)...)
		s.put("B", "b1")
		s.close("A")
		s.close("B")
		s.status = types.StreamStatusDisabled
		r := newRig(t, s, settings())
		r.start()
		if err := <-r.done; !errors.Is(err, ErrStreamDisabled) {
			t.Errorf("Run returned %v", err)
		}
		r.want(t, items("a", 4), []string{"a5"}, []string{"b1"})
	})
}

func TestNewRefusesWhatLambdaWouldRefuse(t *testing.T) {
	tests := map[string]func(*Settings){
		"batch of none":       func(s *Settings) { s.BatchSize = 0 },
		"batch too large":     func(s *Settings) { s.BatchSize = 10_001 },
		"window too long":     func(s *Settings) { s.Window = 301 * time.Second },
		"too many retries":    func(s *Settings) { s.MaximumRetryAttempts = 10_001 },
		"retries below -1":    func(s *Settings) { s.MaximumRetryAttempts = -2 },
		"age too short":       func(s *Settings) { s.MaximumRecordAge = 59 * time.Second },
		"no lane":             func(s *Settings) { s.ParallelizationFactor = 0 },
		"unknown operator":    func(s *Settings) { s.Filters = []string{`{"eventName":[{"wildcard":"I*"}]}`} },
		"too many filters":    func(s *Settings) { s.Filters = slices.Repeat([]string{`{"eventName":["INSERT"]}`}, 11) },
		"filter without JSON": func(s *Settings) { s.Filters = []string{`INSERT`} },
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			set := settings()
			spoil(&set)
			_, err := New(Options{Stream: newScript(), StreamARN: testARN, Handler: (&rig{}).serve, Settings: set, SetAside: "x"})
			if err == nil {
				t.Error("it was taken")
			}
		})
	}
}
