package bench

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// A silence answers nothing until it isn't waited for any more.
type silence struct{}

func (silence) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}

// begun returns a run on a network, whose load and checks go there, and the context that ends it.
func begun(t *testing.T, network http.RoundTripper) (*run, context.Context) {
	r := newRun(2, 1)
	ctx, end := context.WithCancelCause(t.Context())
	t.Cleanup(func() { end(nil) })
	r.began, r.end = time.Now(), end
	var err error
	if r.load, err = newCaller(network, "http://ledger.example", nil); err != nil {
		t.Fatal(err)
	}
	r.look = r.load
	return r, ctx
}

// endOf gives the load to a run and checks it, and returns what failed, and when that was.
func endOf(t *testing.T, r *run, ctx context.Context) (checks map[string]bool, at time.Duration) {
	checking, cancel := outlasting(ctx, checkPatience)
	defer cancel()
	m := newMeasured(Uniform)
	if _, err := r.drive(ctx, slot{Uniform, 1}, bound{}, &m.counts, nil); err != nil {
		t.Error(err)
	}
	_, failed := r.check(checking, []*measured{m}, context.Cause(ctx))
	checks = make(map[string]bool)
	for _, f := range failed {
		checks[f.Check] = true
	}
	return checks, time.Since(r.began)
}

// A ledger that declines everything, or says nothing, ends the load soon, and what was done is told.
func TestASilentLedgerEndsTheLoad(t *testing.T) {
	for name, network := range map[string]http.RoundTripper{
		"declines": &lockedAnswers{answers: answers{given: []string{"503 throttled"}}}, "says nothing": silence{},
	} {
		synctest.Test(t, func(t *testing.T) {
			r, ctx := begun(t, network)
			checks, at := endOf(t, r, ctx)
			if !errors.Is(context.Cause(ctx), errSilent) || !checks[checkAnswered] || !checks[checkUnread] || at < silencePatience || at > silencePatience+checkPatience {
				t.Errorf("%s: %v after %s: %v", name, context.Cause(ctx), at, checks)
			}
		})
	}
}

// An interrupt ends it whatever the ledger does, and what isn't known then is told.
func TestAnInterruptEndsASilentLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, ctx := begun(t, silence{})
		time.AfterFunc(3*time.Second, func() { r.end(context.Canceled) })
		checks, at := endOf(t, r, ctx)
		if at != 3*time.Second+checkPatience || !checks[checkOutcome] || !checks[checkUnread] || checks[checkAnswered] || checks[checkErrors] {
			t.Errorf("after %s: %v", at, checks)
		}
	})
}

// What has to finish may, but not when there is no store any more.
func TestOutlasting(t *testing.T) {
	gone := &storeError{errors.New("DynamoDB Local ended")}
	for cause, after := range map[error]time.Duration{errSilent: finishPatience, gone: 0} {
		synctest.Test(t, func(t *testing.T) {
			ctx, end := context.WithCancelCause(t.Context())
			longer, cancel := outlasting(ctx, finishPatience)
			defer cancel()
			began := time.Now()
			end(cause)
			<-longer.Done()
			if took := time.Since(began); took != after || !errors.Is(context.Cause(longer), cause) {
				t.Errorf("%v: %s, %v", cause, took, context.Cause(longer))
			}
		})
	}
}

func TestWhatAReadIsAnswered(t *testing.T) {
	r := request{about: [2]string{"b1-a1", "b1-cash"}}
	for body, want := range map[string]bool{
		`{"account":"b1-a1","asset":"b1-cash"}` + "\n": true, `{"account":"b1-a11","x":"b1-a1","asset":"b1-cash"}`: true,
		`{"account":"b1-a11","asset":"b1-cash"}`: false, `{"account":"b1-a1","asset":"b1-cash"`: false,
		`"b1-a1""b1-cash"`: false, "": false, "b1-a1": false, "{}": false,
	} {
		if got := r.isAnswered([]byte(body)); got != want {
			t.Errorf("%s: %v", body, got)
		}
	}
	if !new(request).isAnswered(nil) {
		t.Error("nothing was asked for")
	}
}
