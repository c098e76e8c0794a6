package ledger_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/table/tabletest"
)

// appended replaces one append of a commit. It may apply the commit.
type appended func(ctx context.Context, c commit) error

// put replaces one write that is not part of a commit. apply makes the write.
type put func(apply func() error) error

// faulty is a book with scripted faults. Each append takes the next of steps, and each other write the next of writes.
// Without one, the request is passed on. All but appends first return the error of fail, if there is one.
type faulty struct {
	*book

	mu      sync.Mutex
	steps   []appended
	forever appended         // for every append when no step is left
	writes  map[string][]put // of the other writes, by name
	fail    func(request string) error

	calls   []string // the names of the requests made
	sent    []commit
	visible []events.KSUID // of EnsureVisible
}

// table returns the table with the faults.
func (f *faulty) table() table.Table { return &tabletest.Faulty{Table: f.book.table, Around: f.around} }

// requestName names a request by what the ledger makes it for.
func requestName(c tabletest.Call) string {
	switch c.Method {
	case "Get":
		return "Transaction"
	case "BatchGet":
		return "Lookup"
	case "Snapshot":
		return "VerifyComplete"
	case "Query":
		switch {
		case c.Query.Index == table.IndexInverse:
			return "DueHolds"
		case c.Query.Within == table.LifecycleRange():
			return "Lifecycle"
		case c.Query.Within == table.Spend.All():
			return "Guards"
		}
		return "Newest"
	}
	if c.Writes[0].Item == nil {
		return "SetGuardVersion"
	}
	switch e, _ := table.DecodeEvent(c.Writes[0].Item); e.(type) {
	case nil:
		return "CreateGuard"
	case events.AccountChanged:
		return "PutChange"
	case events.TransactionPosted, events.HoldEnded:
		return "Append"
	}
	return "Put"
}

func (f *faulty) around(ctx context.Context, c tabletest.Call, apply func(context.Context) error) error {
	name := requestName(c)
	if isRead := c.Writes == nil; isRead && name != "DueHolds" && c.Consistency != table.Strong {
		f.t.Errorf("%s is not strongly consistent, but commands decide on it", name)
	}
	switch name {
	case "Append":
		return f.append(ctx, newCommit(f.t, c.Writes, apply))
	case "SetGuardVersion":
	default: // a step may apply a put after its request ended
		if c.Writes != nil {
			ctx = context.WithoutCancel(ctx)
		}
	}
	if err := f.called(name); err != nil {
		return err
	}
	f.mu.Lock()
	step := func(apply func() error) error { return apply() }
	if steps := f.writes[name]; len(steps) > 0 {
		step, f.writes[name] = steps[0], steps[1:]
	}
	f.mu.Unlock()
	return step(func() error { return apply(ctx) })
}

func (f *faulty) append(ctx context.Context, c commit) error {
	f.mu.Lock()
	f.calls, f.sent = append(f.calls, "Append"), append(f.sent, c)
	step := f.forever
	if len(f.steps) > 0 {
		step, f.steps = f.steps[0], f.steps[1:]
	}
	f.mu.Unlock()
	if step == nil {
		return c.apply(ctx)
	}
	return step(ctx, c)
}

func (f *faulty) called(name string) error {
	f.mu.Lock()
	f.calls = append(f.calls, name)
	fail := f.fail
	f.mu.Unlock()
	if fail != nil {
		return fail(name)
	}
	return nil
}

func (f *faulty) Funds(ctx context.Context, account, asset string) (received, spent events.Amount, err error) {
	if err := f.called("Funds"); err != nil {
		return received, spent, err
	}
	return f.book.Funds(ctx, account, asset)
}

func (f *faulty) Holdings(ctx context.Context, account, after string) ([]events.Holding, string, error) {
	if err := f.called("Holdings"); err != nil {
		return nil, "", err
	}
	return f.book.Holdings(ctx, account, after)
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

// failing returns a fail function for the requests of one name.
func failing(name string, err error) func(string) error {
	return func(called string) error {
		if called == name {
			return err
		}
		return nil
	}
}

// count returns how often requests of a name were made.
func (f *faulty) count(name string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, call := range f.calls {
		if call == name {
			n++
		}
	}
	return n
}

func (f *faulty) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls, f.sent, f.visible = nil, nil, nil
}

