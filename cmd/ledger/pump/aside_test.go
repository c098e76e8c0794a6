package pump

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

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
		set := settings()
		set.MaximumRecordAge = 5 * time.Minute // less than the outage lasts
		r := newRig(t, s, set)
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
