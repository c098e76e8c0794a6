package ledger

import (
	"context"

	"ledger.example/events"
)

// allowsDebit reports whether an account's state allows a debit. A reversal may take back what reached a closed
// account.
func allowsDebit(a *Account, takesBack bool) bool {
	switch a.State {
	case events.StateFrozen:
		return false
	case events.StateClosed:
		return takesBack
	}
	return true
}

// forbidden returns nil, or the error of a transaction that the state of an account forbids and no guard can refuse:
// CodeAccountClosed for a credit, and for a debit without a limit also CodeAccountFrozen. It is judged by what is
// known of the accounts, which may be as old as creditAge and debitAge; only a freeze is read anew, as it may be over.
// Another request of this id may be in progress and pass.
func (p *posting) forbidden(ctx context.Context, l *Ledger) *Error {
	for _, leg := range p.header.Legs {
		a := p.known.account(leg.Account)
		if a.State == events.StateOpen {
			continue
		}
		takesBack := p.draft.kind == events.KindReversal
		debited := leg.Quantity.Sign() < 0
		switch {
		case !debited && a.State == events.StateClosed:
			return barred(p.draft, a)
		case !debited, !a.Overdraft.Unlimited, allowsDebit(a, takesBack):
			continue
		}
		now, err := l.Account(ctx, a.ID)
		if err != nil {
			return asError(err)
		}
		if !allowsDebit(&now, takesBack) {
			return barred(p.draft, &now)
		}
	}
	return nil
}

// barred is the error of a transaction that the state of an account forbids. It names the fields that name the account.
func barred(d draft, a *Account) *Error {
	e := &Error{Code: CodeAccountFrozen, Detail: "The account " + a.ID + " is frozen: it cannot be debited."}
	rule := "names a frozen account"
	if a.State == events.StateClosed {
		e.Code, e.Detail, rule = CodeAccountClosed, "The account "+a.ID+" is closed.", "names a closed account"
	}
	if d.kind == events.KindReversal { // it names no accounts
		return e
	}
	var f faults
	for i, leg := range d.legs {
		if leg.Account == a.ID {
			f.check(d.fields(i).account, rule)
		}
	}
	e.Fields = f
	return e
}
