package ledger

import (
	"context"

	"ledger.example/events"
)

// allowsDebit reports whether an account's state allows a debit. A reversal may debit a closed account.
func allowsDebit(a *Account, isReversal bool) bool {
	switch a.State {
	case events.StateFrozen:
		return false
	case events.StateClosed:
		return isReversal
	}
	return true
}

// checkStates checks the account states that no guard checks. Errors: CodeAccountClosed for a credit; CodeAccountClosed
// and CodeAccountFrozen for a debit of an account without a limit. It uses cached accounts, which may be as old as
// creditAge and debitAge. It reads an account again before it refuses a debit, because a freeze may have ended. Its
// errors refuse this request only: another request with the same id may be in flight, and be posted.
func (r *request) checkStates(ctx context.Context, l *Ledger) *Error {
	for _, leg := range r.header.Legs {
		a := r.known.account(leg.Account)
		if a.State == events.StateOpen {
			continue
		}
		debited := leg.Quantity.Sign() < 0
		switch {
		case !debited && a.State == events.StateClosed:
			return stateError(r.draft, a)
		case !debited, !a.Overdraft.Unlimited, allowsDebit(a, r.isReversal()):
			continue
		}
		now, err := l.Account(ctx, a.ID)
		if err != nil {
			return asError(err)
		}
		if !allowsDebit(&now, r.isReversal()) {
			return stateError(r.draft, &now)
		}
	}
	return nil
}

// stateError is the error of a transaction that the state of an account forbids. Its Fields are those with the account.
func stateError(d draft, a *Account) *Error {
	code, is, rule := CodeAccountFrozen, " is frozen: it cannot be debited.", "names a frozen account"
	if a.State == events.StateClosed {
		code, is, rule = CodeAccountClosed, " is closed.", "names a closed account"
	}
	e := refuse(code, "The account "+a.ID+is)
	if e.Account = a.ID; !d.isReversal() { // its request has no accounts
		e.Fields = d.accountFields(func(id string) bool { return id == a.ID }, rule)
	}
	return e
}
