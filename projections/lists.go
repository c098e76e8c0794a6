package projections

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// Reversal is a transaction that reversed another one. The reversals of one transaction are numbered from 1.
type Reversal struct {
	Number int64
	Header events.TransactionPosted
}

// Search selects transactions.
type Search struct {
	Span               // when they were posted
	Key, Value  string // an indexed metadata key and its value; Key "": any metadata
	OldestFirst bool
}

// Slice asks for one page of a list. A position is the id, or in histories the KSUID, of the last element already
// returned.
type Slice struct {
	After string // the position to continue after; "": from the beginning
	Limit int    // 1 to 100

	// Budget is what a page of strong or past balances may cost; nil for no bound. Other lists ignore it.
	Budget *Budget
}

// number returns the position in a list whose positions are numbers from 1, 0 for its beginning.
func (s Slice) number() (int64, error) {
	if s.After == "" {
		return 0, nil
	}
	return strconv.ParseInt(s.After, 10, 64)
}

// Page is one page of a list. A page may be short, even empty, before the end.
type Page[T any] struct {
	Items []T
	Next  string // the position to continue after; "": the end
}

// Span bounds a history by time: From is included, To excluded. A zero time leaves that side open.
type Span struct{ From, To time.Time }

// Holder is an account.
type Holder struct {
	Opened *events.AccountOpened  // nil if it is not visible
	Newest *events.AccountChanged // its newest change; nil: it never changed
}

// Holding is a balance with its account.
type Holding struct {
	Balance
	Holder
}

// AccountPage is an account with its summary and balances.
type AccountPage struct {
	Holder
	Summary  Summary
	Balances Page[Balance]
}

// AccountVersion is one version of an account: its opening, or a change.
type AccountVersion struct {
	Is  events.AccountChanged  // Number 1 is the opening
	Was *events.AccountChanged // the previous version; nil: Is is the opening
}

// AccountRole is an account on which a user has a role.
type AccountRole struct {
	Membership        // Account is the account, also if the role is a group's
	Through    string // the group; "": the role is on the account itself
}

// Total is the sum of balances of a group's accounts in one asset.
type Total struct {
	Asset    string
	Accounts int // that hold or held it
	Fold         // Through is empty
}

// Lists reads projections and events for plain reads. Reads are eventually consistent and make one request each, unless
// stated otherwise. Errors: ErrThrottled, ErrUnavailable, ErrMalformedItem of package table. A Lists is safe for
// concurrent use.
//
// A malformed Version of a balance or summary, or Number of a membership, is listed as 0: only writes need it. The
// Number is always 0 in lists by user, as the inverse index does not have it.
type Lists struct {
	table table.Table
	lanes *table.LaneLog
}

// NewLists returns the lists in a table.
func NewLists(t table.Table) *Lists { return &Lists{t, table.NewLaneLog(t, nil)} }

// Balance reads one balance. It returns the zero balance if none is stored.
func (l *Lists) Balance(ctx context.Context, k events.Pair) (h Holding, err error) {
	defer annotate(&err, "read balance")
	found, err := l.holdings(ctx, k)
	if err != nil {
		return h, err
	}
	h = found[0]
	h.Pair = k
	return h, nil
}

// Balances reads an account, and lists its balances by asset. After the first page it makes two requests. The account
// sorts before its balances, so the first page is one query.
func (l *Lists) Balances(ctx context.Context, account string, s Slice) (
	holder Holder, balances Page[Balance], err error,
) {
	if s.After == "" {
		page, err := l.AccountPage(ctx, account, s.Limit)
		return page.Holder, page.Balances, err
	}
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		defer annotate(&err, "read account")
		holder, err = l.holder(ctx, account, table.Eventual)
		return err
	})
	both.Go(func() (err error) {
		balances, err = l.balances(ctx, account, s)
		return err
	})
	return holder, balances, both.Wait()
}

