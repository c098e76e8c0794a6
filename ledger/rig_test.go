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
	"ledger.example/internal/store"
	"ledger.example/ledger"
)

// era moves synctest's clock, which begins in 2000, into the range of KSUIDs.
const era = 27 * 365 * 24 * time.Hour

func storeNow() time.Time { return time.Now().Add(era) }

// appended replaces one call of Append. It may pass the commit on to the book.
type appended func(ctx context.Context, c ledger.Commit, b *book) (time.Time, error)

// put replaces one write of a single event. apply makes the write.
type put func(apply func() error) error

// faulty is a book with scripted faults. Each call of Append takes the next of steps, and each put of a single event
// the next of puts. Without one, the call is passed on. The other methods return the error of fail, if there is one.
type faulty struct {
	*book

	mu          sync.Mutex
	steps       []appended
	forever     appended // for every Append when no step is left
	puts        []put
	putsForever put
	delay       map[string]time.Duration
	writes      map[string][]put // of PutChange, CreateGuard and SetGuardVersion, by method
	fail        func(method string) error

	calls   []string // the names of the methods called, but for puts
	sent    []ledger.Commit
	visible []events.KSUID // of EnsureVisible
	written int            // how many puts were called
}

func (f *faulty) called(method string) error {
	f.mu.Lock()
	f.calls = append(f.calls, method)
	fail := f.fail
	f.mu.Unlock()
	if fail != nil {
		return fail(method)
	}
	return nil
}

// failing returns a fail function for one method.
func failing(method string, err error) func(string) error {
	return func(called string) error {
		if called == method {
			return err
		}
		return nil
	}
}

// count returns how often a method was called.
func (f *faulty) count(method string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, call := range f.calls {
		if call == method {
			n++
		}
	}
	return n
}

func (f *faulty) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls, f.sent, f.visible, f.written = nil, nil, nil, 0
}

func (f *faulty) Append(ctx context.Context, c ledger.Commit) (time.Time, error) {
	f.mu.Lock()
	f.calls, f.sent = append(f.calls, "Append"), append(f.sent, c)
	step := f.forever
	if len(f.steps) > 0 {
		step, f.steps = f.steps[0], f.steps[1:]
	}
	f.mu.Unlock()
	if step == nil {
		return f.book.Append(ctx, c)
	}
	return step(ctx, c, f.book)
}

func (f *faulty) Lookup(ctx context.Context, keys ledger.LookupKeys) (ledger.LookupResult, error) {
	if err := f.called("Lookup"); err != nil {
		return ledger.LookupResult{}, err
	}
	return f.book.Lookup(ctx, keys)
}

func (f *faulty) Transaction(ctx context.Context, id string) (events.TransactionPosted, time.Time, error) {
	if err := f.called("Transaction"); err != nil {
		return events.TransactionPosted{}, time.Time{}, err
	}
	return f.book.Transaction(ctx, id)
}

func (f *faulty) VerifyComplete(ctx context.Context, head events.Event, postings []events.PostingRecorded) (time.Time, error) {
	if err := f.called("VerifyComplete"); err != nil {
		return time.Time{}, err
	}
	return f.book.VerifyComplete(ctx, head, postings)
}

func (f *faulty) Lifecycle(ctx context.Context, id string) (ledger.Lifecycle, time.Time, error) {
	if err := f.called("Lifecycle"); err != nil {
		return ledger.Lifecycle{}, time.Time{}, err
	}
	return f.book.Lifecycle(ctx, id)
}

func (f *faulty) DueHolds(
	ctx context.Context, shard int, until time.Time, after ledger.DueHold,
) ([]ledger.DueHold, bool, error) {
	if err := f.called("DueHolds"); err != nil {
		return nil, false, err
	}
	return f.book.DueHolds(ctx, shard, until, after)
}

func (f *faulty) NewestGrant(ctx context.Context, account, user string) (events.Role, int64, error) {
	if err := f.called("NewestGrant"); err != nil {
		return "", 0, err
	}
	return f.book.NewestGrant(ctx, account, user)
}

func (f *faulty) NewestGroupGrant(ctx context.Context, group, user string) (events.Role, int64, error) {
	if err := f.called("NewestGroupGrant"); err != nil {
		return "", 0, err
	}
	return f.book.NewestGroupGrant(ctx, group, user)
}

func (f *faulty) NewestGroups(ctx context.Context, account string) ([]string, int64, error) {
	if err := f.called("NewestGroups"); err != nil {
		return nil, 0, err
	}
	return f.book.NewestGroups(ctx, account)
}

func (f *faulty) Funds(ctx context.Context, account, asset string) (events.Amount, error) {
	if err := f.called("Funds"); err != nil {
		return events.Amount{}, err
	}
	return f.book.Funds(ctx, account, asset)
}

func (f *faulty) Holdings(ctx context.Context, account, after string) ([]events.Holding, string, error) {
	if err := f.called("Holdings"); err != nil {
		return nil, "", err
	}
	return f.book.Holdings(ctx, account, after)
}

func (f *faulty) PutChange(ctx context.Context, c events.AccountChanged) error {
	return f.write("PutChange", func() error { return f.book.PutChange(context.WithoutCancel(ctx), c) })
}

func (f *faulty) CreateGuard(ctx context.Context, p events.Pair) error {
	return f.write("CreateGuard", func() error { return f.book.CreateGuard(context.WithoutCancel(ctx), p) })
}

func (f *faulty) SetGuardVersion(ctx context.Context, p events.Pair, version int64) error {
	return f.write("SetGuardVersion", func() error { return f.book.SetGuardVersion(ctx, p, version) })
}

