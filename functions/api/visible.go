package api

import (
	"context"
	"errors"
	"slices"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/functions/access"
	"ledger.example/ledger"
)

// rights are the accounts or groups on which a user has a role: whose legs they may see. The zero rights show none.
type rights map[string]access.Right

// sees reports whether the legs of an account are shown.
func (held rights) sees(account string) bool { return held[account].Role > access.None }

// any reports whether the rights show any of the legs.
func (held rights) any(legs []events.Leg) bool {
	return slices.ContainsFunc(legs, func(l events.Leg) bool { return held.sees(l.Account) })
}

// look reads the user's rights on the accounts of legs, which become those of the request. need returns the role that
// is needed on the account of a leg.
func (r *request) look(ctx context.Context, legs []events.Leg, need func(events.Leg) access.Role) (err error) {
	if r.caller.Admin {
		return nil
	}
	needs := make(map[string]access.Role)
	for _, leg := range legs {
		needs[leg.Account] = max(needs[leg.Account], need(leg))
	}
	r.seen, err = r.accountRights(ctx, needs)
	return err
}

// toRead returns the role that is needed to read a leg.
func toRead(events.Leg) access.Role { return access.Viewer }

// visible returns the answer to a user without what it tells of hidden legs. Every answer to a user passes here. What
// users post in a body they know, so that is returned whole. Error: the answer names what the user may not know.
func (r *request) visible(out reply, err error) (reply, error) {
	if r.caller.Admin || r.rule.of == client.OnDebited {
		return out, err
	}
	switch body := out.body.(type) {
	case transaction:
		out.body = r.seen.of(body)
	case client.List[transaction]:
		for i, t := range body.Data {
			body.Data[i] = r.seen.of(t)
		}
	}
	if err == nil {
		err = r.mayAnswer(out)
	}
	if e, ok := errors.AsType[*ledger.Error](err); ok {
		err = r.seen.ofRefusal(*e)
	}
	return out, err
}

// of returns t without the legs that the rights do not show, and without what was reversed of them.
func (held rights) of(t transaction) transaction {
	all := len(t.Postings)
	hidden := func(l leg) bool { return !held.sees(l.Account) }
	t.Postings = slices.DeleteFunc(t.Postings, hidden)
	t.Captured = slices.DeleteFunc(t.Captured, hidden)
	t.Reversed = slices.DeleteFunc(t.Reversed, func(l client.Leg) bool { return !held.sees(l.Account) })
	isTaken := func(l client.Leg) bool { return !l.Quantity.IsZero() || !l.Cost.IsZero() }
	if t.Hidden = all - len(t.Postings); t.Hidden > 0 && !slices.ContainsFunc(t.Reversed, isTaken) {
		t.Reversed = nil // as before a reversal of hidden postings alone
	}
	return t
}

// ofRefusal returns an error without its statements about legs that the rights do not show. Its code stays.
func (held rights) ofRefusal(e ledger.Error) *ledger.Error {
	isHidden := func(account string) bool { return !held.sees(account) }
	e.Left = slices.DeleteFunc(slices.Clone(e.Left), func(l ledger.LegRequest) bool { return isHidden(l.Account) })
	e.Fields = slices.DeleteFunc(slices.Clone(e.Fields), func(f ledger.FieldError) bool {
		return slices.ContainsFunc(f.Accounts, isHidden)
	})
	if e.Account != "" && isHidden(e.Account) {
		e.Account, e.Funds, e.Rate, e.Detail = "", nil, nil, kindOf(e.Code).Title+"."
	}
	return &e
}

// permitLegs checks a caller who reads a transaction. If a user may see none of its legs, it does not exist for them.
func (r *request) permitLegs(ctx context.Context, header events.TransactionPosted) error {
	err := r.look(ctx, header.Legs, toRead)
	if err == nil && !r.caller.Admin && !r.seen.any(header.Legs) {
		err = ledger.TransactionNotFound()
	}
	r.isPermitted = err == nil
	return err
}

// permitEndOrReversal checks a caller who ends or reverses a transaction. debits reports whether the caller needs the
// role of the route on the account of a leg. shown is the number of the transaction's legs, 0 if a user may not know
// it.
func (a *api) permitEndOrReversal(
	ctx context.Context, r *request, id string, debits func(events.TransactionPosted, int) bool,
) (shown int, _ error) {
	if r.caller.Admin {
		return 0, nil
	}
	header, err := a.config.Resources.Transaction(ctx, id)
	if err != nil {
		return 0, err
	}
	legs, needed := header.Legs, r.rule.role
	needs := func(leg events.Leg) access.Role {
		for i := range legs {
			if legs[i].Account == leg.Account && debits(header, i) {
				return needed
			}
		}
		return access.Viewer
	}
	if err := r.look(ctx, legs, needs); err != nil {
		return 0, err
	}
	_, byUser := access.UserOf(header.Actor)
	weak := func(leg events.Leg) bool { return needs(leg) == needed && r.seen[leg.Account].Role < needed }
	switch {
	case !r.seen.any(legs):
		return 0, ledger.TransactionNotFound()
	case r.rule.of == client.OnHold && !byUser:
		return len(legs), forbidden(access.Administrator,
			"A service placed this hold; only services and administrators may end it.")
	case slices.ContainsFunc(legs, weak):
		return len(legs), forbidden(needed, "This request needs the role operator on every account that it debits.")
	}
	return len(legs), nil
}

// debitedByHold reports whether the i-th leg of a hold debits its account.
func debitedByHold(t events.TransactionPosted, i int) bool { return t.Legs[i].Quantity.Sign() <= 0 }

// debitedBy returns a function that reports whether the reversal of a part debits the account of the i-th leg. For a
// hold, the planned legs count, because it may be captured before the reversal is executed.
func debitedBy(p ledger.Part) func(events.TransactionPosted, int) bool {
	return func(t events.TransactionPosted, i int) bool {
		if i < len(p.Postings) && p.Postings[i].IsZero() {
			return false
		}
		return t.Legs[i].Quantity.Sign() >= 0
	}
}
