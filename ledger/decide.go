package ledger

import (
	"maps"
	"time"

	"ledger.example/events"
)

// facts is what was read to decide a request, with the time. They only grow while it is decided.
type facts struct {
	now     time.Time    // of the process, as events store it
	other   *Lifecycle   // of the transaction that it ends or reverses; without a header if there is none
	names   *definitions // of the accounts and assets of its legs, perhaps from a cache; some may be missing
	anew    *definitions // the accounts that were read again, strongly consistent
	sound   bool         // the process's clock agrees with the store's
	unknown bool         // an earlier attempt may still be applied
}

// need is the one thing that a decision needs next. The caller reads it, and decides again. A request is never read for
// in advance: which accounts are read anew depends on the leg that would be refused.
type need struct {
	what     what
	accounts []string // ids
}

type what int

const (
	needNothing  what = iota
	needOther         // the transaction that the request ends or reverses
	needNames         // the accounts and assets of the plan's legs; those of a cache suffice
	needAccounts      // accounts, not from a cache
	needClock         // a comparison of the process's clock with the store's
)

// plan is what a request writes, as decided from what was read: a transaction, or the end of a hold. Each attempt mints
// new KSUIDs for it.
type plan struct {
	header       events.TransactionPosted // of the transaction, without KSUIDs; or of the hold to end
	moved        []LegRequest             // by a transaction, without the cash of a settled trade
	known        *definitions             // of the accounts and assets in the header of a transaction
	refusedIfNew *Error                   // the refusal if nothing is stored for the request: see decide

	// Of a reversal and of the end of a hold:
	taken []events.Taken // what is reversed of each leg of the other transaction, or captured of the hold
	after events.KSUID   // of the last leg of that transaction; those that are written are greater

	ended    *events.HoldEnded // the hold's end as planned from; nil if it is open
	reversal int64             // the number of a reversal: the next one; 0 if another may have it
	listed   bool              // the request's id is among the reversals: it was posted, or is being committed
}

// decide plans what a request writes, or refuses it, or says what must be read first. It reads nothing itself. It
// checks in this order, and nothing is read for a check before those above it have passed:
//
//  1. The request itself.
//  2. The transaction that it ends or reverses: what is left of it, and the amounts. The end of a hold needs no more.
//  3. The accounts and assets that it names.
//  4. The times, and the process's clock only if one would be refused.
//  5. The states of accounts that no guard checks, read anew only if a cached state does not suffice.
//
// Its refusals are of two kinds. For those of laterRefusals the caller reads what is stored for the request, and
// refuses it only if that is nothing. The others are final at once: they depend on what never changes back, so no
// earlier request can have passed.
//
// The shape of a request was checked before. After decide, the size of a batch and what is stored are looked at, and in
// each attempt the clock, a late capture, closed periods, KSUIDs, numbers of reversals, and the guards.
//
// Whether the funds suffice is not decided here: the guards check that in each attempt, and the state of each account
// that they guard. judge says what it means if one refuses.
func decide(d *draft, k *facts) (p plan, _ need, _ *Error) {
	if refused := d.rules(); refused != nil {
		return p, need{}, refused
	}
	switch {
	case d.other() == "":
		p.moved = d.legs
	case k.other == nil:
		return p, need{what: needOther}, nil
	case k.other.Header.ID == "":
		return p, need{}, TransactionNotFound()
	case d.endsHold():
		return p, need{}, p.decideEnd(d, k.other)
	default:
		if refused := p.decideReversal(d, k.other); refused != nil || p.listed {
			return p, need{}, refused
		}
	}
	if k.names == nil {
		return p, need{what: needNames}, nil
	}
	full := *d
	full.legs = p.moved
	if refused := k.names.checkNames(full); refused != nil {
		return p, need{}, refused
	}
	if d.fit != nil {
		if refused := d.checkSources(k.names); refused != nil {
			return p, need{}, refused
		}
	}
	p.known, p.header = k.names, k.names.buildTransaction(full)
	missing, refused := p.decideHeader(d, k)
	return p, missing, refused
}

// decideHeader decides a transaction that has its header: by the time, and by the states of its accounts.
func (p *plan) decideHeader(d *draft, k *facts) (missing need, refused *Error) {
	if refused = p.decideTimes(d, k.now); refused != nil {
		if !k.sound { // by a correct clock they may be right
			return need{what: needClock}, nil
		}
		return need{}, refused
	}
	if k.unknown { // the attempt may still be applied, so no account state proves a refusal
		return need{}, nil
	}
	return p.checkStates(d, k)
}

