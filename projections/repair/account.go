package repair

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// ErrCountsMore is why a balance is not rebuilt: it, or a segment of it, counts more postings than there are. Postings
// may have been deleted, and after a rebuild nothing would show it.
var ErrCountsMore = errors.New("more is counted than there is")

// Scope says what of an account is rebuilt, and how.
type Scope struct {
	Account     string
	Asset       string // this asset's balance only, and the summary; "": all
	DryRun      bool   // nothing is written
	DropMissing bool   // balances that count more than there is are rebuilt, too; else they fail with ErrCountsMore
}

// Account rebuilds an account's balances, then its summary, then, unless one asset is asked for, its memberships and
// the entries of its holds, and calls report for each. The assets are those of its postings, balances and segments; the
// users, those of its grants and memberships. When ctx ends, it finishes what it is at. What fails stops nothing else,
// but for the summary, which needs every balance. Error: that of ctx, or why assets or users cannot be listed.
func (b *Rebuilder) Account(ctx context.Context, scope Scope, report func(Report)) error {
	account, complete := scope.Account, context.WithoutCancel(ctx)
	if scope.DryRun {
		b = b.dryRun()
	}
	noting := &withHolds{Views: b.views, holds: make(map[string]bool)}
	b = b.on(noting)
	assets, strays, err := []string{scope.Asset}, []Stray(nil), error(nil)
	if scope.Asset == "" {
		assets, strays, err = b.namesOf(ctx, account, table.PostingAssetAfter, table.BalanceAfter,
			table.SegmentAssetAfter)
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
			would := b.dryRun().Balance(complete, pair)
			if slices.ContainsFunc(would.Differences, func(d Difference) bool { return d.CountsMore }) {
				would.Differences, would.Err = nil, ErrCountsMore
			}
			if len(would.Differences) == 0 {
				report(would)
				continue
			}
		}
		report(b.Balance(complete, pair))
	}
	summary := b.summary(complete, account)
	summary.Strays = strays
	report(summary)
	if scope.Asset != "" {
		return nil
	}
	users, strays, err := b.namesOf(complete, account, table.GrantUserAfter, table.MembershipAfter)
	if err != nil {
		return err
	}
	if len(strays) > 0 {
		report(Report{Account: account, Strays: strays})
	}
	for _, user := range users {
		if err := ctx.Err(); err != nil {
			return err
		}
		report(b.Membership(complete, account, user))
	}
	return b.accountHolds(ctx, complete, account, noting.holds, report)
}

// Membership makes the membership of user on account what the newest grant or revocation says, whatever is stored. One
// without any grant becomes a revoked one of number 0, which any grant is put over. It is written only if nobody wrote
// it since it was read. By a wrong number a projector may have taken a grant for shown that came after the rebuild had
// read the grants: so what was wrong is rebuilt once more. Errors in the report: those of Views; store.ErrConflict when
// others kept coming first.
func (b *Rebuilder) Membership(ctx context.Context, account, user string) Report {
	report := Report{Account: account, User: user}
	attempt := func() error {
		found, err := b.views.StoredMembership(ctx, account, user)
		if err != nil {
			return fmt.Errorf("read membership: %w", err)
		}
		m, err := b.views.NewestGrant(ctx, account, user)
		switch {
		case errors.Is(err, store.ErrAbsent) && !found.There:
			return nil
		case errors.Is(err, store.ErrAbsent):
			m = projections.Membership{Account: account, User: user}
		case err != nil:
			return fmt.Errorf("read newest grant: %w", err)
		}
		if found.There && found.Fault == nil && found.Value == m {
			return nil
		}
		report.Differences = []Difference{differenceOf(table.MembershipKey(account, user), found, m)}
		if err := b.views.PutMembership(ctx, m, found.Revision); err != nil {
			return fmt.Errorf("write membership: %w", err)
		}
		return nil
	}
	report.Err = b.retry(ctx, attempt)
	if report.Err == nil && len(report.Differences) > 0 {
		report.Err = b.retry(ctx, attempt)
	}
	return report
}

// namesOf lists the assets, or users, of which account has keys in any of these ranges, ascending; those that are no
// ids are strays.
func (b *Rebuilder) namesOf(
	ctx context.Context, account string, ranges ...func(after string) table.Range,
) (names []string, strays []Stray, err error) {
	for _, after := range ranges {
		for name := ""; ; {
			var key table.Key
			err := b.retry(ctx, func() (err error) {
				key, err = b.views.FirstKey(ctx, account, after(name))
				return err
			})
			if errors.Is(err, store.ErrAbsent) {
				break
			}
			if err != nil {
				return nil, nil, fmt.Errorf("list what account %s has: %w", account, err)
			}
			if name = table.FirstID(key.SK); events.ValidID(name) {
				names = append(names, name)
			} else {
				strays = append(strays, Stray{Key: key, Why: "its key holds no id"})
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), strays, nil
}
