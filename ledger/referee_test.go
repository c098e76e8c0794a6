package ledger

import (
	"slices"
	"testing"

	"ledger.example/events"
)

// A referee judges refusals by the sentences of docs/design.md, in small numbers. It shares no code with judge and with
// the limits.
type referee struct {
	written
	purses  []purse
	refused []int  // the accounts whose guards refused
	because string // the sentence by which it judges
}

// The referee's sentences.
const (
	isCovered = "a guard passes what is covered by known credits and the overdraft, less what was spent"
	isApart   = "independent requests that are written together are not covered by each other's credits"
	isSynced  = "a guard that is missing, or has another version, proves nothing: it is set"
	mayCover  = "what other commands read meanwhile may cover the debits"
	isRetried = "what is known to be covered is sent again"
	isExact   = "credits that are not exact, or were read before the refusal, do not prove that a debit is not covered"
	isNewest  = "the accounts are read after the exact credits, so that a refusal is by the newest limit and state"
	isPartial = "while the exact read has not found all that the guard counts, the debit is tried five times more"
	isFinal   = "what is not covered by exact credits and the newest account is refused"
	isBlamed  = "the first request that is not covered is refused, for its own reason"
)

// allows reports whether the state of a version lets a request debit.
func (r *referee) allows(i, version int, one posts) bool {
	switch r.purses[i].stands[version-1].state {
	case events.StateFrozen:
		return false
	case events.StateClosed:
		return one.reverses
	}
	return true
}

// brings returns what a request brings at once to an account.
func (one posts) brings(i int) int64 {
	if one.holds || one.backdated {
		return 0
	}
	return one.credits[i]
}

// firstFailure returns the first request that an account does not cover or allow by a version and by known credits, -1
// if there is none, and what is available to that request.
func (r *referee) firstFailure(i, version int) (first int, available int64) {
	p := r.purses[i]
	available = p.known + p.overdraft(version) - p.spent
	for n, one := range r.requests {
		debits, brings := one.debits[i], one.brings(i)
		if r.joint {
			brings = min(brings, debits)
		}
		if debits > 0 && (!r.allows(i, version, one) || available+brings < debits) {
			return n, available
		}
		available += brings - debits
	}
	return -1, 0
}

func (r *referee) covers(i int) bool {
	first, _ := r.firstFailure(i, r.purses[i].knows)
	return first < 0
}

func (r *referee) debits(i int) bool {
	return slices.ContainsFunc(r.requests, func(one posts) bool { return one.debits[i] > 0 })
}

// isRefused reports whether the guard of an account refuses the attempt.
func (r *referee) isRefused(i int) bool {
	return r.purses[i].guard != r.purses[i].knows || !r.covers(i)
}

// agrees checks which guards the attempt passes. It reports whether one refuses it.
func (r *referee) agrees(t *testing.T, a *attempts) (isRefused bool) {
	t.Helper()
	for i, p := range r.purses {
		at := slices.IndexFunc(a.limits, func(l *limit) bool { return l.pair.Account == accountIDs[i] })
		if (at >= 0) != r.debits(i) {
			t.Fatalf("the debits of %s have a limit: %v\ncommit %+v", accountIDs[i], at >= 0, r.written)
		}
		if at < 0 {
			continue
		}
		l := a.limits[at]
		got := l.guard.version != l.account.Version || l.guard.spent.Cmp(l.bound()) > 0
		if want := r.isRefused(i); got != want && *without != isCovered {
			t.Fatalf("refused: %v, want %v, because %s\ncommit %+v\npurse %+v", got, want, isCovered, r.written, p)
		}
		isRefused = isRefused || r.isRefused(i)
	}
	return isRefused
}

// next says what follows on the refusals.
func (r *referee) next(seen findings) step {
	says := func(because string, s step) step {
		r.because = because
		return s
	}
	isOutdated, isUncovered, isHidden := false, false, false
	for _, i := range r.refused {
		p, most := r.purses[i], int64(0)
		for _, s := range p.stands[:p.knows] {
			most = max(most, s.overdraft)
		}
		isOutdated = isOutdated || p.guard != p.knows
		isUncovered = isUncovered || !r.covers(i)
		isAllowed := !slices.ContainsFunc(r.requests, func(one posts) bool {
			return one.debits[i] > 0 && !r.allows(i, p.knows, one)
		})
		isHidden = isHidden || !r.covers(i) && isAllowed && (p.hidden > 0 || p.known+most < p.spent)
	}
	switch {
	case isOutdated && seen.accounts:
		return says(isNewest, stepRetry)
	case isOutdated:
		return says(isSynced, stepSync)
	case !seen.others:
		return says(mayCover, stepAwait)
	case !isUncovered:
		return says(isRetried, stepRetry)
	case !seen.exact:
		return says(isExact, stepExact)
	case !seen.accounts:
		return says(isNewest, stepAccounts)
	case isHidden && seen.partial < 5:
		return says(isPartial, stepRetryPartial)
	}
	return says(isFinal, stepRefuse)
}

// reads lets the command know the credits, if it does.
func (r *referee) reads(does bool) {
	for _, i := range r.refused {
		if does {
			r.purses[i].known = r.purses[i].credits
		}
	}
}

func (r *referee) grow(by int64) {
	for _, i := range r.refused {
		r.purses[i].credits += by
	}
}

// hide lets what was last spent be found later than the exact credits.
func (r *referee) hide(most int64) {
	for _, i := range r.refused {
		r.purses[i].hidden = min(most, r.purses[i].spent)
	}
}

// change writes a new version of the accounts, and lets the command know the newest.
func (r *referee) change(to *stand) {
	for _, i := range r.refused {
		p := &r.purses[i]
		if to != nil {
			p.stands = append(slices.Clip(p.stands), *to)
		}
		p.knows = p.newest()
	}
}

// checkRefusal checks that a refusal is true, that it is final, and whom it names.
func (r *referee) checkRefusal(t *testing.T, a *attempts) {
	t.Helper()
	first, about, available := len(r.requests), 0, int64(0)
	for _, i := range r.refused {
		p := r.purses[i]
		at, left := r.firstFailure(i, p.newest())
		if isTrue := at >= 0 && p.known == p.credits; at >= 0 && (!isTrue || p.guard != p.newest()) && *without != isFinal {
			t.Fatalf("refused, but not for good\ncommit %+v\npurse %+v", r.written, p)
		}
		if at >= 0 && at < first {
			first, about, available = at, i, left
		}
	}
	if first == len(r.requests) {
		t.Fatalf("refused, but covered\ncommit %+v\npurses %+v", r.written, r.purses)
	}
	if r.joint { // nobody is blamed
		return
	}
	code := CodeInsufficientFunds
	if p := r.purses[about]; !r.allows(about, p.newest(), r.requests[first]) {
		if code = CodeAccountFrozen; p.stands[p.newest()-1].state == events.StateClosed {
			code = CodeAccountClosed
		}
	}
	number := 0
	if len(r.requests) > 1 {
		number = first + 1
	}
	got := a.shortfallError()
	isRight := got.Code == code && got.Account == accountIDs[about] && got.Request == number
	if code == CodeInsufficientFunds {
		isRight = isRight && got.Funds != nil && got.Funds.Available == events.NewAmount(available)
	}
	if !isRight && *without != isBlamed {
		t.Fatalf("refused: %+v of %+v, want request %d, %s of %s, with %d\ncommit %+v\npurses %+v", got, got.Funds, number,
			code, accountIDs[about], available, r.written, r.purses)
	}
}
