package pump

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// During an outage of the stream no record becomes a dead letter, although the handler fails. The log has the beginning
// and the end of the outage, and reminders, but not each failed request.
func TestOutageCausesNoDeadLetters(t *testing.T) {
	simulate(t, nil, func(t *testing.T, r *rig) {
		r.put("A", "a1")
		down := errors.New("connection refused")
		r.handle = func(context.Context, int, []string) (response, error) {
			r.change(func() { r.fault = func(string, string) error { return down } })
			return response{}, down
		}
		r.start()
		advance(10 * time.Minute) // longer than all retries
		// The backoff grows to two seconds, with jitter of up to half.
		if n := len(r.batches); n < 300 || n > 600 || len(r.deadLetters(t)) != 0 {
			t.Errorf("%d invocations, dead letters %+v", n, r.deadLetters(t))
		}
		if n := strings.Count(r.log.drain(), "cannot be read"); n < 30 || n > 41 {
			t.Errorf("the outage was logged %d times in ten minutes", n)
		}
		r.change(func() { r.fault = nil })
		r.mu.Lock()
		r.handle = nil
		r.mu.Unlock()
		r.put("A", "a2")
		advance(time.Minute)
		if n := strings.Count(r.log.drain(), "can be read again"); n != 1 {
			t.Errorf("the end was logged %d times", n)
		}
		if !r.pump.CaughtUp(time.Now().Add(-time.Second)) {
			t.Error("not caught up")
		}
		r.stop(t)
		r.wantDeadLetters(t, "")
	})
}

func TestDeadLetterIsRetriedUntilWritten(t *testing.T) {
	simulate(t, nil, func(t *testing.T, r *rig) {
		r.put("A", "a1", "a2")
		blocked := filepath.Dir(r.pump.options.DeadLetters)
		if err := os.WriteFile(blocked, nil, 0o644); err != nil { // a file in the place of the directory
			t.Fatal(err)
		}
		r.handle = failOn("a1")
		r.start()
		advance(time.Minute)
		if r.pump.CaughtUp(time.Now().Add(-30 * time.Second)) {
			t.Error("caught up without a dead letter")
		}
		if err := os.Remove(blocked); err != nil {
			t.Fatal(err)
		}
		advance(time.Minute)
		r.stop(t)
		r.wantDeadLetters(t, retriesExhausted, []string{"a1"})
	})
}

func TestUnreadableRecordBecomesDeadLetter(t *testing.T) {
	simulate(t, nil, func(t *testing.T, r *rig) {
		r.put("A", "a1", "a2", "a3")
		r.find("A").records[1].Dynamodb.NewImage["New"] = &types.UnknownUnionMember{Tag: "DECIMAL128"}
		r.runFor(t, time.Second)
		r.want(t, []string{"a1", "a3"})
		got := r.deadLetters(t)
		if len(got) != 1 || got[0].RequestContext.Condition != unreadable ||
			got[0].BatchInfo.StartSequenceNumber != sequence(2) {
			t.Errorf("dead letters: %+v", got)
		}
	})
}

func TestTruncatedDeadLetterLineSpoilsNoOther(t *testing.T) {
	p := &Pump{options: Options{DeadLetters: filepath.Join(t.TempDir(), "dead-letters.jsonl")}}
	if err := os.WriteFile(p.options.DeadLetters, []byte("{\"n\":1}\n{\"n\":"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := p.appendDeadLetter([]byte(`{"n":3}`)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(p.options.DeadLetters)
	if want := "{\"n\":1}\n{\"n\":\n{\"n\":3}\n{\"n\":3}\n"; err != nil || string(got) != want {
		t.Errorf("the file has %q, %v; want %q", got, err, want)
	}
}
