package projections

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ledger.example/events"
	"ledger.example/ledger/table"
)

// RebuildSummary counts an account's summary anew, whatever is stored, from its stored balances: those come first. Whenever what a
// balance brings to the summary changes, that is written together with it; so at one version of the summary, at which all
// balances are read, they add up to it. The balances are those of assets that were posted, as well as those that are stored: one that
// a transaction under way makes may not be seen yet, but its postings are. Errors: those of Rebuild; that a balance cannot be read.
func (p *Projector) RebuildSummary(ctx context.Context, account string, dry bool) (Rebuilt, error) {
	return p.rebuildSummary(ctx, account, dry, nil)
}

// rebuildSummary is RebuildSummary; become are balances as a dry run would have made them.
func (p *Projector) rebuildSummary(ctx context.Context, account string, dry bool, become map[string]rebuilt) (done Rebuilt, err error) {
	err = p.again(ctx, func() (bool, error) {
		found, _, at, err := p.views.SnapshotAccount(ctx, account, nil)
		if err != nil {
			return false, fmt.Errorf("read summary: %w", err)
		}
		assets, _, err := p.namesOf(ctx, account, ByPostings, ByBalances)
		if err != nil {
			return false, err
		}
		s := Summary{Account: account, Version: found.Value.Version}
		if !found.Versioned {
			s.Version = leap(at)
		}
		for some := range slices.Chunk(assets, SnapshotItems) {
			beside, balances, _, err := p.views.SnapshotAccount(ctx, account, some)
			if err != nil {
				return false, fmt.Errorf("read summary and balances: %w", err)
			}
			if beside.Mark != found.Mark {
				return false, fmt.Errorf("summary went on from %q to %q: %w", found.Mark, beside.Mark, table.ErrConflict)
			}
			for _, b := range balances {
				if would, ok := become[b.Value.Asset]; ok {
					b = Found[Balance]{Value: would.balance}
				}
				if b.Fault != nil {
					return false, fmt.Errorf("balance of %s: %w", b.Value.Asset, b.Fault)
				}
				s = s.with(share{}, b.Value.share())
			}
		}
		stored := found.Value
		stored.Version = s.Version
		if found.Fault == nil && stored == s {
			return false, nil
		}
		d := differenceOf(table.SummaryKey(account), found, s, Summary.fields)
		d.Behind = dry && found.Fault == nil && slices.ContainsFunc(assets, func(asset string) bool { w := become[asset]; return w.isBehind() })
		done.Differences = []Difference{d}
		if dry {
			return false, nil
		}
		if err := p.views.WriteSummary(ctx, s, found.Mark); err != nil {
			return false, fmt.Errorf("write summary: %w", err)
		}
		return false, nil
	})
	return done, err
}

// isBehind tells whether all that is amiss is that postings came moments ago.
func (r rebuilt) isBehind() bool {
	return len(r.Differences) > 0 && !slices.ContainsFunc(r.Differences, func(d Difference) bool { return !d.Behind })
}

// RebuildMembership makes the membership of user on account what the newest grant or revocation says, whatever is stored. One
// without any grant becomes a revoked one of number 0, which any grant is put over. It is written only as it was read, so a
// projector that comes between makes it start again. By a wrong number a projector may have taken a grant for shown that came
// after the rebuild had looked: so what was mended is looked at once more. Errors: those of Rebuild.
func (p *Projector) RebuildMembership(ctx context.Context, account, user string, dry bool) (Rebuilt, error) {
	done, err := p.rebuildMembership(ctx, account, user, dry)
	if dry || err != nil || len(done.Differences) == 0 {
		return done, err
	}
	_, err = p.rebuildMembership(ctx, account, user, dry)
	return done, err
}

