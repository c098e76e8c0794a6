package bench

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"ledger.example/client"
)

// silence is a network that never answers.
type silence struct{}

func (silence) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}

// begun returns a run that sends its load and its checks to a network, and the context that ends it.
func begun(t *testing.T, network http.RoundTripper) (*Run, context.Context) {
	r := newRun(2, 1)
	ctx, end := context.WithCancelCause(t.Context())
	t.Cleanup(func() { end(nil) })
	r.began, r.end = time.Now(), end
	var err error
	if r.load, err = newEndpoint(network, "http://ledger.example", nil); err != nil {
		t.Fatal(err)
	}
	r.balanceOf = func(ctx context.Context, _, _ string, _ bool) (none client.Reply[client.Balance], err error) {
		<-ctx.Done()
		return none, context.Cause(ctx)
	}
	return r, ctx
}

// endOf runs the load and the checks, and returns the failed checks and the duration.
func endOf(t *testing.T, r *Run, ctx context.Context) (checks map[string]bool, at time.Duration) {
	checking, cancel := outlasting(ctx, checkTimeout)
	defer cancel()
	m := &measured{workload: Uniform}
	if _, err := r.drive(ctx, slot{Uniform, 1}, bound{}, &m.counts, nil); err != nil {
		t.Error(err)
	}
	var out Report
	r.check(checking, &out, []*measured{m}, context.Cause(ctx))
	checks = make(map[string]bool)
	for _, f := range out.Failed {
		checks[f.Check] = true
	}
	return checks, time.Since(r.began)
}

// If the ledger declines every request, or never answers, the load ends after silenceTimeout. The checks still run.
func TestASilentLedgerEndsTheLoad(t *testing.T) {
	for name, network := range map[string]http.RoundTripper{
		"declines": &answers{given: []string{"503 throttled"}}, "says nothing": silence{},
	} {
		synctest.Test(t, func(t *testing.T) {
			r, ctx := begun(t, network)
			checks, at := endOf(t, r, ctx)
			if !errors.Is(context.Cause(ctx), errSilent) || !checks[checkAnswered] || !checks[checkUnread] ||
				at < silenceTimeout || at > silenceTimeout+checkTimeout {
				t.Errorf("%s: %v after %s: %v", name, context.Cause(ctx), at, checks)
			}
		})
	}
}

// An interrupt ends the load even if the ledger does not answer. Unknown outcomes fail the checks.
func TestAnInterruptEndsASilentLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, ctx := begun(t, silence{})
		time.AfterFunc(3*time.Second, func() { r.end(context.Canceled) })
		checks, at := endOf(t, r, ctx)
		if at != 3*time.Second+checkTimeout || !checks[checkOutcome] || !checks[checkUnread] ||
			checks[checkAnswered] || checks[checkErrors] {
			t.Errorf("after %s: %v", at, checks)
		}
	})
}