// write makes a write of one method by the next of its steps.
func (f *faulty) write(method string, apply func() error) error {
	if err := f.called(method); err != nil {
		return err
	}
	f.mu.Lock()
	var step put
	if steps := f.writes[method]; len(steps) > 0 {
		step, f.writes[method] = steps[0], steps[1:]
	}
	delay := f.delay[method]
	f.mu.Unlock()
	time.Sleep(delay)
	if step == nil {
		return apply()
	}
	return step(apply)
}

func (f *faulty) Guards(ctx context.Context, account, after string) ([]ledger.Guard, string, error) {
	if err := f.called("Guards"); err != nil {
		return nil, "", err
	}
	return f.book.Guards(ctx, account, after)
}

func (f *faulty) EnsureVisible(ctx context.Context, account, asset string, id events.KSUID) error {
	f.mu.Lock()
	f.visible = append(f.visible, id)
	f.mu.Unlock()
	if err := f.called("EnsureVisible"); err != nil {
		return err
	}
	return f.book.EnsureVisible(ctx, account, asset, id)
}

func (f *faulty) Put(ctx context.Context, e events.Event, unless ...events.Event) (events.Event, error) {
	var mu sync.Mutex // a late write comes when nobody waits for it any more
	var stored events.Event
	apply := func() error {
		was, err := f.book.Put(context.WithoutCancel(ctx), e, unless...)
		mu.Lock()
		defer mu.Unlock()
		stored = was
		return err
	}
	f.mu.Lock()
	f.written++
	step := f.putsForever
	if len(f.puts) > 0 {
		step, f.puts = f.puts[0], f.puts[1:]
	}
	f.mu.Unlock()
	if step == nil {
		step = func(apply func() error) error { return apply() }
	}
	err := step(apply)
	mu.Lock()
	defer mu.Unlock()
	return stored, err
}

// Steps.

func answers(err error) appended {
	return func(context.Context, ledger.Commit, *book) (time.Time, error) { return time.Time{}, err }
}

func cancelled(c ledger.Cancelled) appended { return answers(&c) }

// applied commits, and then returns err.
func applied(err error) appended {
	return func(ctx context.Context, c ledger.Commit, b *book) (time.Time, error) {
		b.Append(ctx, c)
		return time.Time{}, err
	}
}

// late returns an unknown outcome, and commits later.
func late(after time.Duration) appended {
	return func(_ context.Context, c ledger.Commit, b *book) (time.Time, error) {
		go func() {
			time.Sleep(after)
			b.Append(context.Background(), c)
		}()
		return time.Time{}, errUnknown
	}
}

// hangs does not answer before ctx ends.
func hangs(ctx context.Context, _ ledger.Commit, _ *book) (time.Time, error) {
	<-ctx.Done()
	return time.Time{}, errUnknown
}

func putAnswers(err error) put { return func(func() error) error { return err } }

var (
	errThrottled   = fmt.Errorf("scripted: %w", store.ErrThrottled)
	errUnavailable = fmt.Errorf("scripted: %w", store.ErrUnavailable)
	errUnknown     = fmt.Errorf("scripted: %w", store.ErrUnknownOutcome)
)

// rig is a ledger on a faulty book, in a bubble of synctest.
type rig struct {
	*ledger.Ledger
	t         *testing.T
	journal   *faulty
	skew      time.Duration // of the process's clock
	storeSkew time.Duration // of the store's clock
	log       *bytes.Buffer
}

// inBubble runs f on a rig with USD, AAPL in USD, and EUR. jane, bob, shop and fees have limits of 0, margin one of 500
// USD; market and bank have none. The definitions are stored but not cached.
func inBubble(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t}
		r.journal = &faulty{book: newBook(t, func() time.Time { return storeNow().Add(r.storeSkew) })}
		r.restart()
		for _, asset := range []ledger.RegisterAsset{
			{ID: "USD", Name: "US dollar", Scale: 2}, {ID: "AAPL", Name: "Apple", Currency: "USD"}, {ID: "EUR", Name: "Euro", Scale: 2},
		} {
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

// restart starts a new process, with empty caches.
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

// another returns another process on the same store, without faults.
func (r *rig) another() *ledger.Ledger {
	return ledger.New(ledger.Config{Journal: r.journal.book, Projections: r.journal.book, Now: storeNow})
}

func transfer(id, from, to, quantity string) ledger.PostTransfer {
	return ledger.PostTransfer{
		Annotation: ledger.Annotation{ID: id, Actor: "tester"}, From: from, To: to, Asset: "USD", Quantity: amount(quantity),
	}
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

// fund credits an account, projects the credit, and creates the guard.
func (r *rig) fund(account, asset, quantity string) {
	r.t.Helper()
	funding := transfer("", "bank", account, quantity)
	funding.Asset = asset
	r.mustPost(funding)
	credits, _ := r.journal.Sums(pair(account, asset))
	r.journal.Project(pair(account, asset), credits)
	r.journal.Guard(pair(account, asset))
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

// stored fails the test unless the transaction is stored, or is not, as wanted.
func (r *rig) stored(id string, want bool) events.TransactionPosted {
	r.t.Helper()
	t, ok := r.journal.Headers()[id]
	if ok != want {
		r.t.Fatalf("transaction %s is stored: %v, want %v", id, ok, want)
	}
	return t
}

func pair(account, asset string) events.Pair { return events.Pair{Account: account, Asset: asset} }

// refusalAt is a refusal by the guard of an account in USD at version 1.
func refusalAt(account, spent string) ledger.Refusal {
	return ledger.Refusal{Guard: ledger.Guard{Pair: pair(account, "USD"), Spent: amount(spent), Version: 1}}
}