// commit is an append, as the table gets it.
type commit struct {
	heads    int
	postings []events.PostingRecorded
	debits   []debit
	apply    func(context.Context) error
}

// debit is an update of a guard.
type debit struct {
	pair         events.Pair
	gross, bound events.Amount
}

// errorer is a test.
type errorer interface {
	Errorf(format string, args ...any)
}

// newCommit decodes the writes of a commit. It checks what no store checks: that the debits are those of the legs.
func newCommit(t errorer, writes []table.Write, apply func(context.Context) error) commit {
	c, gross := commit{apply: apply}, map[events.Pair]events.Amount{}
	for _, w := range writes {
		if w.Item == nil {
			account, asset, _ := table.Spend.Parse(w.Key)
			values := table.Read(w.Values)
			c.debits = append(c.debits, debit{pair(account, asset), values.Amount(":gross"), values.Amount(":bound")})
			continue
		}
		e, err := table.DecodeEvent(w.Item)
		if err != nil {
			t.Errorf("sent %v", err)
		}
		leg, ok := e.(events.PostingRecorded)
		if !ok {
			c.heads++
			continue
		}
		c.postings = append(c.postings, leg)
		if leg.Phase == events.PhasePlaced {
			leg.Quantity = leg.Pending
		}
		if !leg.Phase.Ends() && leg.Quantity.Sign() < 0 {
			p := pair(leg.Account, leg.Asset)
			gross[p], _ = gross[p].Sub(leg.Quantity)
		}
	}
	for _, d := range c.debits {
		if d.gross != gross[d.pair] {
			t.Errorf("%s debits %v by %v, its legs by %v", c.postings[0].Transaction, d.pair, d.gross, gross[d.pair])
		}
	}
	return c
}

// Steps.

func answers(err error) appended { return func(context.Context, commit) error { return err } }

// mark sets the reason of one write of a cancelled commit.
type mark func(c commit, reasons []table.Reason)

func cancelled(marks ...mark) appended {
	return func(_ context.Context, c commit) error {
		reasons := make([]table.Reason, c.heads+len(c.postings)+len(c.debits))
		for _, mark := range marks {
			mark(c, reasons)
		}
		return &table.Cancelled{Reasons: reasons}
	}
}

// head marks a head, without its stored event.
func head(i int, is table.Cause) mark {
	return func(_ commit, reasons []table.Reason) { reasons[i].Is = is }
}

// refuses marks the guard of an account in USD, which has version 1.
func refuses(account, spent string) mark {
	return func(c commit, reasons []table.Reason) {
		i := slices.IndexFunc(c.debits, func(d debit) bool { return d.pair == pair(account, "USD") })
		guard := table.Begin(table.Spend.Key(account, "USD"), table.Spend.Type)
		guard[table.AttrSpent], guard[table.AttrChange] = table.Amount(amount(spent)), table.Integer(1)
		reasons[c.heads+len(c.postings)+i] = table.Reason{Is: table.CauseCondition, Old: guard}
	}
}

// applied commits, and then returns err.
func applied(err error) appended {
	return func(ctx context.Context, c commit) error {
		c.apply(ctx)
		return err
	}
}

// late returns an unknown outcome, and commits later.
func late(after time.Duration) appended {
	return func(_ context.Context, c commit) error {
		go func() {
			time.Sleep(after)
			c.apply(context.Background())
		}()
		return errUnknown
	}
}

// hangs does not answer before ctx ends.
func hangs(ctx context.Context, _ commit) error {
	<-ctx.Done()
	return errUnknown
}

var (
	errThrottled   = fmt.Errorf("scripted: %w", table.ErrThrottled)
	errUnavailable = fmt.Errorf("scripted: %w", table.ErrUnavailable)
	errUnknown     = fmt.Errorf("scripted: %w", table.ErrUnknownOutcome)
)

func putAnswers(err error) put { return func(func() error) error { return err } }
