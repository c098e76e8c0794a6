package api

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"ledger.example/events"
	"ledger.example/projections"
)

// fakeLists is projections in memory.
type fakeLists struct {
	*calls
	facts    *fakeFacts
	balances map[projections.Key]projections.Balance
	postings []events.PostingRecorded // oldest first
	members  []projections.Membership
	unready  bool // nothing is projected nor indexed yet
	slice    projections.Slice
	span     projections.Span
	strong   bool
}

func (l *fakeLists) count(t testing.TB, leg events.Leg) {
	t.Helper()
	if l.balances == nil {
		l.balances = make(map[projections.Key]projections.Balance)
	}
	k := projections.Key{Account: leg.Account, Asset: leg.Asset}
	b := l.balances[k]
	head, err := b.Head.Add(projections.Posting{ID: leg.ID, Quantity: leg.Quantity, Cost: leg.Cost})
	if err != nil {
		t.Fatal(err)
	}
	b.Key, b.Version, b.Head = k, 1, head
	l.balances[k] = b
}

// of returns an account's balances by asset.
func (l *fakeLists) of(account string) (all []projections.Balance) {
	for _, b := range l.balances {
		if b.Account == account && !l.unready {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b projections.Balance) int { return strings.Compare(a.Asset, b.Asset) })
	return all
}

func (l *fakeLists) Balance(_ context.Context, k projections.Key) (projections.Balance, error) {
	if err := l.note("Balance"); err != nil {
		return projections.Balance{}, err
	}
	b, ok := l.balances[k]
	if !ok || l.unready {
		return projections.Balance{}, errAbsent
	}
	return b, nil
}

func (l *fakeLists) Balances(_ context.Context, account string, s projections.Slice) (projections.Listed[projections.Balance], error) {
	l.slice = s
	return pick(l.of(account), s, func(b projections.Balance) string { return b.Asset }), l.note("Balances")
}

func (l *fakeLists) opened(account string) *events.AccountOpened {
	e, ok := l.facts.accounts[account]
	if !ok || l.unready {
		return nil
	}
	return &e
}

func (l *fakeLists) AccountPage(ctx context.Context, account string, limit int) (*events.AccountOpened, projections.Summary, projections.Listed[projections.Balance], error) {
	err := l.note("AccountPage")
	balances := pick(l.of(account), projections.Slice{Limit: limit}, func(b projections.Balance) string { return b.Asset })
	s := projections.Summary{Account: account, Assets: int64(len(balances.Items))}
	for _, b := range balances.Items {
		if !b.Head.Quantity().IsZero() {
			s.Holdings++
		}
	}
	if s.Assets > 0 {
		s.First = l.postings[0].ID
	}
	return l.opened(account), s, balances, err
}

// newest returns an account's postings newest first; their KSUIDs as positions count backwards.
func (l *fakeLists) newest(account, asset string, s projections.Slice) (out projections.Listed[events.PostingRecorded]) {
	for _, p := range slices.Backward(l.postings) {
		if p.Account != account || asset != "" && p.Asset != asset || s.After != "" && string(p.ID) >= s.After {
			continue
		}
		if len(out.Items) == s.Limit {
			out.Next = string(out.Items[s.Limit-1].ID)
			break
		}
		out.Items = append(out.Items, p)
	}
	return out
}

func (l *fakeLists) Newest(_ context.Context, account string, n int) (*events.AccountOpened, projections.Listed[events.PostingRecorded], error) {
	err := l.note("Newest")
	return l.opened(account), l.newest(account, "", projections.Slice{Limit: n}), err
}

func (l *fakeLists) History(_ context.Context, account string, span projections.Span, s projections.Slice) (projections.Listed[events.PostingRecorded], error) {
	l.span, l.slice, l.strong = span, s, false
	return l.newest(account, "", s), l.note("History")
}

func (l *fakeLists) HistoryOf(_ context.Context, k projections.Key, span projections.Span, s projections.Slice, strong bool) (projections.Listed[events.PostingRecorded], error) {
	l.span, l.slice, l.strong = span, s, strong
	return l.newest(k.Account, k.Asset, s), l.note("HistoryOf")
}

func (l *fakeLists) Holders(_ context.Context, asset string, s projections.Slice) (projections.Listed[projections.Balance], error) {
	var all []projections.Balance
	for k, b := range l.balances {
		if k.Asset == asset {
			all = append(all, b)
		}
	}
	return pick(all, s, func(b projections.Balance) string { return b.Account }), l.note("Holders")
}

func byPrefix[T any](all map[string]T, prefix string) (out []T) {
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(id, prefix) {
			out = append(out, all[id])
		}
	}
	return out
}

func (l *fakeLists) Assets(_ context.Context, prefix string, s projections.Slice) (projections.Listed[events.AssetRegistered], error) {
	return pick(byPrefix(l.facts.assets, prefix), s, func(e events.AssetRegistered) string { return e.ID }), l.note("Assets")
}

func (l *fakeLists) Accounts(_ context.Context, prefix string, s projections.Slice) (projections.Listed[events.AccountOpened], error) {
	return pick(byPrefix(l.facts.accounts, prefix), s, func(e events.AccountOpened) string { return e.ID }), l.note("Accounts")
}

func (l *fakeLists) Members(_ context.Context, account string, s projections.Slice) (projections.Listed[projections.Membership], error) {
	var all []projections.Membership
	for _, m := range l.members {
		if m.Account == account {
			all = append(all, m)
		}
	}
	return pick(all, s, func(m projections.Membership) string { return m.User }), l.note("Members")
}

func (l *fakeLists) AccountsOf(_ context.Context, user string, s projections.Slice) (projections.Listed[projections.Membership], error) {
	var all []projections.Membership
	for _, m := range l.members {
		if m.User == user {
			all = append(all, m)
		}
	}
	return pick(all, s, func(m projections.Membership) string { return m.Account }), l.note("AccountsOf")
}