// decideTimes decides the time of expiry and the effective date.
func (p *plan) decideTimes(d *draft, now time.Time) (refused *Error) {
	if d.Hold != nil {
		p.header.ExpiresAt, refused = d.Hold.expiry(now)
	}
	if refused == nil && d.EffectiveAt != nil && !isPast(d.effective(), now) {
		refused = invalidRequest(FieldError{Field: Field{Name: "effective_at"}, Rule: rulePast})
	}
	return refused
}

// checkStates checks the account states that no guard checks. Errors: CodeAccountClosed for a credit; CodeAccountClosed
// and CodeAccountFrozen for a debit of an account without a limit, and for a cost alone that an account gives. It uses
// cached accounts, which may be as old as creditAge and debitAge, but needs anew those that give a cost alone, because
// no guard of theirs would refuse it. It also needs an account anew before it refuses a debit, because a freeze may
// have ended. Its errors refuse this request only: another request with the same id may be in flight, and be posted.
func (p *plan) checkStates(d *draft, k *facts) (need, *Error) {
	if k.anew == nil {
		if anew := p.unproved(d); anew != nil {
			return need{what: needAccounts, accounts: anew}, nil
		}
	}
	for _, leg := range p.header.Legs {
		a := p.known.account(leg.Account)
		if k.anew != nil {
			if now := k.anew.account(leg.Account); now != nil {
				a = now
			}
		}
		if !p.hasGuard(leg) && !a.allows(leg, d.isReversal()) {
			return need{}, stateError(*d, *a)
		}
	}
	return need{}, nil
}

// unproved returns the accounts of which a cached state does not decide a leg.
func (p *plan) unproved(d *draft) (accounts []string) {
	for _, leg := range p.header.Legs {
		isCost := leg.Quantity.IsZero() && leg.Cost.Sign() < 0
		isDebit := leg.Quantity.Sign() < 0 && !p.known.account(leg.Account).allows(leg, d.isReversal())
		if isCost || isDebit && !p.hasGuard(leg) {
			accounts = append(accounts, leg.Account)
		}
	}
	return accounts
}

// hasGuard reports whether a guard checks the state of a leg's account in each attempt.
func (p *plan) hasGuard(leg events.Leg) bool {
	return leg.Quantity.Sign() < 0 && !p.known.account(leg.Account).Overdraft.Unlimited
}

// laterRefusals are codes that apply only if nothing is stored for the request. Most depend on the time or on other
// requests, so the same request may have been carried out before. Without its costs, an earlier version may have
// carried it out. A capture of more than was held never passes, but if the hold has ended, that is the answer.
var laterRefusals = []Code{
	CodeInvalidRequest, CodeNothingToReverse, CodeExceedsReversible, CodeExceedsHold, CodeCostRequired,
	CodeUnavailable,
	CodeAccountFrozen, CodeAccountClosed,
}

// buildTransaction returns the transaction of a draft, without KSUIDs. The draft must have passed shape, rules and
// checkNames.
func (known *definitions) buildTransaction(d draft) events.TransactionPosted {
	legs := known.legs(d)
	t := events.TransactionPosted{
		ID:          d.ID,
		Kind:        d.kind,
		Annotation:  d.Annotation.Annotation,
		Legs:        make([]events.Leg, len(legs)),
		Fingerprint: fingerprint(d),
		Actor:       d.Actor,
		Reverses:    d.reverses,
	}
	if t.Metadata = maps.Clone(t.Metadata); t.Metadata == nil {
		t.Metadata = map[string]string{}
	}
	for i, leg := range legs {
		t.Legs[i] = events.Leg{Account: leg.Account, Asset: leg.Asset, Quantity: leg.Quantity, Cost: leg.Cost}
	}
	return t
}

// allows reports whether an account's state allows a leg of a transaction. A frozen account is not debited: it gives
// no quantity, and no cost alone. A closed one gets nothing, but a reversal may debit it, and correct a cost alone.
func (a Account) allows(leg events.Leg, isReversal bool) bool {
	switch a.State {
	case events.StateFrozen:
		return leg.Quantity.Sign() > 0 || leg.Quantity.IsZero() && leg.Cost.Sign() >= 0
	case events.StateClosed:
		return isReversal && leg.Quantity.Sign() <= 0
	}
	return true
}

// allowsDebit reports whether an account's state allows that a quantity is taken from it.
func allowsDebit(a Account, isReversal bool) bool {
	return a.allows(events.Leg{Quantity: events.NewAmount(-1)}, isReversal)
}

// stateError is the error of a transaction that the state of an account forbids. Its Fields are those with the account.
func stateError(d draft, a Account) *Error {
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
