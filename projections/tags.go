package projections

import (
	"context"
	"errors"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// Tags is the view of the entries of accounts in lists by metadata. An entry shows the newest version of its account,
// and has its number. A lister writes entries from the record of the version alone, and a rebuild finds them in a scan
// of the table. An account that never had metadata has none. Also metadata keys that are not indexed any more may have
// entries.
var Tags = &View{
	Name: "lists", Form: itemForm(table.AttrNumber),
	Fold: func(ctx context.Context, v *Views, t Target, _ Seen) (rows []Row, err error) {
		newest, err := v.newestVersion(ctx, t.Account)
		for _, item := range TaggedItems(newest, []string{t.Tag}) {
			rows = append(rows, Row{t, item, newest.At})
		}
		return rows, err
	},
	Owner: func(item table.Item) (t Target, ok bool) {
		t.Lists = true
		t.Account, t.Tag, ok = table.Tagged.Parse(table.ItemKey(item))
		return t, ok
	},
	None: func(k table.Key) any { return TaggedItem(k, events.AccountChanged{}) },
}

// newestVersion reads the newest version of an account. Error: also table.ErrAbsent.
func (v *Views) newestVersion(ctx context.Context, account string) (events.AccountChanged, error) {
	pk := table.Account.PK(account)
	version, err := newest[events.AccountChanged](ctx, v, pk, table.Change.All())
	if !errors.Is(err, table.ErrAbsent) {
		return version, err
	}
	opened, err := newest[events.AccountOpened](ctx, v, pk, table.Range{From: pk, To: pk})
	if err != nil {
		return events.AccountChanged{}, err
	}
	return firstVersion(opened), nil
}

// TaggedItems returns the entries that a version of an account has in the lists of indexed metadata keys. An opening
// has those of its own keys. A later version has one for each list, since an earlier one may have been there: it is in
// no index if the version does not have the key.
func TaggedItems(of events.AccountChanged, indexed []string) (items []table.Item) {
	if !of.Tagged {
		return nil
	}
	for _, key := range indexed {
		value, has := of.Metadata[key]
		if !has && of.Number == 1 {
			continue
		}
		item := taggedItem(table.Tagged.Key(of.ID, key), of.Number)
		if has {
			item[table.AttrPK2] = table.String(table.Tagged.PK2(key, value))
		}
		items = append(items, item)
	}
	return items
}

// TaggedItem returns the entry of a version of an account with that key. If there is none, its number is 0: it is in no
// index, and any version replaces it.
func TaggedItem(key table.Key, of events.AccountChanged) table.Item {
	_, name, _ := table.Tagged.Parse(key)
	if items := TaggedItems(of, []string{name}); len(items) > 0 {
		return items[0]
	}
	return taggedItem(key, 0)
}

func taggedItem(key table.Key, number int64) table.Item {
	item := table.Begin(key, table.Tagged.Type)
	item[table.AttrNumber] = table.Integer(number)
	return item
}

// NewestVersions reads the newest versions of accounts, strongly consistent, by id: their openings, and the copies of
// their newest changes. Absent accounts are left out. It makes one request for each fifty accounts. Errors: those of
// table.Table; table.ErrMalformedItem; those of events.Decode.
func NewestVersions(ctx context.Context, t table.Table, accounts []string) (map[string]events.AccountChanged, error) {
	found, err := NewLists(t).read(ctx, table.Strong, versionKeys(accounts...)...)
	versions := make(map[string]events.AccountChanged, len(found.holders))
	for account, h := range found.holders {
		versions[account] = h.version()
	}
	return versions, err
}

// version returns the newest version of an account, as far as it is visible.
func (h Holder) version() events.AccountChanged {
	switch {
	case h.Newest != nil:
		return *h.Newest
	case h.Opened != nil:
		return firstVersion(*h.Opened)
	}
	return events.AccountChanged{}
}

// TaggedAccounts lists the accounts that have a value of an indexed metadata key and an id with a prefix, by id. It
// makes one query and at most two requests for the accounts. A page may be short: it leaves out entries that contradict
// their account.
func (l *Lists) TaggedAccounts(ctx context.Context, key, value, prefix string, s Slice) (
	accounts Page[Holder], err error,
) {
	r := table.Tagged.Partitions().After(s.After).Beginning(prefix)
	q := table.Query{
		Index: table.IndexInverse, Partition: table.Tagged.PK2(key, value), Within: r, Attributes: keysOnly,
	}
	tagged, err := list(ctx, l, "list accounts by metadata", q, s.Limit, part(table.Tagged.Pattern, 0), table.KeyOf)
	if err != nil || len(tagged.Items) == 0 {
		return accounts, err
	}
	defer annotate(&err, "read accounts")
	ids := make([]string, len(tagged.Items))
	for i, entry := range tagged.Items {
		ids[i], _, _ = table.Tagged.Parse(entry)
	}
	found, err := l.read(ctx, table.Eventual, versionKeys(ids...)...)
	if err != nil {
		return accounts, err
	}
	accounts.Next = tagged.Next
	for _, id := range ids {
		h := found.holders[id]
		if is, has := h.version().Metadata[key]; has && is == value && h.Opened != nil {
			accounts.Items = append(accounts.Items, h)
		}
	}
	return accounts, nil
}
