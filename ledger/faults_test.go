package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/ledger/journaltest"
)

// fault is what becomes of one attempt to append.
type fault struct {
	kind          string
	before, after time.Duration // the store takes its time
}

var faultKinds = []string{
	"fine", "fine", "fine", "fine", "throttled", "unavailable", "unknown, not applied", "unknown, applied", "unknown, late", "hangs, late",
	"header in conflict", "in conflict", "all throttled", "refused among conflicts", "refused, header in conflict",
}

func (f fault) step() appended {
	return func(ctx context.Context, c ledger.Commit, j *journaltest.Memory) (time.Time, error) {
		if !waited(ctx, f.before) {
			return late(f.after)(ctx, c, j)
		}
		at, err := f.outcome(ctx, c, j)
		if !waited(ctx, f.after) {
			return time.Time{}, errUnknown
		}
		return at, err
	}
}

// waited sleeps, and returns false when the time was up before.
func waited(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func (f fault) outcome(ctx context.Context, c ledger.Commit, j *journaltest.Memory) (time.Time, error) {
	switch f.kind {
	case "throttled":
		return time.Time{}, errThrottled
	case "unavailable":
		return time.Time{}, errUnavailable
	case "unknown, not applied":
		return time.Time{}, errUnknown
	case "unknown, applied":
		return applied(errUnknown)(ctx, c, j)
	case "unknown, late":
		return late(f.after*20)(ctx, c, j)
	case "hangs, late":
		late(f.after*20)(ctx, c, j)
		return hangs(ctx, c, j)
	case "header in conflict":
		return time.Time{}, &ledger.Cancelled{Header: ledger.HeaderConflict}
	case "in conflict":
		return time.Time{}, &ledger.Cancelled{Conflict: true}
	case "all throttled":
		return time.Time{}, &ledger.Cancelled{Header: ledger.HeaderThrottled, Throttled: true}
	}
	at, err := j.Append(ctx, c)
	var cancelled *ledger.Cancelled
	if errors.As(err, &cancelled) && len(cancelled.Refused) > 0 && cancelled.Header == ledger.HeaderNone {
		switch f.kind {
		case "refused among conflicts":
			cancelled.Conflict = true
		case "refused, header in conflict":
			cancelled.Header = ledger.HeaderConflict
		}
	}
	return at, err
}

// request is one client: what it asks for, when, how often again, and by which process.
type request struct {
	id, from, to string
	quantity     int64
	at           time.Duration
	again        int
	process      int
}

// Under any faults, with requests of several processes at once and writes applied up to a minute late: what is answered is
// true for ever after, no limit is passed, and nothing is there twice.
func TestAnswersAreTrueUnderFaults(t *testing.T) {
	pause := rapid.SampledFrom([]time.Duration{0, 0, 50 * time.Millisecond, 700 * time.Millisecond, 3 * time.Second})
	faults := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) fault {
		return fault{rapid.SampledFrom(faultKinds).Draw(t, "kind"), pause.Draw(t, "before"), pause.Draw(t, "after")}
	}), 0, 12)
	account := rapid.SampledFrom([]string{"jane", "bob", "margin", "bank"})
	requests := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) request {
		from := account.Draw(t, "from")
		to := account.Filter(func(a string) bool { return a != from }).Draw(t, "to")
		return request{
			id:   rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "id"),
			from: from, to: to, quantity: rapid.Int64Range(1, 3).Draw(t, "quantity") * 200,
			at: pause.Draw(t, "at"), again: rapid.IntRange(0, 2).Draw(t, "again"), process: rapid.IntRange(0, 1).Draw(t, "process"),
		}
	}), 1, 8)
	failing := rapid.SliceOfN(rapid.SampledFrom([]error{nil, nil, nil, errThrottled, errUnavailable, errConflict}), 0, 12)
	rapid.Check(t, func(rt *rapid.T) {
		fs, rs, reads := faults.Draw(rt, "faults"), requests.Draw(rt, "requests"), failing.Draw(rt, "failing reads")
		var wrong []string
		inBubble(t, func(t *testing.T, r *rig) {
			r.fund("jane", "USD", "500")
			for _, f := range fs {
				r.journal.steps = append(r.journal.steps, f.step())
			}
			r.journal.fail = failures(reads)
			wrong = r.run(rs)
		})
		if len(wrong) > 0 {
			rt.Fatalf("%v", wrong)
		}
	})
}

