package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/repair"
)

// Accounts implements repair.Views. It scans one page of the table, which may contain no accounts.
func (v *Views) Accounts(ctx context.Context, from string) (accounts []string, read int, next string, err error) {
	out, next, err := v.scan(ctx, &dynamodb.ScanInput{ProjectionExpression: aws.String(keysOnly)}, from)
	if err != nil {
		return nil, 0, "", err
	}
	last := ""
	for _, item := range out.Items {
		key, err := ddb.KeyOf(item)
		if err != nil {
			return nil, 0, "", err
		}
		// A scan reads one partition after the other.
		if account, ok := table.Account.Owner(key); ok && account != last {
			accounts = append(accounts, account)
			last = account
		}
	}
	return accounts, int(out.ScannedCount), next, nil
}

// scan reads the page of a scan after the cursor from, "" for the first page. next is the cursor of the next page, ""
// at the end.
func (v *Views) scan(ctx context.Context, in *dynamodb.ScanInput, from string) (
	out *dynamodb.ScanOutput, next string, err error,
) {
	in.TableName, in.ConsistentRead = &v.table, aws.Bool(true)
	if from != "" {
		pk, sk, ok := strings.Cut(from, cursorSeparator)
		if !ok {
			return nil, "", fmt.Errorf("%q is not a cursor of a scan", from)
		}
		in.ExclusiveStartKey = ddb.Key(table.Key{PK: pk, SK: sk})
	}
	if out, err = v.client.Scan(ctx, in); err != nil {
		return nil, "", ddb.ReadError(err)
	}
	if out.LastEvaluatedKey != nil {
		last, err := ddb.KeyOf(out.LastEvaluatedKey)
		return out, last.PK + cursorSeparator + last.SK, err
	}
	return out, "", nil
}

// cursorSeparator separates the two parts of a key in a scan's cursor. No key of the ledger contains it.
const cursorSeparator = "\n"

// FirstKey implements repair.Views.
func (v *Views) FirstKey(ctx context.Context, partition string, within table.Range) (table.Key, error) {
	q := &dynamodb.QueryInput{
		TableName: &v.table, ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String(keysOnly),
	}
	item, err := ddb.First(ctx, v.client, ddb.Within(partition, within, q))
	switch {
	case err != nil:
		return table.Key{}, err
	case item == nil:
		return table.Key{}, store.ErrAbsent
	}
	return ddb.KeyOf(item)
}

// Present implements redrive.Views.
func (v *Views) Present(ctx context.Context, keys []table.Key) (map[table.Key]bool, error) {
	present := make(map[table.Key]bool, len(keys))
	err := v.forEach(ctx, keys, true, func(key table.Key, _ ddb.Item) error {
		present[key] = true
		return nil
	})
	return present, err
}

// StoredSegments implements repair.Views.
func (v *Views) StoredSegments(ctx context.Context, k events.Pair, after events.KSUID) (
	[]repair.Stored[projections.Segment], bool, error,
) {
	found, more, _, err := decodePage(ctx, v, k.Account, table.Segment.All(k.Asset).After(string(after)),
		&dynamodb.QueryInput{}, func(item ddb.Item) (repair.Stored[projections.Segment], error) {
			return storedSegment(k, events.KSUID(table.LastID(text(item[table.AttrSK]))), item)
		})
	return found, more, err
}

// Snapshot implements repair.Views.
func (v *Views) Snapshot(ctx context.Context, k events.Pair, throughs []events.KSUID) (
	repair.Stored[projections.Balance], []repair.Stored[projections.Segment], time.Time, error,
) {
	keys := []table.Key{table.Balance.Key(k.Account, k.Asset)}
	for _, through := range throughs {
		keys = append(keys, table.Segment.Key(k.Account, k.Asset, string(through)))
	}
	items, at, err := v.snapshot(ctx, keys...)
	if err != nil {
		return repair.Stored[projections.Balance]{}, nil, at, err
	}
	segments := make([]repair.Stored[projections.Segment], len(throughs))
	for i, through := range throughs {
		if segments[i], err = storedSegment(k, through, items[i+1]); err != nil {
			return repair.Stored[projections.Balance]{}, nil, at, err
		}
	}
	balance, err := storedBalance(k, items[0])
	return balance, segments, at, err
}

