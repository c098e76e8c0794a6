// Package dynamo stores and reads projections in the ledger's DynamoDB table. Views implements the ports of refolds,
// strong reads and repairs. Lists implements eventually consistent reads and lists.
package dynamo

import (
	"cmp"
	"context"
	"maps"
	"slices"
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

// Views implements projections.ProjectorViews, ListerViews, ReaderViews and PastViews, and repair.Views, on one table.
// It is safe for concurrent use. Errors that these ports do not name (the table is missing, access is denied) are
// returned unchanged: a retry would fail, too, and nothing was written.
type Views struct {
	reads
	eventual bool // queries are eventually consistent
}

var (
	_ projections.ProjectorViews = (*Views)(nil)
	_ projections.ListerViews    = (*Views)(nil)
	_ projections.ReaderViews    = (*Views)(nil)
	_ projections.PastViews      = (*Views)(nil)
	_ repair.Views               = (*Views)(nil)
)

// NewViews returns the views in the named table.
func NewViews(client *dynamodb.Client, tableName string) *Views {
	return &Views{reads: reads{client, tableName}}
}

// Eventual returns views of the same table whose queries are eventually consistent, for plain reads of the past.
func (v *Views) Eventual() *Views { return &Views{reads: v.reads, eventual: true} }

// Balance implements projections.Balances.
func (v *Views) Balance(ctx context.Context, k events.Pair) (projections.Balance, time.Time, error) {
	item, at, err := ddb.Get(ctx, v.client, v.table, table.Balance.Key(k.Account, k.Asset), true)
	if err != nil {
		return projections.Balance{}, at, err
	}
	b, err := decodeOr(projections.Balance{Pair: k}, item, writable(decodeBalance))
	return b, at, err
}

// Summary implements projections.ProjectorViews.
func (v *Views) Summary(ctx context.Context, account string) (projections.Summary, error) {
	item, _, err := ddb.Get(ctx, v.client, v.table, table.Summary.Key(account), true)
	if err != nil {
		return projections.Summary{}, err
	}
	return decodeOr(projections.Summary{Account: account}, item, writable(decodeSummary))
}

// IsClosed implements projections.ProjectorViews. It decodes only the state: a fault of the rest is left to the audit.
func (v *Views) IsClosed(ctx context.Context, account string) (bool, error) {
	item, _, err := ddb.Get(ctx, v.client, v.table, table.Current.Key(account), true)
	if err != nil || item == nil {
		return false, err
	}
	r := ddb.Open(item, table.Current.Type)
	return r.Text("State") == string(events.StateClosed), r.Err()
}

// decodeOr decodes an item. It returns absent if the item is nil.
func decodeOr[T any](absent T, item ddb.Item, decode func(ddb.Item) (T, error)) (T, error) {
	if item == nil {
		return absent, nil
	}
	return decode(item)
}

// SegmentFrom implements projections.Balances.
func (v *Views) SegmentFrom(ctx context.Context, k events.Pair, id events.KSUID) (projections.Segment, error) {
	item, err := v.first(ctx, k.Account, table.Segment.All(k.Asset).Since(string(id)), &dynamodb.QueryInput{})
	if err != nil {
		return projections.Segment{}, err
	}
	return decodeSegment(item)
}

// BalanceWithSegment implements projections.Balances.
func (v *Views) BalanceWithSegment(ctx context.Context, k events.Pair, through events.KSUID) (
	b projections.Balance, s projections.Segment, err error,
) {
	items, _, err := v.snapshot(ctx,
		table.Balance.Key(k.Account, k.Asset), table.Segment.Key(k.Account, k.Asset, string(through)))
	if err != nil {
		return b, s, err
	}
	if items[1] == nil {
		return b, s, store.ErrAbsent
	}
	if b, err = decodeOr(projections.Balance{Pair: k}, items[0], writable(decodeBalance)); err != nil {
		return b, s, err
	}
	s, err = decodeSegment(items[1])
	return b, s, err
}

// NextAsset implements projections.ReaderViews. It skips malformed keys, which the projector and the audit report. It
// continues right after such a key: well-formed postings of the same asset may follow.
func (v *Views) NextAsset(ctx context.Context, account, after string) (string, error) {
	q := &dynamodb.QueryInput{ProjectionExpression: aws.String(keysOnly)}
	for {
		item, err := v.first(ctx, account, table.Posting.NextAfter(after), q)
		if err != nil {
			return "", err
		}
		key, err := ddb.KeyOf(item)
		if err != nil {
			return "", err
		}
		_, asset, id, ok := table.Posting.Parse(key)
		if _, err := events.ParseKSUID(id); ok && err == nil {
			return asset, nil
		}
		q.ExclusiveStartKey = ddb.Key(key)
	}
}

// NewestGrant implements projections.ProjectorViews.
func (v *Views) NewestGrant(ctx context.Context, of projections.Membership) (m projections.Membership, err error) {
	newest, err := ddb.NewestGrant(ctx, v.client, v.table, of.Key().PK, of.User)
	if err != nil {
		return m, err
	}
	return projections.Membership{
		Account: of.Account, Group: of.Group, User: of.User, Role: newest.Role, Number: newest.Number, At: newest.At,
	}, nil
}

// GroupedSince implements projections.ProjectorViews.
func (v *Views) GroupedSince(ctx context.Context, account string, from int64) ([]projections.GroupedAccount, error) {
	places := make(map[string]projections.GroupedAccount)
	q := &dynamodb.QueryInput{}
	for {
		out, err := v.query(ctx, account, table.Grouping.All().Since(table.Number(from)), q)
		if err != nil {
			return nil, err
		}
		for _, item := range out.Items {
			change, err := decodeAs[events.AccountGrouped](item)
			if err != nil {
				return nil, err
			}
			group := change.Changed()
			places[group] = projections.GroupedAccount{
				Account: account, Group: group, Out: !change.Has(group), Number: change.Number, At: change.At,
			}
		}
		if q.ExclusiveStartKey = out.LastEvaluatedKey; q.ExclusiveStartKey == nil {
			break
		}
	}
	if len(places) == 0 {
		return nil, store.ErrAbsent
	}
	return slices.SortedFunc(maps.Values(places), func(a, b projections.GroupedAccount) int {
		return cmp.Compare(a.Group, b.Group)
	}), nil
}

// keysOnly projects an item to its key.
const keysOnly = table.AttrPK + ", " + table.AttrSK

// first reads the first item in r of an account's partition. Error: also store.ErrAbsent.
func (v *Views) first(ctx context.Context, account string, r table.Range, q *dynamodb.QueryInput) (ddb.Item, error) {
	item, err := ddb.First(ctx, v.client, v.within(account, r, q))
	if err == nil && item == nil {
		err = store.ErrAbsent
	}
	return item, err
}

// query reads one page of an account's partition. Only the last page may be empty.
func (v *Views) query(ctx context.Context, account string, r table.Range, q *dynamodb.QueryInput) (
	*dynamodb.QueryOutput, error,
) {
	return ddb.Page(ctx, v.client, v.within(account, r, q))
}

// within completes q as a query of r in an account's partition. It is strongly consistent unless v is eventual.
func (v *Views) within(account string, r table.Range, q *dynamodb.QueryInput) *dynamodb.QueryInput {
	q.TableName = &v.table
	q.ConsistentRead = aws.Bool(!v.eventual)
	return ddb.Within(table.Account.PK(account), r, q)
}