func (p *Projector) rebuildMembership(ctx context.Context, account, user string, dry bool) (done Rebuilt, err error) {
	err = p.again(ctx, func() (bool, error) {
		found, err := p.views.StoredMembership(ctx, account, user)
		if err != nil {
			return false, fmt.Errorf("read membership: %w", err)
		}
		m, err := p.views.NewestGrant(ctx, account, user)
		switch {
		case errors.Is(err, table.ErrAbsent) && !found.There:
			return false, nil
		case errors.Is(err, table.ErrAbsent):
			m = Membership{Account: account, User: user}
		case err != nil:
			return false, fmt.Errorf("read newest grant: %w", err)
		}
		if found.There && found.Fault == nil && found.Value == m {
			return false, nil
		}
		done.Differences = []Difference{differenceOf(table.MembershipKey(account, user), found, m, Membership.fields)}
		if dry {
			return false, nil
		}
		if err := p.views.PutMembership(ctx, m, found.Mark); err != nil {
			return false, fmt.Errorf("write membership: %w", err)
		}
		return false, nil
	})
	return done, err
}

// Part is what one step of RebuildAccount rebuilt.
type Part struct {
	Account, Asset, User string // Asset of a balance, User of a membership, neither of a summary
	Rebuilt
	Err error
}

// RebuildAccount rebuilds an account's balances (that of one asset only, when that is not ""), then its summary, then, unless one asset
// is asked for, its memberships, and tells of each. The assets are those of its postings, balances and segments; the users, those of
// its grants and memberships. When ctx ends, it finishes the part that it is at. What fails stops nothing else, but for
// the summary, which waits for every balance that can't be read. Error: that of ctx, or why assets or users can't be listed.
func (p *Projector) RebuildAccount(ctx context.Context, account, asset string, dry bool, tell func(Part)) error {
	whole := context.WithoutCancel(ctx)
	assets, strays, err := []string{asset}, []Stray(nil), error(nil)
	if asset == "" {
		if assets, strays, err = p.namesOf(ctx, account, ByPostings, ByBalances, BySegments); err != nil {
			return err
		}
	}
	become := make(map[string]rebuilt)
	for _, asset := range assets {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := p.rebuild(whole, Key{Account: account, Asset: asset}, dry)
		if dry && err == nil {
			become[asset] = r
		}
		tell(Part{Account: account, Asset: asset, Rebuilt: r.Rebuilt, Err: err})
	}
	summary, err := p.rebuildSummary(whole, account, dry, become)
	summary.Strays = strays
	tell(Part{Account: account, Rebuilt: summary, Err: err})
	if asset != "" {
		return nil
	}
	users, strays, err := p.namesOf(whole, account, ByGrants, ByMemberships)
	if err != nil {
		return err
	}
	if len(strays) > 0 {
		tell(Part{Account: account, Rebuilt: Rebuilt{Strays: strays}})
	}
	for _, user := range users {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := p.RebuildMembership(whole, account, user, dry)
		tell(Part{Account: account, User: user, Rebuilt: r, Err: err})
	}
	return nil
}

// namesOf lists the assets, or users, of which account has items of any of these listings, ascending; those that are no ids are strays.
func (p *Projector) namesOf(ctx context.Context, account string, listings ...Listing) (names []string, strays []Stray, err error) {
	for _, by := range listings {
		for name := ""; ; {
			err := p.again(ctx, func() (bool, error) {
				next, err := p.views.NextOf(ctx, account, by, name)
				if err == nil {
					name = next
				}
				return false, err
			})
			if errors.Is(err, table.ErrAbsent) {
				break
			}
			if err != nil {
				return nil, nil, fmt.Errorf("list what account %s has: %w", account, err)
			}
			if events.ValidID(name) {
				names = append(names, name)
			} else {
				strays = append(strays, Stray{Key: by.key(account, name), Why: "its key holds no id"})
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), strays, nil
}

// key is where an item of a listing is, as far as the name tells.
func (by Listing) key(account, name string) table.Key {
	switch by {
	case ByBalances:
		return table.BalanceKey(account, name)
	case BySegments:
		return table.SegmentKey(account, name, "")
	case ByMemberships:
		return table.MembershipKey(account, name)
	case ByGrants:
		return table.GrantKey(account, name, 0)
	default:
		return table.PostingKey(account, name, "")
	}
}
