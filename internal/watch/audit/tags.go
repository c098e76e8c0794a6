package audit

import (
	"context"
	"maps"
	"slices"

	"ledger.example/internal/table"
)

// tagged is an account's entry in the lists of a metadata key. It shows a version of the account, 1 being its opening.
// It has an index key while that version has the metadata key.
type tagged struct {
	Account string `is:"-id"`
	Key     string `is:"-text"`
	numbered
}

// index takes the index key as it is: compareTags compares it with that of the version.
func (t *tagged) index(r *reader) (sk2, pk2 string) {
	t.state = textOf(r.item[table.AttrPK2])
	return "", t.state
}

var tags = numberedCodes{ListedAccountDiffers, ListedAccountWithoutVersion, ListedAccountBehind}

// hasTags reports whether an account has entries. The scan checks all entries of such an account.
func (a *Audit) hasTags(ctx context.Context, account string) bool {
	return a.tagsOf(account)(ctx) != nil
}

func (a *Audit) tagsOf(account string) items {
	return a.itemsOf(table.Tagged.PK(account), table.Tagged.All())
}

// tagsShow reports whether an entry of an account shows a version or a later one.
func (a *Audit) tagsShow(ctx context.Context, account string, version int64) bool {
	for item := range a.tagsOf(account).all(ctx) {
		if t, ok := as[tagged](item); ok && t.Number >= version {
			return true
		}
	}
	return false
}

// checkTags compares the entries of an account in lists by metadata with its versions.
func (a *Audit) checkTags(ctx context.Context, account string) {
	look := func() []Finding { return a.compareTags(ctx, account) }
	a.confirm(ctx, look(), look)
}

// compareTags compares these entries once. It reads the entries first. In the list of a key that is not indexed now, an
// account need not have an entry, nor show its newest version, but what an entry shows must be right.
func (a *Audit) compareTags(ctx context.Context, id string) (found []Finding) {
	all := make(map[string]*numberedCheck) // by metadata key
	for _, key := range a.Indexed {
		all[key] = new(numberedCheck)
	}
	for item := range a.tagsOf(id).all(ctx) {
		t, ok := as[tagged](item)
		if !ok {
			return nil // the scan reports it
		}
		all[t.Key] = &numberedCheck{stored: t.shown(), isStored: true}
	}
	add := func(version numbered, all map[string]*numberedCheck, of metadata) {
		for key, check := range all {
			value, has := of[key]
			if is := version; has || is.Number > 1 {
				if has {
					is.state = table.Tagged.PK2(key, value)
				}
				check.add(is)
			}
		}
	}
	opening := a.get(ctx, table.Account.Key(id))
	opened, ok := as[account](opening)
	if add(numbered{Number: 1, at: opened.At}, all, opened.Metadata); !ok && len(opening) > 0 {
		return nil
	}
	for item := range a.itemsOf(table.Account.PK(id), table.Change.All()).all(ctx) {
		c, ok := as[change](item)
		if !ok {
			return nil
		}
		if c.Tagged {
			add(numbered{Number: c.Number, at: c.At}, all, c.Metadata)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		for _, f := range a.judgeNumbered(*all[key], tags, table.Tagged.Key(id, key)) {
			if f.Code != tags.behind || slices.Contains(a.Indexed, key) {
				found = append(found, f)
			}
		}
	}
	return found
}
