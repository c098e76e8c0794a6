package pump

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
)

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