// failures fails reads as they come by the list, and none once it is used up. Looks don't conflict.
func failures(list []error) func(string) error {
	var mu sync.Mutex
	return func(method string) error {
		mu.Lock()
		defer mu.Unlock()
		if len(list) == 0 {
			return nil
		}
		err := list[0]
		list = list[1:]
		if err == errConflict && method != "Whole" && method != "MakeSure" {
			return nil
		}
		return err
	}
}

// run lets all requests go, waits until everything has arrived, and returns what is wrong.
func (r *rig) run(requests []request) (wrong []string) {
	processes := []*ledger.Ledger{r.Ledger, ledger.New(ledger.Config{Journal: r.journal, Projections: r.journal, Now: storeNow})}
	type answer struct {
		request
		posted ledger.Posted
		err    *ledger.Error
	}
	var mu sync.Mutex
	var answers []answer
	complain := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		wrong = append(wrong, fmt.Sprintf(format, args...))
	}
	var clients sync.WaitGroup
	for _, q := range requests {
		clients.Go(func() {
			time.Sleep(q.at)
			for range q.again + 1 {
				start := time.Now()
				posted, err := processes[q.process].Post(r.t.Context(), transfer(q.id, q.from, q.to, fmt.Sprint(q.quantity)))
				if d := time.Since(start); d > 8*time.Second {
					complain("%v lived for %v", q, d)
				}
				var e *ledger.Error
				if errors.As(err, &e); err != nil && e == nil {
					complain("%v: untyped error %v", q, err)
					return
				}
				mu.Lock()
				answers = append(answers, answer{q, posted, e})
				mu.Unlock()
			}
		})
	}
	clients.Wait()
	time.Sleep(2 * time.Minute)
	headers := r.journal.Headers()
	firsts := map[string]int{}
	for _, a := range answers {
		header, there := headers[a.id]
		isThis := there && header.Legs[0].Account == a.from && header.Legs[1].Account == a.to && header.Legs[1].Quantity == events.NewAmount(a.quantity)
		switch {
		case a.err == nil:
			if !there || !reflect.DeepEqual(header, a.posted.Transaction) {
				complain("%v: answered with %+v, stored is %+v", a.request, a.posted.Transaction, header)
			}
			if !a.posted.Replayed {
				firsts[a.id]++
			}
		case a.err.Code == ledger.CodeTransactionIDReused:
			if !there || isThis {
				complain("%v: told that the id belongs to another body, stored is %+v", a.request, header)
			}
		case a.err.Code == ledger.CodeOutcomeUnknown:
			if a.err.Transaction != a.id {
				complain("%v: asks again with %q", a.request, a.err.Transaction)
			}
		case slices.Contains([]ledger.Code{ledger.CodeInsufficientFunds, ledger.CodeThrottled, ledger.CodeContention, ledger.CodeUnavailable}, a.err.Code):
			// This request wrote nothing; another of the same id and body may have.
		default:
			complain("%v: %v", a.request, a.err)
		}
	}
	for id, n := range firsts {
		if n > 1 {
			complain("%s was answered %d times as a first", id, n)
		}
	}
	// A transaction that nobody posted: every request of its body was told that it wrote nothing.
	for id, header := range headers {
		posted := false
		for _, a := range answers {
			wroteNothing := a.err != nil && a.err.Code != ledger.CodeOutcomeUnknown
			posted = posted || a.id == id && !wroteNothing
		}
		if !posted && len(id) < 20 { // the rig's own have a KSUID
			complain("%s is stored, and everybody was told that nothing was written: %+v", id, header)
		}
	}
	for account, overdraft := range map[string]string{"jane": "0", "bob": "0", "margin": "500"} {
		credits, debits := r.journal.Balance(pair(account, "USD"))
		spent, _ := r.journal.Spent(pair(account, "USD"))
		if most, _ := credits.Add(amount(overdraft)); debits.Cmp(most) > 0 || spent != debits {
			complain("%s: credits %v, debits %v, spent %v", account, credits, debits, spent)
		}
	}
	return wrong
}
