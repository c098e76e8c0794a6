package projections

import (
	"context"
	"strconv"
	"strings"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// held is what items of accounts say.
type held struct {
	holders  map[string]Holder // items that are not visible are left out
	balances map[events.Pair]Balance
}

// read reads openings, newest changes and balances of accounts.
func (l *Lists) read(ctx context.Context, c table.Consistency, keys ...table.Key) (held, error) {
	found := held{make(map[string]Holder), make(map[events.Pair]Balance)}
	return found, forEach(ctx, l.table, keys, c, func(key table.Key, item table.Item) error {
		if _, _, ok := table.Balance.Parse(key); ok {
			b, err := decodeBalance(item)
			found.balances[b.Pair] = b
			return err
		}
		if account, ok := table.Current.Parse(key); ok {
			newest, err := table.DecodeCurrent(item)
			found.holders[account] = Holder{found.holders[account].Opened, &newest}
			return err
		}
		opened, err := decodeAs[events.AccountOpened](item)
		found.holders[opened.ID] = Holder{&opened, found.holders[opened.ID].Newest}
		return err
	})
}

// holder reads an account and its newest change.
func (l *Lists) holder(ctx context.Context, account string, c table.Consistency) (Holder, error) {
	found, err := l.read(ctx, c, versionKeys(account)...)
	return found.holders[account], err
}

// versionKeys are the keys of what has the newest versions of accounts: their openings and their newest changes.
func versionKeys(accounts ...string) []table.Key {
	keys := make([]table.Key, 0, 2*len(accounts))
	for _, account := range accounts {
		keys = append(keys, table.Account.Key(account), table.Current.Key(account))
	}
	return keys
}

// holdings reads balances with their accounts. A missing balance is zero.
func (l *Lists) holdings(ctx context.Context, pairs ...events.Pair) ([]Holding, error) {
	keys, asked := make([]table.Key, 0, 3*len(pairs)), make(map[string]bool, len(pairs))
	for _, k := range pairs {
		if keys = append(keys, table.Balance.Key(k.Account, k.Asset)); !asked[k.Account] {
			asked[k.Account] = true
			keys = append(keys, versionKeys(k.Account)...)
		}
	}
	found, err := l.read(ctx, table.Eventual, keys...)
	holdings := make([]Holding, len(pairs))
	for i, k := range pairs {
		holdings[i] = Holding{found.balances[k], found.holders[k.Account]}
	}
	return holdings, err
}

// Accounts lists the accounts whose ids have a prefix, by id. An account that never changed comes without its profile.
// It makes two requests.
func (l *Lists) Accounts(ctx context.Context, prefix string, s Slice) (accounts Page[Holder], err error) {
	r := table.Account.Partitions().After(s.After).Beginning(prefix)
	q := table.Query{Index: table.IndexInverse, Partition: table.Account.PK2(), Within: r}
	opened, err := list(ctx, l, "list accounts", q, s.Limit, table.Account.Parse, decodeListed[events.AccountOpened])
	if err != nil {
		return accounts, err
	}
	defer annotate(&err, "read changes of accounts")
	keys := make([]table.Key, len(opened.Items))
	for i, e := range opened.Items {
		keys[i] = table.Current.Key(e.ID)
	}
	changed, err := l.read(ctx, table.Eventual, keys...)
	if err != nil {
		return accounts, err
	}
	accounts.Items, accounts.Next = make([]Holder, len(opened.Items)), opened.Next
	for i, e := range opened.Items {
		accounts.Items[i] = Holder{&e, changed.holders[e.ID].Newest}
	}
	return accounts, nil
}

// Periods lists the closed periods, newest first; positions are their numbers. It is strongly consistent.
func (l *Lists) Periods(ctx context.Context, s Slice) (page Page[events.PeriodClosed], err error) {
	defer annotate(&err, "list closed periods")
	before, err := s.number()
	if err != nil {
		return page, err
	}
	within := table.Period.All()
	if before != 0 {
		within = within.Before(table.Number(before))
	}
	q := table.Query{Partition: table.Period.PK(), Within: within, Descending: true, Consistency: table.Strong}
	number := func(k table.Key) (string, bool) {
		n, ok := table.Period.Parse(k)
		return strings.TrimLeft(n, "0"), ok
	}
	return list(ctx, l, "list", q, s.Limit, number, decodeAs[events.PeriodClosed])
}

// Changes lists the versions of an account, newest first; positions are their numbers. It is strongly consistent, and
// makes a second request for the opening. The opening is version 1. It is read if it is on the page, or is the version
// before the page's last.
func (l *Lists) Changes(ctx context.Context, account string, s Slice) (page Page[AccountVersion], err error) {
	defer annotate(&err, "list changes of an account")
	before, err := s.number()
	if err != nil {
		return page, err
	}
	versions, err := l.changes(ctx, account, before, s.Limit+1)
	if err != nil {
		return page, err
	}
	if n := len(versions); n <= s.Limit && before != 1 {
		holder, err := l.holder(ctx, account, table.Strong)
		if err != nil || holder.Opened == nil {
			return page, err
		}
		versions = append(versions, firstVersion(*holder.Opened))
	}
	for i := range min(len(versions), s.Limit) {
		v := AccountVersion{Is: versions[i]}
		if i+1 < len(versions) {
			v.Was = &versions[i+1]
		}
		page.Items = append(page.Items, v)
	}
	if len(versions) > s.Limit {
		page.Next = strconv.FormatInt(versions[s.Limit-1].Number, 10)
	}
	return page, nil
}

// changes reads at most limit changes with numbers below before (0: all), newest first.
func (l *Lists) changes(ctx context.Context, account string, before int64, limit int) ([]events.AccountChanged, error) {
	r := table.Change.All()
	if before != 0 {
		r = r.Before(table.Number(before))
	}
	if before == 1 || r.Empty() {
		return nil, nil
	}
	q := table.Query{Partition: table.Account.PK(account), Within: r, Descending: true}
	q.Consistency = table.Strong
	items, _, _, err := query(ctx, l.table, q, limit)
	if err != nil {
		return nil, err
	}
	changes := make([]events.AccountChanged, len(items))
	for i, item := range items {
		if changes[i], err = decodeAs[events.AccountChanged](item); err != nil {
			return nil, err
		}
	}
	return changes, nil
}

// firstVersion returns the opening of an account as its version 1.
func firstVersion(e events.AccountOpened) events.AccountChanged {
	return events.AccountChanged{
		ID: e.ID, Number: 1, Name: e.Name, Profile: e.Profile, Overdraft: e.Overdraft, Metadata: e.Metadata,
		Tagged: len(e.Metadata) > 0, Rates: e.Rates, State: events.StateOpen,
		Actor: e.Actor, At: e.At,
	}
}

// AccountVersionOf returns the version of an account that an event makes. ok is false for other events.
func AccountVersionOf(e events.Event) (version events.AccountChanged, ok bool) {
	switch e := e.(type) {
	case events.AccountOpened:
		return firstVersion(e), true
	case events.AccountChanged:
		return e, true
	}
	return version, false
}

// History lists an account's postings of all assets, newest first.
func (l *Lists) History(ctx context.Context, account string, span Span, s Slice) (
	Page[events.PostingRecorded], error,
) {
	from, to := bounds(span, s.After)
	r := table.Posting.History().Since(from).Before(to)
	q := table.Query{Index: table.IndexHistory, Partition: table.Account.PK(account), Within: r, Descending: true}
	return listPostings(ctx, l, q, s.Limit)
}

// HistoryOf lists an account's postings of one asset, newest first; if strong, by a consistent read.
func (l *Lists) HistoryOf(
	ctx context.Context, k events.Pair, span Span, s Slice, strong bool,
) (Page[events.PostingRecorded], error) {
	from, to := bounds(span, s.After)
	r := table.Posting.All(k.Asset).Since(from).Before(to)
	q := table.Query{Partition: table.Account.PK(k.Account), Within: r, Descending: true}
	q.Consistency = table.Consistency(strong)
	return listPostings(ctx, l, q, s.Limit)
}

func listPostings(ctx context.Context, l *Lists, q table.Query, limit int) (Page[events.PostingRecorded], error) {
	return list(ctx, l, "list history", q, limit, idOfPosting, decodeAs[events.PostingRecorded])
}

// idOfPosting returns the position of a posting in a history: its KSUID.
var idOfPosting = part(table.Posting.Pattern, 2)

// bounds returns the KSUIDs from (included) and to (excluded) for the rest of a history, newest first, after the
// posting `after`.
func bounds(span Span, after string) (from, to string) {
	if !span.From.IsZero() {
		from = string(events.FirstKSUID(wholeMicros(span.From)))
	}
	if !span.To.IsZero() {
		to = string(events.FirstKSUID(wholeMicros(span.To)))
	}
	if after != "" && (to == "" || after < to) {
		to = after
	}
	return from, to
}

// wholeMicros rounds t up to whole microseconds, the precision of postings' times.
func wholeMicros(t time.Time) time.Time {
	return t.Add(time.Microsecond - 1).Truncate(time.Microsecond)
}

// AccountPage reads an account, its summary and its first balances, at most limit.
func (l *Lists) AccountPage(ctx context.Context, account string, limit int) (page AccountPage, err error) {
	defer annotate(&err, "read account page")
	page.Summary.Account = account
	q := table.Query{Partition: table.Account.PK(account), Within: table.PageRange()}
	const leading = 3 // the account, its newest change and its summary, which sort before its balances
	items, last, _, err := query(ctx, l.table, q, leading+limit+1)
	if err != nil {
		return page, err
	}
	if page.Opened, items, err = takeAccount(items); err != nil {
		return page, err
	}
	if len(items) > 0 && is(items[0], table.Current.Parse) {
		newest, err := table.DecodeCurrent(items[0])
		if err != nil {
			return page, err
		}
		page.Newest, items = &newest, items[1:]
	}
	if len(items) > 0 && is(items[0], table.Summary.Parse) {
		if page.Summary, err = decodeSummary(items[0]); err != nil {
			return page, err
		}
		items = items[1:]
	}
	page.Balances, err = paged(items, last, limit, part(table.Balance.Pattern, 1), decodeBalance)
	return page, err
}

// takeAccount decodes the account if it is the first of items. It returns the other items.
func takeAccount(items []table.Item) (*events.AccountOpened, []table.Item, error) {
	if len(items) == 0 {
		return nil, nil, nil
	}
	key, err := table.KeyOf(items[0])
	if err != nil {
		return nil, nil, err
	}
	if _, ok := table.Account.Parse(key); !ok {
		return nil, items, nil
	}
	opened, err := decodeAs[events.AccountOpened](items[0])
	return &opened, items[1:], err
}

// is reports whether parse accepts the key of an item.
func is(item table.Item, parse func(table.Key) (string, bool)) bool {
	key, err := table.KeyOf(item)
	_, ok := parse(key)
	return ok && err == nil
}

// Newest reads the account and its newest n postings of all assets. The account is nil if the history index does not
// have it.
func (l *Lists) Newest(ctx context.Context, account string, n int) (
	opened *events.AccountOpened, postings Page[events.PostingRecorded], err error,
) {
	defer annotate(&err, "read account and newest postings")
	// The account sorts above its postings: in descending order it comes first.
	r := table.Range{From: table.Posting.Prefix(), To: table.Account.SK2()}
	q := table.Query{
		Index: table.IndexHistory, Partition: table.Account.PK(account), Within: r, Descending: true,
	}
	items, last, _, err := query(ctx, l.table, q, n+1)
	if err != nil {
		return nil, postings, err
	}
	if opened, items, err = takeAccount(items); err != nil {
		return nil, postings, err
	}
	if n > 0 {
		postings, err = paged(items, last, n, idOfPosting, decodeAs[events.PostingRecorded])
	} else if last != nil || len(items) > 0 {
		postings.Next = topOfHistory()
	}
	return opened, postings, err
}

// topOfHistory is a position above all postings, for a page without any.
func topOfHistory() string {
	const beyond = 1 << 40 // seconds since 1970: later than any KSUID
	return string(events.FirstKSUID(time.Unix(beyond, 0)))
}
