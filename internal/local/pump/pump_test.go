package pump

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

func TestParentShardIsDeliveredBeforeItsChildren(t *testing.T) {
	simulate(t, nil, func(t *testing.T, r *rig) {
		// The listing has the newest shard first, and two shards per page.
		r.shard("grandchild", "child1")
		r.shard("child1", "parent")
		r.shard("child2", "parent")
		r.shard("parent", "trimmed long ago")
		r.put("grandchild", items("g", 2)...)
		r.put("child1", items("c", 5)...)
		r.put("child2", items("d", 5)...)
		r.put("parent", items("p", 9)...)
		r.close("parent")
		r.close("child1")
		r.handle = takeFor(time.Second) // reading is much faster than delivery
		r.runFor(t, time.Minute)
		order := strings.Join(slices.Concat(r.batches...), " ")
		if !strings.HasPrefix(order, strings.Join(items("p", 9), " ")) {
			t.Errorf("a child was delivered before its parent ended: %s", order)
		}
		if strings.Index(order, "g1") < strings.Index(order, "c5") {
			t.Errorf("the grandchild was delivered before its parent ended: %s", order)
		}
		if n := len(strings.Fields(order)); n != 21 {
			t.Errorf("%d records delivered, want 21: %s", n, order)
		}
	})
}

func TestShardSplitsAreFollowed(t *testing.T) {
	simulate(t, nil, func(t *testing.T, r *rig) {
		r.put("A", "a1")
		r.start()
		advance(time.Minute)
		r.put("A", "a2")
		r.close("A")
		r.change(func() {
			r.fault = func(operation, _ string) error {
				if operation == "DescribeStream" {
					return &types.InternalServerError{}
				}
				return nil
			}
		})
		advance(time.Second) // listing the children fails
		if r.pump.CaughtUp(time.Now().Add(-time.Hour)) {
			t.Error("caught up, although the shard may have children")
		}
		r.change(func() { r.fault = nil })
		advance(time.Second) // the children are not listed yet
		if r.pump.CaughtUp(time.Now()) {
			t.Error("caught up, although the children are not known yet")
		}
		r.shard("B", "A")
		r.shard("C", "A")
		r.put("B", "b1")
		r.put("C", "c1")
		advance(listInterval / 2) // they are listed before the next regular listing
		r.stop(t)
		got := slices.Concat(r.batches...)
		slices.Sort(got[2:]) // the children have no order
		if !slices.Equal(got, []string{"a1", "a2", "b1", "c1"}) {
			t.Errorf("the handler got %q", got)
		}
	})
}

func TestRestartBeginsAtTrimHorizon(t *testing.T) {
	simulate(t, nil, func(t *testing.T, r *rig) {
		a := items("a", 5)
		r.put("A", a[:4]...)
		r.runFor(t, time.Second)
		r.change(func() { r.find("A").trimmed = 1 })
		r.put("A", a[4])
		r.runFor(t, time.Second)
		r.want(t, a[:4], a[1:])
	})
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Run("finishes the in-flight batch", func(t *testing.T) {
		simulate(t, nil, func(t *testing.T, r *rig) {
			r.put("A", items("a", 8)...)
			finished := false
			r.handle = func(ctx context.Context, _ int, _ []string) (response, error) {
				select {
				case <-time.After(10 * time.Second):
					finished = true
				case <-ctx.Done():
				}
				return response{}, ctx.Err()
			}
			r.start()
			advance(time.Second)
			began := time.Now()
			r.stop(t)
			if took := time.Since(began); !finished || took != 9*time.Second {
				t.Errorf("the batch was finished: %t; Run took %s to return, want 9 s", finished, took)
			}
			r.want(t, items("a", 4))
		})
	})
	t.Run("does not wait for retries", func(t *testing.T) {
		simulate(t, func(s *Settings) { s.MaximumRetryAttempts = 10_000 }, func(t *testing.T, r *rig) {
			r.put("A", "a1")
			r.handle = failOn("a1")
			r.start()
			advance(time.Minute)
			began := time.Now()
			r.stop(t)
			if took := time.Since(began); took > 0 {
				t.Errorf("Run took %s to return", took)
			}
		})
	})
}

