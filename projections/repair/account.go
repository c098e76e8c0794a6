package repair

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
)

// ErrCountsMore is returned for a balance that counts more postings than exist, or has a segment that does. Postings
// may have been deleted. The balance is not rebuilt, since a rebuild would hide that.
var ErrCountsMore = errors.New("more postings are counted than exist")

// Scope says which part of an account is rebuilt, and how.
type Scope struct {
	Account     string
	Asset       string // only this asset's balance, and the summary; "": everything
	DryRun      bool   // write nothing
	DropMissing bool   // also rebuild balances that would fail with ErrCountsMore
}

// Account rebuilds an account and calls report for each projection: first the balances, then the summary. If
// scope.Asset is "", it also rebuilds the memberships, the places in groups and the entries of holds. It finds assets
// through postings, balances and segments, and users through grants and memberships. When ctx ends, it finishes the
// current projection. A projection that fails does not stop the others, but the summary needs every balance. Error:
// that of ctx, or of listing assets or users.
func (b *Rebuilder) Account(ctx context.Context, scope Scope, report func(Report)) error {
	account, uncanceled := scope.Account, context.WithoutCancel(ctx)
	if scope.DryRun {
		b = b.dryRun()
	}
	b = b.recordHolds()
	assets, strays, err := []string{scope.Asset}, []Stray(nil), error(nil)
	if scope.Asset == "" {
		assets, strays, err = b.namesIn(ctx, store.Account.PK(account), store.Posting.NextAfter,
			store.Balance.NextAfter, store.Segment.NextAfter)
		if err != nil {
			return err
		}
	}
	for _, asset := range assets {
		if err := ctx.Err(); err != nil {
			return err
		}
		pair := events.Pair{Account: account, Asset: asset}
		if !scope.DryRun && !scope.DropMissing {
			would := b.dryRun().Balance(uncanceled, pair)
			if slices.ContainsFunc(would.Differences, func(d Difference) bool { return d.CountsMore }) {
				would.Differences, would.Err = nil, ErrCountsMore
			}
			if len(would.Differences) == 0 {
				report(would)
				continue
			}
		}
		report(b.Balance(uncanceled, pair))
	}
	summary := b.summary(uncanceled, account)
	summary.Strays = strays
	report(summary)
	if scope.Asset != "" {
		return nil
	}
	if err := b.memberships(ctx, uncanceled, projections.Membership{Account: account}, report); err != nil {
		return err
	}
	if err := b.places(ctx, uncanceled, account, report); err != nil {
		return err
	}
	return b.accountHolds(ctx, uncanceled, scope, report)
}

// memberships rebuilds the memberships on an account or in a group, for each user with a grant or a stored membership.
func (b *Rebuilder) memberships(
	ctx, uncanceled context.Context, of projections.Membership, report func(Report),
) error {
	users, strays, err := b.namesIn(uncanceled, of.Key().PK, store.Grant.NextAfter, store.Membership.NextAfter)
	if err != nil {
		return err
	}
	if len(strays) > 0 {
		report(Report{Account: of.Account, Group: of.Group, Strays: strays})
	}
	for _, user := range users {
		if err := ctx.Err(); err != nil {
			return err
		}
		of.User = user
		report(b.Membership(uncanceled, of))
	}
	return nil
}

// Membership rebuilds the membership of a user on an account or in a group from the newest grant or revocation. A
// membership without any grant becomes a revoked one with number 0, which any grant replaces. The write is conditional
// on the item being unchanged.
//
// While a wrong, too high number was stored, a projector may have skipped a grant that was made after the rebuild read
// the grants. So a membership that was wrong is rebuilt a second time. Errors in the report: those of store.Table;
// store.ErrConflict after too many conflicts.
func (b *Rebuilder) Membership(ctx context.Context, of projections.Membership) Report {
	report := Report{Account: of.Account, Group: of.Group, User: of.User}
	return rebuildNewest(ctx, b, report, newestOf[projections.Membership]{
		key:    of.Key(),
		stored: func() (Stored[projections.Membership], error) { return b.storedMembership(ctx, of) },
		newest: func() (projections.Membership, time.Time, error) {
			m, err := b.views.NewestGrant(ctx, of)
			at := m.At
			m.At = time.Time{}
			return m, at, err
		},
		number: func(m projections.Membership) int64 { return m.Number },
		none:   of,
		put:    projections.MembershipForm.Replace,
	})
}

func (b *Rebuilder) storedMembership(ctx context.Context, of projections.Membership) (
	Stored[projections.Membership], error,
) {
	return readStored(ctx, b.table, of.Key(), projections.MembershipForm, func(m *projections.Membership) {
		m.Account, m.Group, m.User = of.Account, of.Group, of.User
	})
}

// newestOf is a projection that shows the newest of several numbered events. It has functions to read and write it.
type newestOf[T comparable] struct {
	key    store.Key
	stored func() (Stored[T], error)
	newest func() (v T, at time.Time, err error) // the correct value and its event's time. Error: also ErrAbsent
	number func(T) int64                         // of the event that it shows
	none   T                                     // the value without any event
	stray  string                                // if not "": why an item without any event is a stray
	put    func(v T, read projections.Revision) store.Write
}

// rebuildNewest rebuilds a projection from its newest event, as Membership describes.
func rebuildNewest[T comparable](ctx context.Context, b *Rebuilder, report Report, of newestOf[T]) Report {
	attempt := func() error {
		report.Strays = nil
		found, err := of.stored()
		if err != nil {
			return fmt.Errorf("read projection: %w", err)
		}
		v, at, err := of.newest()
		isAbsent := errors.Is(err, store.ErrAbsent)
		switch {
		case isAbsent && !found.Exists:
			return nil
		case isAbsent:
			v = of.none
		case err != nil:
			return fmt.Errorf("read newest event: %w", err)
		}
		switch {
		case found.Exists && found.Fault == nil && found.Value == v:
			return nil
		case isAbsent && of.stray != "":
			report.Strays = []Stray{{of.key, of.stray}}
			return nil
		}
		d := differenceOf(of.key, found, v)
		number := of.number(found.Value)
		d.Behind = !isAbsent && b.isYoung(at) && (!found.Exists || number > 0 && number < of.number(v))
		report.Differences = []Difference{d}
		if _, err := b.table.Write(ctx, of.put(v, found.Revision)); err != nil {
			return fmt.Errorf("write projection: %w", err)
		}
		return nil
	}
	report.Err = b.retry(ctx, attempt)
	if report.Err == nil && len(report.Differences) > 0 {
		report.Err = b.retry(ctx, attempt)
	}
	return report
}

// namesIn lists the assets, users or groups that the keys of a partition name within these ranges, ascending. Keys with
// malformed ids are strays.
func (b *Rebuilder) namesIn(
	ctx context.Context, partition string, ranges ...func(after string) store.Range,
) (names []string, strays []Stray, err error) {
	for _, after := range ranges {
		for name := ""; ; {
			var key store.Key
			err := b.retry(ctx, func() (err error) {
				key, err = b.firstKey(ctx, partition, after(name))
				return err
			})
			if errors.Is(err, store.ErrAbsent) {
				break
			}
			if err != nil {
				return nil, nil, fmt.Errorf("list keys of %s: %w", partition, err)
			}
			if name = store.FirstID(key.SK); events.ValidID(name) {
				names = append(names, name)
			} else {
				strays = append(strays, Stray{Key: key, Why: "the id in its key is malformed"})
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), strays, nil
}