// SnapshotAccount implements repair.Views.
func (v *Views) SnapshotAccount(ctx context.Context, account string, assets []string) (
	repair.Stored[projections.Summary], []repair.Stored[projections.Balance], time.Time, error,
) {
	keys := []table.Key{table.Summary.Key(account)}
	for _, asset := range assets {
		keys = append(keys, table.Balance.Key(account, asset))
	}
	items, at, err := v.snapshot(ctx, keys...)
	if err != nil {
		return repair.Stored[projections.Summary]{}, nil, at, err
	}
	balances := make([]repair.Stored[projections.Balance], len(assets))
	for i, asset := range assets {
		if balances[i], err = storedBalance(events.Pair{Account: account, Asset: asset}, items[i+1]); err != nil {
			return repair.Stored[projections.Summary]{}, nil, at, err
		}
	}
	summary, err := storedSummary(account, items[0])
	return summary, balances, at, err
}

// snapshot reads items in one transaction, nil for each that is absent, and the store's clock. A single item needs no
// transaction.
func (v *Views) snapshot(ctx context.Context, keys ...table.Key) ([]ddb.Item, time.Time, error) {
	if len(keys) == 1 {
		item, at, err := ddb.Get(ctx, v.client, v.table, keys[0], true)
		return []ddb.Item{item}, at, err
	}
	return ddb.TransactGet(ctx, v.client, v.table, keys, "")
}

// StoredMembership implements repair.Views. The revision is by Number.
func (v *Views) StoredMembership(ctx context.Context, of projections.Membership) (
	found repair.Stored[projections.Membership], err error,
) {
	item, _, err := ddb.Get(ctx, v.client, v.table, of.Key(), true)
	if err != nil {
		return found, err
	}
	found, err = inspect(item, decodeMembership, membershipItem)
	found.Value.Account, found.Value.Group, found.Value.User = of.Account, of.Group, of.User
	found.Revision = revisionOf(item, table.AttrNumber)
	return found, err
}

// WriteSummary implements repair.Views.
func (v *Views) WriteSummary(ctx context.Context, s projections.Summary, read projections.Revision) error {
	s.Version++
	return v.putAlone(ctx, v.put(summaryItem(s), ifRevision(read, table.AttrVersion)))
}

// PutMembership implements repair.Views.
func (v *Views) PutMembership(ctx context.Context, m projections.Membership, read projections.Revision) error {
	return v.putAlone(ctx, v.put(membershipItem(m), ifRevision(read, table.AttrNumber)))
}

// StoredGrouped implements repair.Views. The revision is by Number.
func (v *Views) StoredGrouped(ctx context.Context, account, group string) (
	found repair.Stored[projections.GroupedAccount], err error,
) {
	item, _, err := ddb.Get(ctx, v.client, v.table, table.Grouped.Key(account, group), true)
	if err != nil {
		return found, err
	}
	found, err = inspect(item, decodeGrouped, groupedItem)
	found.Value.Account, found.Value.Group = account, group
	found.Revision = revisionOf(item, table.AttrNumber)
	return found, err
}

// PutGrouped implements repair.Views.
func (v *Views) PutGrouped(ctx context.Context, g projections.GroupedAccount, read projections.Revision) error {
	return v.putAlone(ctx, v.put(groupedItem(g), ifRevision(read, table.AttrNumber)))
}

const groupsPage = 1000

// GroupsAfter implements repair.Views.
func (v *Views) GroupsAfter(ctx context.Context, after string) (groups []string, next string, err error) {
	listed, err := NewLists(v.client, v.table).Groups(ctx, "", projections.Slice{After: after, Limit: groupsPage})
	for _, g := range listed.Items {
		groups = append(groups, g.ID)
	}
	return groups, listed.Next, err
}

// StoredHold implements repair.Views. The revision is by Version.
func (v *Views) StoredHold(ctx context.Context, key table.Key, id string) (
	found repair.Stored[repair.HoldEntry], h projections.Hold, err error,
) {
	item, _, err := ddb.Get(ctx, v.client, v.table, key, true)
	if err != nil {
		return found, h, err
	}
	if r := ddb.Open(item, text(item[table.AttrType])); item != nil && errors.Is(r.Err(), store.ErrNewerForm) {
		return found, h, at(key, r.Err())
	}
	if id == "" {
		named, _ := decodeHold(item)
		id = named.Header.ID
	}
	if id != "" {
		transactions, err := v.TransactionsByID(ctx, map[string]bool{id: true})
		if err != nil {
			return found, h, err
		}
		h = transactions[id]
	}
	if item != nil {
		found = repair.Stored[repair.HoldEntry]{
			Exists: true, Fault: differs(item, holdEntry(key, h)), Revision: revisionOf(item, table.AttrVersion),
			Value: repair.HoldEntry{Version: versionOf(item)},
		}
	}
	return found, h, nil
}

// PutHold implements repair.Views.
func (v *Views) PutHold(ctx context.Context, key table.Key, h projections.Hold, read projections.Revision) error {
	return v.putAlone(ctx, v.put(holdEntry(key, h), ifRevision(read, table.AttrVersion)))
}
