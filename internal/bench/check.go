package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"ledger.example/client"
	"ledger.example/events"
)

// The checks that a run may fail.
const (
	checkOutcome   = "outcome"   // the outcome of a transaction is unknown
	checkAnswered  = "answered"  // no request succeeded any more, or none of a workload did
	checkErrors    = "errors"    // requests failed with other errors than 503
	checkBalance   = "balance"   // a strong read differs from the book
	checkSum       = "sum"       // the balances of an asset do not add up to zero
	checkLimit     = "limit"     // an account is below its limit
	checkProjected = "projected" // the projection differs from the book
	checkUnread    = "unread"    // the checks could not be completed
)

// Failed is a check that failed.
type Failed struct {
	Check    string `json:"check"`    // one of the names above
	Of       string `json:"of"`       // a workload, a transaction, an asset, or an account and an asset
	Expected string `json:"expected"` // in words
	Found    string `json:"found"`
}

func (f Failed) String() string {
	return fmt.Sprintf("%s %s: expected %s, found %s", f.Check, f.Of, f.Expected, f.Found)
}

// fail adds a check that failed.
func (r *Report) fail(check, of, expected, found string) {
	r.Failed = append(r.Failed, Failed{check, of, expected, found})
}

// check compares every balance of the run, read strongly, with the book. cut is the reason why the load ended early, or
// nil. It is a failure if the checks are not complete when ctx ends.
func (r *Run) check(ctx context.Context, out *Report, workloads []*measured, cut error) {
	if errors.Is(cut, errSilent) {
		out.fail(checkAnswered, "the load", "a successful request every "+silenceTimeout.String(),
			"none, so the load was ended")
	}
	err := r.resolve(ctx)
	for _, p := range r.pending {
		out.fail(checkOutcome, p.names, "a known outcome", "an unknown one")
	}
	out.Failed = slices.Concat(out.Failed, r.warming.check("warm-up"), r.resolving.check("unknown outcomes"))
	for _, m := range workloads {
		out.Failed = append(out.Failed, m.counts.check(m.workload)...)
		if m.counts.done == 0 && cut == nil {
			out.fail(checkAnswered, m.workload, "successful requests", "none")
		}
	}
	if err == nil {
		err = r.checkBalances(ctx, out)
	}
	if err == nil && r.Projected {
		var late []Failed
		late, err = r.unprojected(ctx)
		out.Failed = append(out.Failed, late...)
		out.Projected = err == nil
	}
	if err != nil {
		out.fail(checkUnread, "the load", "all balances to be compared", err.Error())
	}
}

// resolve retries the transactions of unknown outcome, and adds those that were posted to the book.
func (r *Run) resolve(ctx context.Context) error {
	r.mu.Lock()
	open := r.pending
	r.pending = nil
	r.mu.Unlock()
	var buffer bytes.Buffer
	for i := range open {
		out, err := r.call(ctx, ctx, &open[i].request, &buffer, &r.resolving)
		switch {
		case err != nil:
			r.pending = append(r.pending, open[i:]...)
			return err
		case out.code == "":
			r.book.post(open[i].legs)
		case out.verdict != final: // the outcome is still unknown
			r.pending = append(r.pending, open[i])
		}
	}
	return nil
}

// checkBalances compares every balance, read strongly, with the book, and adds up each asset.
func (r *Run) checkBalances(ctx context.Context, out *Report) error {
	found := make([]client.Balance, len(r.book.sums))
	if err := r.each(ctx, func(account, asset int) (err error) {
		found[account*assets+asset], err = r.balance(ctx, account, asset, true)
		return err
	}); err != nil {
		return err
	}
	out.Balances = len(found)
	for asset, name := range r.fixture.assets {
		var quantity, cost events.Amount
		for account := range r.fixture.names {
			b := found[account*assets+asset]
			if !r.book.at(account, asset).agrees(b) {
				out.Failed = append(out.Failed, r.differs(checkBalance, account, asset, b))
			}
			if r.fixture.limited(account) && b.Quantity.Sign() < 0 {
				out.fail(checkLimit, r.fixture.names[account]+" "+name, "not less than 0", b.Quantity.String())
			}
			var err1, err2 error
			quantity, err1 = quantity.Add(b.Quantity)
			cost, err2 = cost.Add(b.NetExpenditure)
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
		}
		if !quantity.IsZero() || !cost.IsZero() {
			out.fail(checkSum, name, "quantities and costs that add up to 0",
				fmt.Sprintf("quantities %s, costs %s", quantity, cost))
		}
	}
	return nil
}
