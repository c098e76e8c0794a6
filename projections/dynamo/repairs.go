package dynamo

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
	"ledger.example/projections"
)

// keysOnly asks for nothing of an item but its key.
const keysOnly = table.AttrPK + ", " + table.AttrSK

// Accounts implements projections.Repairs. It reads whole pages of the table, whatever it shows of them.
func (v *Views) Accounts(ctx context.Context, from string) (accounts []string, read int, next string, err error) {
	in := &dynamodb.ScanInput{
		TableName:            &v.table,
		ConsistentRead:       aws.Bool(true),
		ProjectionExpression: aws.String(keysOnly),
	}
	if from != "" {
		key, err := takePosition(from)
		if err != nil {
			return nil, 0, "", fmt.Errorf("list accounts: %w", err)
		}
		in.ExclusiveStartKey = wire.Key(key)
	}
	out, err := v.client.Scan(ctx, in)
	if err != nil {
		return nil, 0, "", fmt.Errorf("list accounts: %w", wire.ReadError(err))
	}
	last := ""
	for _, item := range out.Items {
		key, err := wire.KeyOf(item)
		if err != nil {
			return nil, 0, "", fmt.Errorf("list accounts: %w", err)
		}
		// A scan reads one partition after the other.
		if account, ok := table.ParseOwner(key); ok && account != last {
			accounts = append(accounts, account)
			last = account
		}
	}
	if out.LastEvaluatedKey != nil {
		key, err := wire.KeyOf(out.LastEvaluatedKey)
		if err != nil {
			return nil, 0, "", fmt.Errorf("list accounts: %w", err)
		}
		next = putPosition(key)
	}
	return accounts, int(out.ScannedCount), next, nil
}

// positionSplit stands between the two parts of a key in a position of a scan; a sort key of ours never holds it.
const positionSplit = "\n"

func putPosition(k table.Key) string { return k.PK + positionSplit + k.SK }

func takePosition(text string) (k table.Key, err error) {
	for i := range len(text) {
		if text[i:i+1] == positionSplit {
			return table.Key{PK: text[:i], SK: text[i+1:]}, nil
		}
	}
	return k, fmt.Errorf("%q is no position of a scan", text)
}

// NextOf implements projections.Repairs.
func (v *Views) NextOf(ctx context.Context, account string, by projections.Listing, after string) (string, error) {
	within := map[projections.Listing]func(string) table.Range{
		projections.ByPostings: table.PostingAssetAfter, projections.ByBalances: table.BalanceAfter,
		projections.BySegments: table.SegmentAssetAfter,
		projections.ByGrants:   table.GrantUserAfter, projections.ByMemberships: table.MembershipAfter,
	}[by]
	out, err := v.query(ctx, account, within(after), &dynamodb.QueryInput{
		Limit: aws.Int32(1), ProjectionExpression: aws.String(keysOnly),
	})
	if err == nil && len(out.Items) == 0 {
		err = table.ErrAbsent
	}
	if err != nil {
		return "", fmt.Errorf("look for the next item: %w", err)
	}
	return table.FirstID(text(out.Items[0][table.AttrSK])), nil
}

// StoredSegments implements projections.Repairs.
func (v *Views) StoredSegments(ctx context.Context, k projections.Key, after events.KSUID) ([]projections.Found[projections.Segment], bool, error) {
	out, err := v.query(ctx, k.Account, table.SegmentsAfter(k.Asset, string(after)), &dynamodb.QueryInput{})
	if err != nil {
		return nil, false, fmt.Errorf("read segments: %w", err)
	}
	found := make([]projections.Found[projections.Segment], len(out.Items))
	for i, item := range out.Items {
		found[i] = foundSegment(k, events.KSUID(table.LastID(text(item[table.AttrSK]))), item)
	}
	return found, out.LastEvaluatedKey != nil, nil
}

