package api

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/access"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// view is what a caller sees of transactions: the accounts on which they have a role. A nil view sees everything.
type view map[string]access.Right

// sees reports whether what stands in an account is shown.
func (v view) sees(account string) bool { return v == nil || v[account].Role > access.None }

// any reports whether v sees any of the legs.
func (v view) any(legs []events.Leg) bool {
	return slices.ContainsFunc(legs, func(l events.Leg) bool { return v.sees(l.Account) })
}

// view reads the caller's roles on the accounts of legs: at least as strong as need returns for a leg, or weaker.
func (r *request) view(ctx context.Context, legs []events.Leg, need func(events.Leg) access.Role) (view, error) {
	if r.caller.Admin {
		return nil, nil
	}
	needs := make(map[string]access.Role)
	for _, leg := range legs {
		needs[leg.Account] = max(needs[leg.Account], need(leg))
	}
	return r.roles(ctx, needs)
}

// toRead is the role that is needed on every leg to read it.
func toRead(events.Leg) access.Role { return access.Viewer }

// shownTo returns a reading of a list without what users have no role on at that moment: lists come from projections,
// which lag. name returns the account or the group of an item, and roles the caller's roles on those.
func shownTo[T any](
	r *request, read reading[T], roles func(context.Context, ...string) (map[string]access.Right, error),
	name func(T) string,
) reading[T] {
	if r.caller.Admin {
		return read
	}
	return func(ctx context.Context, of string, s projections.Slice) (projections.Listed[T], error) {
		listed, err := read(ctx, of, s)
		if err != nil {
			return listed, err
		}
		names := make([]string, len(listed.Items))
		for i, item := range listed.Items {
			names[i] = name(item)
		}
		held, err := roles(ctx, names...)
		hidden := func(item T) bool { return held[name(item)].Role == access.None }
		listed.Items = slices.DeleteFunc(listed.Items, hidden)
		return listed, err
	}
}

// to returns what of t a view shows. What reversals took of legs that are not shown is left out, too.
func (t transaction) to(v view) transaction {
	if v == nil {
		return t
	}
	all := len(t.Postings)
	hidden := func(l leg) bool { return !v.sees(l.Account) }
	t.Postings = slices.DeleteFunc(t.Postings, hidden)
	t.Captured = slices.DeleteFunc(t.Captured, hidden)
	t.Reversed = slices.DeleteFunc(t.Reversed, func(l client.Leg) bool { return !v.sees(l.Account) })
	t.Hidden = all - len(t.Postings)
	return t
}

// to returns a reply with what a view shows of its transaction.
func (out reply) to(v view) reply {
	if t, ok := out.body.(transaction); ok {
		out.body = t.to(v)
	}
	return out
}

// refusalTo returns a refusal of the ledger with what a view shows of it.
func refusalTo(v view, err error) error {
	e, ok := errors.AsType[*ledger.Error](err)
	if !ok || v == nil || e.Left == nil {
		return err
	}
	shown := *e
	shown.Left = slices.DeleteFunc(slices.Clone(e.Left), func(l ledger.LegRequest) bool { return !v.sees(l.Account) })
	return &shown
}

// permitRead returns what the caller sees of a transaction. One without an account of theirs does not exist.
func (r *request) permitRead(ctx context.Context, header events.TransactionPosted) (view, error) {
	v, err := r.view(ctx, header.Legs, toRead)
	if err == nil && !v.any(header.Legs) {
		err = ledger.TransactionNotFound()
	}
	r.passed = err == nil
	return v, err
}

// permitLife checks who ends or reverses a transaction, and returns what they see of it. debits says which legs of the
// transaction make the caller need a role on their accounts.
func (a *api) permitLife(
	ctx context.Context, r *request, id string, debits func(ledger.Life, int) bool,
) (view, error) {
	if r.caller.Admin {
		return nil, nil
	}
	life, err := a.config.Facts.Life(ctx, id)
	if err != nil {
		return nil, err
	}
	legs, needed := life.Header.Legs, r.rule.role
	needs := func(leg events.Leg) access.Role {
		for i := range legs {
			if legs[i].Account == leg.Account && debits(life, i) {
				return needed
			}
		}
		return access.Viewer
	}
	v, err := r.view(ctx, legs, needs)
	if err != nil {
		return nil, err
	}
	_, byUser := access.UserOf(life.Header.Actor)
	weak := func(leg events.Leg) bool { return needs(leg) == needed && v[leg.Account].Role < needed }
	switch {
	case !v.any(legs):
		return nil, ledger.TransactionNotFound()
	case r.rule.of == onHold && !byUser:
		return nil, forbidden(access.Administrator, "A service placed this hold; only services and administrators may end it.")
	case slices.ContainsFunc(legs, weak):
		return nil, forbidden(needed, "This request needs the role operator on every account that it debits.")
	}
	r.passed = true
	return v, nil
}

// debitedByHold reports whether the i-th leg of a hold takes from its account.
func debitedByHold(l ledger.Life, i int) bool { return l.Header.Legs[i].Quantity.Sign() <= 0 }

// debitedBy returns which legs of a transaction a reversal of a part takes back. Of a hold those that are planned
// count: it may be captured before the reversal comes.
func debitedBy(p ledger.Part) func(ledger.Life, int) bool {
	return func(l ledger.Life, i int) bool {
		if i < len(p.Postings) && p.Postings[i].Quantity.IsZero() && p.Postings[i].Cost.IsZero() {
			return false
		}
		return l.Header.Legs[i].Quantity.Sign() >= 0
	}
}

// besideLife reads what belongs to a transaction. For a user it reads the transaction at the same time, and then what
// they see of it.
func (a *api) besideLife(
	ctx context.Context, r *request, id string, seen *view, read func(context.Context) error,
) error {
	if r.caller.Admin {
		return read(ctx)
	}
	var life ledger.Life
	both, bothCtx := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		defer recoverTo(&err)
		life, err = a.config.Facts.Life(bothCtx, id)
		return err
	})
	both.Go(func() (err error) {
		defer recoverTo(&err)
		return read(bothCtx)
	})
	err := both.Wait()
	if err == nil {
		*seen, err = r.permitRead(ctx, life.Header)
	}
	return err
}
