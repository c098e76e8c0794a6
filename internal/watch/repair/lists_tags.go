package repair

import (
	"context"
	"maps"
	"slices"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
)

// tags rebuilds the entries of accounts in lists by metadata that a page of the table shows to be missing or wrong.
// versions are the newest versions of accounts on the page, by account, and stored are the entries on it.
func (l *lists) tags(
	ctx context.Context, b *rebuild.Rebuilder, versions map[string]events.AccountChanged, stored []table.Item,
) error {
	if err := l.missingTags(ctx, b, versions); err != nil {
		return err
	}
	for some := range slices.Chunk(stored, tagsAtOnce) {
		if err := l.storedTags(ctx, b, some); err != nil {
			return err
		}
	}
	return nil
}

// missingTags rebuilds the entries that these versions have, and that are not stored. A version may not be the newest
// of its account, so the rebuild reads the account.
func (l *lists) missingTags(
	ctx context.Context, b *rebuild.Rebuilder, versions map[string]events.AccountChanged,
) error {
	var wanted []table.Key
	for _, account := range slices.Sorted(maps.Keys(versions)) {
		for _, item := range projections.TaggedItems(versions[account], l.run.Indexed) {
			wanted = append(wanted, table.ItemKey(item))
		}
	}
	for keys := range slices.Chunk(wanted, table.BatchGetKeys) {
		isStored := make(map[table.Key]bool, len(keys))
		err := l.Retry(ctx, func() error {
			items, _, err := l.run.table.BatchGet(ctx, keys, table.Strong)
			for _, item := range items {
				isStored[table.ItemKey(item)] = true
			}
			return err
		})
		if err != nil {
			return err
		}
		for _, key := range keys {
			if isStored[key] {
				continue // the page with the entry judges it
			}
			if err := l.item(ctx, b, projections.Tags, key, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// tagsAtOnce is how many entries are compared with their accounts in one request, which also reads newest changes.
const tagsAtOnce = table.BatchGetKeys / 2

// storedTags rebuilds stored entries that their accounts contradict. Those of malformed keys are left to the audit.
func (l *lists) storedTags(ctx context.Context, b *rebuild.Rebuilder, stored []table.Item) error {
	var accounts []string
	for _, item := range stored {
		if t, ok := projections.Tags.Owner(item); ok && !slices.Contains(accounts, t.Account) {
			accounts = append(accounts, t.Account)
		}
	}
	var versions map[string]events.AccountChanged
	err := l.Retry(ctx, func() (err error) {
		versions, err = projections.NewestVersions(ctx, l.run.table, accounts)
		return err
	})
	if endsRun(ctx, err) {
		return err
	}
	for _, item := range stored { // after an error, which is of one of the accounts, each is read by itself
		key := table.ItemKey(item)
		t, ok := projections.Tags.Owner(item)
		if !ok || err == nil && rebuild.Differs(item, projections.TaggedItem(key, versions[t.Account])) == nil {
			continue
		}
		if err := l.item(ctx, b, projections.Tags, key, nil); err != nil {
			return err
		}
	}
	return nil
}