// Snapshot implements projections.Repairs.
func (v *Views) Snapshot(ctx context.Context, k projections.Key, throughs []events.KSUID) (projections.Found[projections.Balance], []projections.Found[projections.Segment], time.Time, error) {
	keys := []table.Key{table.BalanceKey(k.Account, k.Asset)}
	for _, through := range throughs {
		keys = append(keys, table.SegmentKey(k.Account, k.Asset, string(through)))
	}
	items, at, err := v.atOnce(ctx, keys)
	if err != nil {
		return projections.Found[projections.Balance]{}, nil, at, fmt.Errorf("read balance and segments: %w", err)
	}
	segments := make([]projections.Found[projections.Segment], len(throughs))
	for i, through := range throughs {
		segments[i] = foundSegment(k, through, items[i+1])
	}
	return foundBalance(k, items[0]), segments, at, nil
}

// SnapshotAccount implements projections.Repairs.
func (v *Views) SnapshotAccount(ctx context.Context, account string, assets []string) (projections.Found[projections.Summary], []projections.Found[projections.Balance], time.Time, error) {
	keys := []table.Key{table.SummaryKey(account)}
	for _, asset := range assets {
		keys = append(keys, table.BalanceKey(account, asset))
	}
	items, at, err := v.atOnce(ctx, keys)
	if err != nil {
		return projections.Found[projections.Summary]{}, nil, at, fmt.Errorf("read summary and balances: %w", err)
	}
	balances := make([]projections.Found[projections.Balance], len(assets))
	for i, asset := range assets {
		balances[i] = foundBalance(projections.Key{Account: account, Asset: asset}, items[i+1])
	}
	return foundSummary(account, items[0]), balances, at, nil
}

// atOnce reads items as they were at one instant, nil for each that is absent, and the store's clock. One item alone needs no
// transaction for that.
func (v *Views) atOnce(ctx context.Context, keys []table.Key) ([]wire.Item, time.Time, error) {
	if len(keys) == 1 {
		item, at, err := get(ctx, v.client, v.table, keys[0], true)
		return []wire.Item{item}, at, err
	}
	in := &dynamodb.TransactGetItemsInput{}
	for _, key := range keys {
		in.TransactItems = append(in.TransactItems, types.TransactGetItem{Get: &types.Get{TableName: &v.table, Key: wire.Key(key)}})
	}
	out, err := v.client.TransactGetItems(ctx, in)
	if err != nil {
		return nil, time.Time{}, wire.ReadError(err)
	}
	at := wire.StoreTime(out.ResultMetadata)
	if len(out.Responses) != len(keys) {
		return nil, at, fmt.Errorf("asked for %d items, was answered of %d", len(keys), len(out.Responses))
	}
	items := make([]wire.Item, len(keys))
	for i, response := range out.Responses {
		if len(response.Item) > 0 {
			items[i] = response.Item
		}
	}
	return items, at, nil
}

// StoredMembership implements projections.Repairs.
func (v *Views) StoredMembership(ctx context.Context, account, user string) (projections.Found[projections.Membership], error) {
	item, _, err := get(ctx, v.client, v.table, table.MembershipKey(account, user), true)
	if err != nil {
		return projections.Found[projections.Membership]{}, fmt.Errorf("read membership: %w", err)
	}
	return foundMembership(account, user, item), nil
}

// WriteSummary implements projections.Repairs.
func (v *Views) WriteSummary(ctx context.Context, s projections.Summary, mark projections.Mark) error {
	s.Version++
	if err := v.putAlone(ctx, v.put(summaryItem(s), ifMark(mark, table.AttrVersion))); err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	return nil
}

// PutMembership implements projections.Repairs.
func (v *Views) PutMembership(ctx context.Context, m projections.Membership, mark projections.Mark) error {
	if err := v.putAlone(ctx, v.put(membershipItem(m), ifMark(mark, table.AttrNumber))); err != nil {
		return fmt.Errorf("write membership: %w", err)
	}
	return nil
}