// balances lists the balances of an account by asset.
func (l *Lists) balances(ctx context.Context, account string, s Slice) (Page[Balance], error) {
	q := table.Query{Partition: table.Account.PK(account), Within: table.Balance.All().After(s.After)}
	return list(ctx, l, "list balances", q, s.Limit, part(table.Balance.Pattern, 1), decodeBalance)
}

// Holders lists the balances of an asset by account. It makes one request, and one more for each 33 balances.
func (l *Lists) Holders(ctx context.Context, asset string, s Slice) (holders Page[Holding], err error) {
	q := table.Query{
		Index: table.IndexInverse, Partition: table.Balance.PK2(asset),
		Within: table.Account.Partitions().After(s.After), Attributes: keysOnly,
	}
	keys, err := list(ctx, l, "list holders", q, s.Limit, part(table.Balance.Pattern, 0), table.KeyOf)
	if err != nil {
		return holders, err
	}
	defer annotate(&err, "read balances of holders")
	pairs := make([]events.Pair, len(keys.Items))
	for i, key := range keys.Items {
		pairs[i].Account, pairs[i].Asset, _ = table.Balance.Parse(key)
	}
	holders.Next = keys.Next
	holders.Items, err = l.holdings(ctx, pairs...)
	// An eventually consistent read may be behind the index.
	holders.Items = slices.DeleteFunc(holders.Items, func(h Holding) bool { return h.Balance.Account == "" })
	return holders, err
}

// Assets lists the assets whose ids have a prefix, by id.
func (l *Lists) Assets(ctx context.Context, prefix string, s Slice) (Page[events.AssetRegistered], error) {
	r := table.Asset.Partitions().After(s.After).Beginning(prefix)
	q := table.Query{Index: table.IndexInverse, Partition: table.Asset.PK2(), Within: r}
	return list(ctx, l, "list assets", q, s.Limit, table.Asset.Parse, decodeListed[events.AssetRegistered])
}

// Members lists the current members of an account by user.
func (l *Lists) Members(ctx context.Context, account string, s Slice) (Page[Membership], error) {
	return l.members(ctx, table.Membership.Pattern, account, s)
}

// members lists the current members of an account or a group, whose memberships have keys of a pattern.
func (l *Lists) members(ctx context.Context, p *table.Pattern, of string, s Slice) (Page[Membership], error) {
	q := table.Query{Partition: p.PK(of), Within: p.All().After(s.After)}
	members, err := list(ctx, l, "list members", q, s.Limit, part(p, 1), decodeMembership)
	return withoutRevoked(members), err
}

// withoutRevoked drops revoked memberships from a page, which may then be short.
func withoutRevoked(members Page[Membership]) Page[Membership] {
	members.Items = slices.DeleteFunc(members.Items, func(m Membership) bool { return m.Role == "" })
	return members
}

// part returns positions of lists: the n-th part of keys of a pattern.
func part(p *table.Pattern, n int) func(table.Key) (string, bool) {
	return func(k table.Key) (string, bool) {
		parts, ok := p.Parts(k)
		if !ok {
			return "", false
		}
		return parts[n], true
	}
}

// list returns one page of at most limit elements of q. position returns an element's position from its
// key. what names the operation in errors.
func list[T any](ctx context.Context, l *Lists, what string, q table.Query, limit int,
	position func(table.Key) (string, bool), decode func(table.Item) (T, error),
) (page Page[T], err error) {
	defer annotate(&err, what)
	if q.Within.Empty() {
		return page, nil
	}
	items, last, _, err := query(ctx, l.table, q, limit+1) // the additional item shows that there is a next page
	if err != nil {
		return page, err
	}
	return paged(items, last, limit, position, decode)
}

// annotate adds the name of the operation to an error.
func annotate(err *error, what string) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", what, *err)
	}
}