func TestCaughtUp(t *testing.T) {
	change := func(s *Settings) { s.Filters = []string{`{"dynamodb":{"Keys":{"PK":{"S":[{"prefix":"a"}]}}}}`} }
	simulate(t, change, func(t *testing.T, r *rig) {
		r.shards = nil
		r.handle = takeFor(time.Second)
		r.start()
		advance(time.Minute)
		if r.pump.CaughtUp(time.Now().Add(-time.Minute)) {
			t.Error("caught up with a stream that has no shard yet")
		}
		r.shard("A", "")
		advance(time.Minute)
		if !r.pump.CaughtUp(time.Now().Add(-time.Second)) {
			t.Error("not caught up with an empty shard")
		}
		r.put("A", "a1", "filtered", "a2")
		written := time.Now()
		if r.pump.CaughtUp(written) {
			t.Error("caught up with records that were just written")
		}
		advance(500 * time.Millisecond)
		if r.pump.CaughtUp(written) {
			t.Error("caught up while the handler has the records")
		}
		advance(time.Second)
		if !r.pump.CaughtUp(written) {
			t.Error("not caught up after the handler took the records")
		}
		r.stop(t)
		r.want(t, items("a", 2))
	})
}

func TestReadingSurvivesFailures(t *testing.T) {
	// failing fails the first n calls of each of the operations.
	failing := func(n int, err error, operations ...string) func(r *rig) {
		return func(r *rig) {
			calls := make(map[string]int)
			r.fault = func(operation, _ string) error {
				if calls[operation]++; calls[operation] <= n && slices.Contains(operations, operation) {
					return err
				}
				return nil
			}
		}
	}
	all := []string{"DescribeStream", "GetShardIterator", "GetRecords"}
	for name, disturb := range map[string]func(r *rig){
		"expired iterators":                      func(r *rig) { r.epoch++ },
		"errors of the service":                  failing(3, &types.InternalServerError{}, all...),
		"a shard that is not found for a moment": failing(3, notFound(), "GetRecords"),
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, nil, func(t *testing.T, r *rig) {
				r.put("A", "a1", "a2")
				r.start()
				advance(time.Second)
				r.change(func() { disturb(r) })
				advance(10 * time.Second)
				r.put("A", "a3")
				advance(time.Minute)
				r.stop(t)
				r.want(t, []string{"a1", "a2"}, []string{"a3"})
			})
		})
	}
}

func TestTrimmedRecordsAreSkipped(t *testing.T) {
	simulate(t, nil, func(t *testing.T, r *rig) {
		r.put("A", "a1")
		r.start()
		advance(time.Second)
		r.put("A", items("b", 3)...)
		r.change(func() { r.find("A").trimmed = 3 }) // a1, b1 and b2 are trimmed before b1 is read
		advance(time.Minute)
		r.stop(t)
		r.want(t, []string{"a1"}, []string{"b3"})
		if !strings.Contains(r.log.drain(), "rebuild") {
			t.Error("the loss was not logged")
		}
	})
}

func TestDeletedShardEnds(t *testing.T) {
	simulate(t, nil, func(t *testing.T, r *rig) {
		r.shard("B", "A")
		r.put("A", "a1")
		r.put("B", "b1")
		r.start()
		advance(time.Second)
		r.change(func() { r.shards = r.shards[1:] })
		advance(time.Minute)
		if len(r.pump.shards) != 1 {
			t.Errorf("shards %v", r.pump.shards)
		}
		r.stop(t)
		r.want(t, []string{"a1"}, []string{"b1"})
	})
}

// Run ends at once if the stream no longer exists. It reads a disabled stream to its end first.
func TestRunEndsWithTheStream(t *testing.T) {
	simulate(t, nil, func(t *testing.T, r *rig) {
		r.put("A", "a1")
		r.start()
		advance(time.Second)
		r.change(func() { r.gone = true })
		if err := <-r.done; !errors.Is(err, ErrStreamEnded) || !strings.Contains(err.Error(), testARN) {
			t.Errorf("Run returned %v", err)
		}
		r.want(t, []string{"a1"})
	})
	simulate(t, nil, func(t *testing.T, r *rig) {
		r.shard("B", "A")
		r.put("A", items("a", 5)...)
		r.put("B", "b1")
		r.close("A")
		r.close("B")
		r.status = types.StreamStatusDisabled
		r.start()
		if err := <-r.done; !errors.Is(err, ErrStreamEnded) {
			t.Errorf("Run returned %v", err)
		}
		r.want(t, items("a", 4), []string{"a5"}, []string{"b1"})
	})
}
