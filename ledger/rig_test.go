package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/ledger/journaltest"
	"ledger.example/ledger/table"
)

// era brings synctest's clock, which begins in 2000, into the range of KSUIDs.
const era = 27 * 365 * 24 * time.Hour

func storeNow() time.Time { return time.Now().Add(era) }

// An appended step stands for what one call of Append does; it may pass the commit on to the journal.
type appended func(ctx context.Context, c ledger.Commit, j *journaltest.Memory) (time.Time, error)

// script is a journal in memory whose answers can be scripted: each call of Append takes the next step, and when none is left
// goes through. The other methods fail while their function says so.
type script struct {
	*journaltest.Memory

	mu      sync.Mutex
	steps   []appended
	forever appended // for every call when no step is left
	sent    []ledger.Commit
	calls   []string // the names of the methods called
	fail    func(method string) error
}

func (s *script) called(method string) error {
	s.mu.Lock()
	s.calls = append(s.calls, method)
	fail := s.fail
	s.mu.Unlock()
	if fail != nil {
		return fail(method)
	}
	return nil
}

// count returns how often a method was called.
func (s *script) count(method string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, call := range s.calls {
		if call == method {
			n++
		}
	}
	return n
}

func (s *script) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls, s.sent = nil, nil
}

func (s *script) Append(ctx context.Context, c ledger.Commit) (time.Time, error) {
	s.mu.Lock()
	s.calls = append(s.calls, "Append")
	s.sent = append(s.sent, c)
	step := s.forever
	if len(s.steps) > 0 {
		step, s.steps = s.steps[0], s.steps[1:]
	}
	s.mu.Unlock()
	if step == nil {
		return s.Memory.Append(ctx, c)
	}
	return step(ctx, c, s.Memory)
}

func (s *script) Look(ctx context.Context, w ledger.Wanted) (ledger.Found, error) {
	if err := s.called("Look"); err != nil {
		return ledger.Found{}, err
	}
	return s.Memory.Look(ctx, w)
}

func (s *script) Transaction(ctx context.Context, id string) (events.TransactionPosted, time.Time, error) {
	if err := s.called("Transaction"); err != nil {
		return events.TransactionPosted{}, time.Time{}, err
	}
	return s.Memory.Transaction(ctx, id)
}

func (s *script) Whole(ctx context.Context, t events.TransactionPosted) (time.Time, error) {
	if err := s.called("Whole"); err != nil {
		return time.Time{}, err
	}
	return s.Memory.Whole(ctx, t)
}

func (s *script) Credits(ctx context.Context, account, asset string) (events.Amount, error) {
	if err := s.called("Credits"); err != nil {
		return events.Amount{}, err
	}
	return s.Memory.Credits(ctx, account, asset)
}

func (s *script) MakeSure(ctx context.Context, account, asset string, id events.KSUID) error {
	if err := s.called("MakeSure"); err != nil {
		return err
	}
	return s.Memory.MakeSure(ctx, account, asset, id)
}

// Steps.

func answers(err error) appended {
	return func(context.Context, ledger.Commit, *journaltest.Memory) (time.Time, error) { return time.Time{}, err }
}

func cancelled(c ledger.Cancelled) appended { return answers(&c) }

// applied commits, and then answers otherwise.
func applied(err error) appended {
	return func(ctx context.Context, c ledger.Commit, j *journaltest.Memory) (time.Time, error) {
		j.Append(ctx, c)
		return time.Time{}, err
	}
}

// late answers that the outcome is unknown, and lets the commit arrive later.
func late(after time.Duration) appended {
	return func(_ context.Context, c ledger.Commit, j *journaltest.Memory) (time.Time, error) {
		go func() {
			time.Sleep(after)
			j.Append(context.Background(), c)
		}()
		return time.Time{}, errUnknown
	}
}

// hangs gives no answer at all.
func hangs(ctx context.Context, _ ledger.Commit, _ *journaltest.Memory) (time.Time, error) {
	<-ctx.Done()
	return time.Time{}, errUnknown
}

var (
	errThrottled   = fmt.Errorf("scripted: %w", table.ErrThrottled)
	errUnavailable = fmt.Errorf("scripted: %w", table.ErrUnavailable)
	errConflict    = fmt.Errorf("scripted: %w", table.ErrConflict)
	errUnknown     = fmt.Errorf("scripted: %w", table.ErrUnknownOutcome)
)