// query returns the first limit items of q. last is the key to continue after, nil at the end. at is the store's time
// of the first reply. It makes one request, and more only if DynamoDB returns a short page before the end.
func query(ctx context.Context, t table.Table, q table.Query, limit int) (
	items []table.Item, last table.Item, at time.Time, err error,
) {
	for isFirst := true; ; isFirst = false {
		q.Limit = limit - len(items)
		page, err := t.Query(ctx, q)
		if err != nil {
			return nil, nil, at, err
		}
		if isFirst {
			at = page.At
		}
		items = append(items, page.Items...)
		if len(items) >= limit || page.Next == nil {
			return items, page.Next, at, nil
		}
		q.After = page.Next
	}
}

// merge returns the first limit items of q in several partitions: see mergeUpTo.
func (l *Lists) merge(ctx context.Context, q table.Query, partitions []string, limit int, attribute string) (
	items []table.Item, more bool, err error,
) {
	items, more, _, err = mergeUpTo(ctx, l.table, q, partitions, limit+1, attribute)
	return items[:min(len(items), limit)], more || len(items) > limit, err
}

// mergeUpTo returns about the first limit items of q in several partitions, ordered by a string attribute that no two
// of a partition share. There may be fewer although there are more: more reports whether there are, and is false only
// if all partitions were read to their ends. at is the earliest of the store's times, zero if one is not known.
//
// Each partition is asked for little more than its share. What a partition that was cut off did not show lies beyond
// its last item, so the items end at the first of these.
func mergeUpTo(ctx context.Context, t table.Table, q table.Query, partitions []string, limit int, attribute string) (
	items []table.Item, more bool, at time.Time, err error,
) {
	type part struct {
		items []table.Item
		last  table.Item
		at    time.Time
	}
	found, each := make([]part, len(partitions)), shareOf(limit, len(partitions))
	running, ctx := errgroup.WithContext(ctx)
	for i, partition := range partitions {
		of := q
		of.Partition = partition
		running.Go(func() (err error) {
			found[i].items, found[i].last, found[i].at, err = query(ctx, t, of, each)
			return err
		})
	}
	if err := running.Wait(); err != nil {
		return nil, false, at, err
	}
	compare := func(a, b table.Item) int {
		order := cmp.Compare(table.TextOf(a[attribute]), table.TextOf(b[attribute]))
		if q.Descending {
			return -order
		}
		return order
	}
	var cut table.Item
	at = found[0].at
	for _, p := range found {
		if p.last != nil && (cut == nil || compare(p.items[len(p.items)-1], cut) < 0) {
			cut = p.items[len(p.items)-1]
		}
		if items = append(items, p.items...); p.at.Before(at) {
			at = p.at
		}
	}
	slices.SortStableFunc(items, compare)
	if cut != nil {
		items = slices.DeleteFunc(items, func(i table.Item) bool { return compare(i, cut) > 0 })
	}
	return items, cut != nil, at, nil
}

// shareOf returns how many of the next limit items are asked of each of some partitions: with the mean and three
// standard deviations, few pages are short.
func shareOf(limit, partitions int) int {
	if partitions == 1 {
		return limit
	}
	mean, deviations := (limit+partitions-1)/partitions, 0
	for deviations*deviations < 9*mean {
		deviations++
	}
	return min(limit, mean+deviations+2)
}

// paged returns a page of the first limit items. It has a next page if there are more items, or if last is not nil:
// the key at which DynamoDB stopped before the end.
func paged[T any](items []table.Item, last table.Item, limit int,
	position func(table.Key) (string, bool), decode func(table.Item) (T, error),
) (page Page[T], err error) {
	if len(items) > limit {
		items, last = items[:limit], items[limit-1]
	}
	listed := make([]T, len(items))
	for i, item := range items {
		if listed[i], err = decode(item); err != nil {
			return page, err
		}
	}
	if last == nil {
		return Page[T]{Items: listed}, nil
	}
	key, err := table.KeyOf(last)
	if err != nil {
		return page, err
	}
	next, ok := position(key)
	if !ok {
		return page, fmt.Errorf("%w: %s %s does not belong to the list", table.ErrMalformedItem, key.PK, key.SK)
	}
	return Page[T]{Items: listed, Next: next}, nil
}
