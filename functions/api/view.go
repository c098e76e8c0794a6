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

// view holds the accounts whose legs a caller may see: those on which they have a role. A nil view shows everything.
type view map[string]access.Right

// sees reports whether the legs of an account are shown.
func (v view) sees(account string) bool { return v == nil || v[account].Role > access.None }

// any reports whether v shows any of the legs.
func (v view) any(legs []events.Leg) bool {
	return slices.ContainsFunc(legs, func(l events.Leg) bool { return v.sees(l.Account) })
}

// view reads the caller's rights on the accounts of legs. need returns the role that is needed on the account of a leg.
func (r *request) view(ctx context.Context, legs []events.Leg, need func(events.Leg) access.Role) (view, error) {
	if r.caller.Admin {
		return nil, nil
	}
	needs := make(map[string]access.Role)
	for _, leg := range legs {
		needs[leg.Account] = max(needs[leg.Account], need(leg))
	}
	return r.accountRights(ctx, needs)
}

// toRead returns the role that is needed to read a leg.
func toRead(events.Leg) access.Role { return access.Viewer }

// shownTo returns a reading of a list without the items on which a user has no role now. name returns the account or
// the group of an item, and roles returns the caller's rights on these.
func shownTo[T any](
	r *request, read reading[T], roles func(context.Context, ...string) (map[string]access.Right, error),
	name func(T) string,
) reading[T] {
	if r.caller.Admin {
		return read
	}
	return func(ctx context.Context, of string, s projections.Slice) (projections.Page[T], error) {
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

// visibleTo returns t without the legs that v does not show, and without what was reversed of them.
func (t transaction) visibleTo(v view) transaction {
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

// visibleTo returns a reply without the legs that v does not show.
func (out reply) visibleTo(v view) reply {
	if t, ok := out.body.(transaction); ok {
		out.body = t.visibleTo(v)
	}
	return out
}

// redactRefusal returns an error of the ledger without the legs that v does not show.
func redactRefusal(v view, err error) error {
	e, ok := errors.AsType[*ledger.Error](err)
	if !ok || v == nil || e.Left == nil {
		return err
	}
	shown := *e
	shown.Left = slices.DeleteFunc(slices.Clone(e.Left), func(l ledger.LegRequest) bool { return !v.sees(l.Account) })
	return &shown
}

// permitRead returns the caller's view of a transaction. If the caller may see none of its legs, it does not exist for
// the caller.
func (r *request) permitRead(ctx context.Context, header events.TransactionPosted) (view, error) {
	v, err := r.view(ctx, header.Legs, toRead)
	if err == nil && !v.any(header.Legs) {
		err = ledger.TransactionNotFound()
	}
	r.isPermitted = err == nil
	return v, err
}

// permitEndOrReversal checks a caller who ends or reverses a transaction, and returns the caller's view of it. debits
// reports whether the caller needs the role of the route on the account of a leg.
func (a *api) permitEndOrReversal(
	ctx context.Context, r *request, id string, debits func(ledger.Lifecycle, int) bool,
) (view, error) {
	if r.caller.Admin {
		return nil, nil
	}
	lifecycle, err := a.config.Resources.Lifecycle(ctx, id)
	if err != nil {
		return nil, err
	}
	legs, needed := lifecycle.Header.Legs, r.rule.role
	needs := func(leg events.Leg) access.Role {
		for i := range legs {
			if legs[i].Account == leg.Account && debits(lifecycle, i) {
				return needed
			}
		}
		return access.Viewer
	}
	v, err := r.view(ctx, legs, needs)
	if err != nil {
		return nil, err
	}
	_, byUser := access.UserOf(lifecycle.Header.Actor)
	weak := func(leg events.Leg) bool { return needs(leg) == needed && v[leg.Account].Role < needed }
	switch {
	case !v.any(legs):
		return nil, ledger.TransactionNotFound()
	case r.rule.of == onHold && !byUser:
		return nil, forbidden(access.Administrator,
			"A service placed this hold; only services and administrators may end it.")
	case slices.ContainsFunc(legs, weak):
		return nil, forbidden(needed, "This request needs the role operator on every account that it debits.")
	}
	r.isPermitted = true
	return v, nil
}

// debitedByHold reports whether the i-th leg of a hold debits its account.
func debitedByHold(l ledger.Lifecycle, i int) bool { return l.Header.Legs[i].Quantity.Sign() <= 0 }

// debitedBy returns a function that reports whether the reversal of a part debits the account of the i-th leg. For a
// hold, the planned legs count, because it may be captured before the reversal is executed.
func debitedBy(p ledger.Part) func(ledger.Lifecycle, int) bool {
	return func(l ledger.Lifecycle, i int) bool {
		if i < len(p.Postings) && p.Postings[i].Quantity.IsZero() && p.Postings[i].Cost.IsZero() {
			return false
		}
		return l.Header.Legs[i].Quantity.Sign() >= 0
	}
}

// readWithView calls read, which reads a list of a transaction. For a user, it concurrently reads the transaction, and
// then sets seen to the user's view of it.
func (a *api) readWithView(
	ctx context.Context, r *request, id string, seen *view, read func(context.Context) error,
) error {
	if r.caller.Admin {
		return read(ctx)
	}
	var lifecycle ledger.Lifecycle
	both, bothCtx := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		defer recoverTo(&err)
		lifecycle, err = a.config.Resources.Lifecycle(bothCtx, id)
		return err
	})
	both.Go(func() (err error) {
		defer recoverTo(&err)
		return read(bothCtx)
	})
	err := both.Wait()
	if err == nil {
		*seen, err = r.permitRead(ctx, lifecycle.Header)
	}
	return err
}