// rig is a ledger on a scripted journal, in a bubble of synctest.
type rig struct {
	*ledger.Ledger
	t         *testing.T
	journal   *script
	skew      time.Duration // of the process's clock
	storeSkew time.Duration // of the store's clock
	log       *bytes.Buffer
}

// inBubble runs f on a rig with USD, AAPL in USD and EUR; jane, bob, shop and fees have limits, margin may owe 500 USD,
// market and bank have none. The definitions are stored but not remembered.
func inBubble(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t}
		r.journal = &script{Memory: journaltest.NewMemory(t, func() time.Time { return storeNow().Add(r.storeSkew) })}
		r.restart()
		for _, asset := range []ledger.RegisterAsset{{ID: "USD", Name: "US dollar", Scale: 2}, {ID: "AAPL", Name: "Apple", Currency: "USD"}, {ID: "EUR", Name: "Euro", Scale: 2}} {
			asset.Actor = "tester"
			if _, created, err := r.RegisterAsset(t.Context(), asset); err != nil || !created {
				t.Fatal(created, err)
			}
		}
		for id, overdraft := range map[string]events.Overdraft{
			"jane": {}, "bob": {}, "shop": {}, "fees": {}, "bank": {Unlimited: true}, "market": {Unlimited: true},
			"margin": {Limits: map[string]events.Amount{"USD": amount("500")}},
		} {
			if _, created, err := r.OpenAccount(t.Context(), ledger.OpenAccount{ID: id, Overdraft: overdraft, Actor: "tester"}); err != nil || !created {
				t.Fatal(created, err)
			}
		}
		r.restart()
		defer time.Sleep(2 * time.Minute) // until what is late has arrived
		f(t, r)
	})
}

// restart begins a new process, which remembers nothing.
func (r *rig) restart() {
	r.log = &bytes.Buffer{}
	r.Ledger = ledger.New(ledger.Config{
		Journal:     r.journal,
		Projections: r.journal,
		Now:         func() time.Time { return storeNow().Add(r.skew) },
		Log:         slog.New(slog.NewTextHandler(r.log, nil)),
	})
	r.journal.forget()
}

func transfer(id, from, to, quantity string) ledger.PostTransfer {
	return ledger.PostTransfer{Annotation: ledger.Annotation{ID: id, Actor: "tester"}, From: from, To: to, Asset: "USD", Quantity: amount(quantity)}
}

func (r *rig) post(request ledger.PostingRequest) (ledger.Posted, error) {
	r.t.Helper()
	return r.Post(r.t.Context(), request)
}

func (r *rig) mustPost(request ledger.PostingRequest) ledger.Posted {
	r.t.Helper()
	posted, err := r.post(request)
	if err != nil {
		r.t.Fatalf("post: %v", err)
	}
	return posted
}

// fund gives an account what it needs, and lets the read side see it.
func (r *rig) fund(account, asset, quantity string) {
	r.t.Helper()
	r.mustPost(ledger.PostTransfer{Annotation: ledger.Annotation{Actor: "tester"}, From: "bank", To: account, Asset: asset, Quantity: amount(quantity)})
	credits, _ := r.journal.Balance(pair(account, asset))
	r.journal.Project(pair(account, asset), credits)
	r.journal.forget()
}

// refused fails the test unless the error has this code.
func (r *rig) refused(err error, code ledger.Code) *ledger.Error {
	r.t.Helper()
	var e *ledger.Error
	if !errors.As(err, &e) || e.Code != code {
		r.t.Fatalf("got %v, want %s", err, code)
	}
	if e.Detail == "" {
		r.t.Errorf("%s has no detail", code)
	}
	switch code {
	case ledger.CodeThrottled, ledger.CodeContention, ledger.CodeUnavailable:
		if e.RetryAfter <= 0 {
			r.t.Errorf("%s does not say when to try again", code)
		}
	}
	return e
}

// stored fails the test unless the transaction is in the journal, or is not.
func (r *rig) stored(id string, want bool) events.TransactionPosted {
	r.t.Helper()
	t, ok := r.journal.Headers()[id]
	if ok != want {
		r.t.Fatalf("transaction %s is stored: %v, want %v", id, ok, want)
	}
	return t
}

func pair(account, asset string) ledger.Pair { return ledger.Pair{Account: account, Asset: asset} }
