package dynamo

import (
	"context"
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

// Accounts implements repair.Views. It reads a whole page of the table, whatever it has of accounts.
func (v *Views) Accounts(ctx context.Context, from string) (accounts []string, read int, next string, err error) {
	in := &dynamodb.ScanInput{
		TableName:            &v.table,
		ConsistentRead:       aws.Bool(true),
		ProjectionExpression: aws.String(keysOnly),
	}
	if in.ExclusiveStartKey, err = startOf(from); err != nil {
		return nil, 0, "", err
	}
	out, err := v.client.Scan(ctx, in)
	if err != nil {
		return nil, 0, "", ddb.ReadError(err)
	}
	last := ""
	for _, item := range out.Items {
		key, err := ddb.KeyOf(item)
		if err != nil {
			return nil, 0, "", err
		}
		// A scan reads one partition after the other.
		if account, ok := table.ParseOwner(key); ok && account != last {
			accounts = append(accounts, account)
			last = account
		}
	}
	next, err = nextOf(out.LastEvaluatedKey)
	return accounts, int(out.ScannedCount), next, err
}

// cursorSeparator stands between the two parts of a key in a scan's cursor. No key of the ledger has it.
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

// StoredSegments implements repair.Views.
func (v *Views) StoredSegments(ctx context.Context, k events.Pair, after events.KSUID) (
	[]repair.Found[projections.Segment], bool, error,
) {
	out, err := v.query(ctx, k.Account, table.SegmentsAfter(k.Asset, string(after)), &dynamodb.QueryInput{})
	if err != nil {
		return nil, false, err
	}
	found := make([]repair.Found[projections.Segment], len(out.Items))
	for i, item := range out.Items {
		found[i] = foundSegment(k, events.KSUID(table.LastID(text(item[table.AttrSK]))), item)
	}
	return found, out.LastEvaluatedKey != nil, nil
}

// Snapshot implements repair.Views.
func (v *Views) Snapshot(ctx context.Context, k events.Pair, throughs []events.KSUID) (
	repair.Found[projections.Balance], []repair.Found[projections.Segment], time.Time, error,
) {
	keys := []table.Key{table.BalanceKey(k.Account, k.Asset)}
	for _, through := range throughs {
		keys = append(keys, table.SegmentKey(k.Account, k.Asset, string(through)))
	}
	items, at, err := v.snapshot(ctx, keys...)
	if err != nil {
		return repair.Found[projections.Balance]{}, nil, at, err
	}
	segments := make([]repair.Found[projections.Segment], len(throughs))
	for i, through := range throughs {
		segments[i] = foundSegment(k, through, items[i+1])
	}
	return foundBalance(k, items[0]), segments, at, nil
}

// SnapshotAccount implements repair.Views.
func (v *Views) SnapshotAccount(ctx context.Context, account string, assets []string) (
	repair.Found[projections.Summary], []repair.Found[projections.Balance], time.Time, error,
) {
	keys := []table.Key{table.SummaryKey(account)}
	for _, asset := range assets {
		keys = append(keys, table.BalanceKey(account, asset))
	}
	items, at, err := v.snapshot(ctx, keys...)
	if err != nil {
		return repair.Found[projections.Summary]{}, nil, at, err
	}
	balances := make([]repair.Found[projections.Balance], len(assets))
	for i, asset := range assets {
		balances[i] = foundBalance(events.Pair{Account: account, Asset: asset}, items[i+1])
	}
	return foundSummary(account, items[0]), balances, at, nil
}

// snapshot reads items as they were at one instant, nil for each that is absent, and the store's clock. One item
// alone needs no transaction for that.
func (v *Views) snapshot(ctx context.Context, keys ...table.Key) ([]ddb.Item, time.Time, error) {
	if len(keys) == 1 {
		item, at, err := ddb.Get(ctx, v.client, v.table, keys[0], true)
		return []ddb.Item{item}, at, err
	}
	return ddb.TransactGet(ctx, v.client, v.table, keys, "")
}

// StoredMembership implements repair.Views.
func (v *Views) StoredMembership(ctx context.Context, of projections.Membership) (
	repair.Found[projections.Membership], error,
) {
	item, _, err := ddb.Get(ctx, v.client, v.table, of.Key(), true)
	if err != nil {
		return repair.Found[projections.Membership]{}, err
	}
	return foundMembership(of, item), nil
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

// StoredGrouped implements repair.Views.
func (v *Views) StoredGrouped(ctx context.Context, account, group string) (repair.Found[projections.Grouped], error) {
	item, _, err := ddb.Get(ctx, v.client, v.table, table.GroupedKey(account, group), true)
	if err != nil {
		return repair.Found[projections.Grouped]{}, err
	}
	return foundGrouped(account, group, item), nil
}

// PutGrouped implements repair.Views.
func (v *Views) PutGrouped(ctx context.Context, g projections.Grouped, read projections.Revision) error {
	return v.putAlone(ctx, v.put(groupedItem(g), ifRevision(read, table.AttrNumber)))
}

// groupsPage is how many groups a page lists.
const groupsPage = 1000

// GroupsAfter implements repair.Views.
func (v *Views) GroupsAfter(ctx context.Context, after string) (groups []string, next string, err error) {
	listed, err := NewLists(v.client, v.table).Groups(ctx, "", projections.Slice{After: after, Limit: groupsPage})
	for _, g := range listed.Items {
		groups = append(groups, g.ID)
	}
	return groups, listed.Next, err
}

// StoredHold implements repair.Views.
func (v *Views) StoredHold(ctx context.Context, h projections.Hold, account string) (
	found repair.Found[repair.HoldEntry], err error,
) {
	wanted := holdEntry(h, account)
	key, err := ddb.KeyOf(wanted)
	if err != nil {
		return found, err
	}
	item, _, err := ddb.Get(ctx, v.client, v.table, key, true)
	if err != nil || item == nil {
		return found, err
	}
	found = repair.Found[repair.HoldEntry]{
		There: true, Fault: differs(item, wanted), Revision: revisionOf(item, table.AttrVersion),
		Value: repair.HoldEntry{Version: versionOf(item)},
	}
	if account != "" {
		found.Value.Status = table.FirstID(text(item[table.AttrSK2]))
	}
	return found, nil
}

// PutHold implements repair.Views.
func (v *Views) PutHold(ctx context.Context, h projections.Hold, account string, read projections.Revision) error {
	return v.putAlone(ctx, v.put(holdEntry(h, account), ifRevision(read, table.AttrVersion)))
}

// holdEntry returns the item of an account's entry of a hold or, without an account, of the one by expiry.
func holdEntry(h projections.Hold, account string) ddb.Item {
	if account == "" {
		return openHoldItem(h)
	}
	return holdItem(account, h)
}
