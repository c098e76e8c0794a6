package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"sync"

	"ledger.example/cmd/ledger/client"
)

// The checks that a run may fail.
const (
	checkOutcome   = "outcome"   // whether a transaction was posted could not be found out
	checkAnswered  = "answered"  // the ledger did nothing any more, or nothing of a workload
	checkErrors    = "errors"    // requests failed otherwise than by a refusal or a 503
	checkRefused   = "refused"   // a debit was refused that had cover, as all have
	checkBalance   = "balance"   // what a strong read says is not what was acknowledged
	checkSum       = "sum"       // the balances of an asset don't add up to zero
	checkLimit     = "limit"     // an account is below its limit
	checkProjected = "projected" // the projection did not come to what was acknowledged
	checkUnread    = "unread"    // the checks could not be made
)

// Failed is a check that failed.
type Failed struct {
	Check    string `json:"check"`             // outcome, answered, errors, refused, balance, sum, limit, projected, unread
	Workload string `json:"workload,omitzero"` // of answered, errors and refused; "warm-up", or "" after the load
	Account  string `json:"account,omitzero"`  // of balance, limit and projected
	Asset    string `json:"asset,omitzero"`    // of those and of sum
	ID       string `json:"id,omitzero"`       // of the transaction: of outcome
	Expected string `json:"expected"`          // in words
	Found    string `json:"found"`
}

func (f Failed) String() string {
	where := strings.Join(slices.DeleteFunc([]string{f.Check, f.Workload, f.ID, f.Account, f.Asset}, func(s string) bool { return s == "" }), " ")
	return fmt.Sprintf("%s: expected %s, found %s", where, f.Expected, f.Found)
}

// Checked is what was looked at in the end.
type Checked struct {
	Balances  int  `json:"balances"`  // read strongly, and compared with the client's own books
	Projected bool `json:"projected"` // whether the projection was waited for, and compared, too
}

// check holds the ledger against the client's own books: it reads every balance of the run strongly. cut is why the load was
// ended early, nil if it wasn't. What cannot be checked until ctx ends is a failure.
func (r *run) check(ctx context.Context, measured []*measured, cut error) (checked Checked, failed []Failed) {
	unread := func(err error) (Checked, []Failed) {
		return checked, append(failed, Failed{Check: checkUnread, Expected: "all balances to be read, and compared", Found: err.Error()})
	}
	if errors.Is(cut, errSilent) {
		failed = append(failed, Failed{Check: checkAnswered, Expected: fmt.Sprintf("a success every %s", silencePatience), Found: "none: the load was ended"})
	}
	unresolved := r.resolve(ctx)
	for _, p := range r.pending {
		failed = append(failed, Failed{Check: checkOutcome, ID: p.request.id, Expected: "an answer", Found: "none that tells whether it was posted"})
	}
	failed = append(failed, r.warming.check("warm-up")...)
	failed = append(failed, r.resolving.check("")...)
	for _, m := range measured {
		failed = append(failed, m.counts.check(m.workload)...)
		if m.counts.done == 0 && cut == nil {
			failed = append(failed, Failed{Check: checkAnswered, Workload: m.workload, Expected: "requests that succeed", Found: "none"})
		}
	}
	if unresolved != nil {
		return unread(unresolved)
	}
	wrong, err := r.checkBalances(ctx)
	if err != nil {
		return unread(err)
	}
	checked.Balances = len(r.book.of)
	failed = append(failed, wrong...)
	if r.Projected {
		late, err := r.unprojected(ctx)
		for _, l := range late {
			failed = append(failed, r.differs(checkProjected, l.account, l.asset, l.found))
		}
		if err != nil {
			return unread(err)
		}
		checked.Projected = true
	}
	return checked, failed
}

// check returns what was answered as no ledger may.
func (c *counts) check(workload string) (failed []Failed) {
	if c.refusals > 0 {
		failed = append(failed, Failed{Check: checkRefused, Workload: workload, Expected: "no refusal, as every debit had cover",
			Found: fmt.Sprintf("%d refusals", c.refusals)})
	}
	if c.faults > 0 {
		failed = append(failed, Failed{Check: checkErrors, Workload: workload, Expected: "no errors but 503",
			Found: fmt.Sprintf("%d, among %s", c.faults, strings.Join(slices.Sorted(maps.Keys(c.errors)), ", "))})
	}
	return failed
}

// resolve asks again for the transactions whose outcome isn't known, and books those that were posted.
func (r *run) resolve(ctx context.Context) error {
	r.mu.Lock()
	open := r.pending
	r.pending = nil
	r.mu.Unlock()
	var buffer bytes.Buffer
	for i := range open {
		out, err := r.ask(ctx, ctx, &open[i].request, &buffer, &r.resolving)
		switch {
		case err != nil:
			r.pending = append(r.pending, open[i:]...)
			return err
		case out.code == "":
			r.book.post(open[i].legs)
		case !out.final: // nor does it tell about the attempts before
			r.pending = append(r.pending, open[i])
		}
	}
	return nil
}

// checkBalances compares every balance with the books, by strong reads, and adds up what was read.
func (r *run) checkBalances(ctx context.Context) ([]Failed, error) {
	found := make([]client.Balance, len(r.book.of))
	var mu sync.Mutex
	var failed []Failed
	err := r.each(ctx, func(account, asset int) error {
		b, err := r.balance(ctx, account, asset, true)
		if err != nil {
			return err
		}
		found[account*assets+asset] = b
		mu.Lock()
		defer mu.Unlock()
		if !r.book.at(account, asset).agrees(b) {
			failed = append(failed, r.differs(checkBalance, account, asset, b))
		}
		if r.cast.limited(account) && b.Quantity.Sign() < 0 {
			failed = append(failed, Failed{Check: checkLimit, Account: r.cast.names[account], Asset: r.cast.assets[asset],
				Expected: "not less than 0", Found: b.Quantity.String()})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for asset, name := range r.cast.assets {
		quantity, cost := new(big.Int), new(big.Int)
		for account := range r.cast.names {
			b := found[account*assets+asset]
			for sum, text := range map[*big.Int]string{quantity: b.Quantity.String(), cost: b.NetExpenditure.String()} {
				n, ok := new(big.Int).SetString(text, 10)
				if !ok {
					return nil, fmt.Errorf("%q is not an amount", text)
				}
				sum.Add(sum, n)
			}
		}
		if quantity.Sign() != 0 || cost.Sign() != 0 {
			failed = append(failed, Failed{Check: checkSum, Asset: name, Expected: "quantities and costs that add up to 0",
				Found: fmt.Sprintf("quantities %s, costs %s", quantity, cost)})
		}
	}
	slices.SortFunc(failed, func(a, b Failed) int {
		return strings.Compare(a.Check+" "+a.Asset+" "+a.Account, b.Check+" "+b.Asset+" "+b.Account)
	})
	return failed, nil
}

// differs says how a balance is not what was counted.
func (r *run) differs(check string, account, asset int, found client.Balance) Failed {
	say := func(quantity, cost string, postings int64) string {
		return fmt.Sprintf("quantity %s, net expenditure %s, postings %d", quantity, cost, postings)
	}
	want := r.book.at(account, asset)
	return Failed{
		Check: check, Account: r.cast.names[account], Asset: r.cast.assets[asset],
		Expected: say(amount(want.quantity.Load()), amount(want.cost.Load()), want.postings.Load()),
		Found:    say(found.Quantity.String(), found.NetExpenditure.String(), found.Postings),
	}
}
