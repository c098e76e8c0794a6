package dynamo

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// Lists implements projections.Lists on one table. It is safe for concurrent use. A malformed Version of a balance or
// summary, or Number of a membership, is listed as 0: only writes need it. The Number is always 0 in lists by user, as
// the inverse index does not have it.
type Lists struct{ reads }

var _ projections.Lists = (*Lists)(nil)

// NewLists returns the lists in the named table.
func NewLists(client *dynamodb.Client, tableName string) *Lists {
	return &Lists{reads{client, tableName}}
}

// Balance implements projections.Lists.
func (l *Lists) Balance(ctx context.Context, k events.Pair) (h projections.Holding, err error) {
	defer annotate(&err, "read balance")
	found, err := l.holdings(ctx, []events.Pair{k})
	if err != nil {
		return h, err
	}
	h = found[k]
	h.Pair = k
	return h, nil
}

// Balances implements projections.Lists. The account sorts before its balances, so the first page is one query.
func (l *Lists) Balances(ctx context.Context, account string, s projections.Slice) (
	holder projections.Holder, balances projections.Page[projections.Balance], err error,
) {
	if s.After == "" {
		page, err := l.AccountPage(ctx, account, s.Limit)
		return page.Holder, page.Balances, err
	}
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		defer annotate(&err, "read account")
		holder, err = l.holder(ctx, account, false)
		return err
	})
	both.Go(func() (err error) {
		r := table.Balance.All().After(s.After)
		q := ddb.Within(table.Account.PK(account), r, &dynamodb.QueryInput{})
		balances, err = list(ctx, l, "list balances", r, q, s.Limit, secondOf(table.Balance.Parse), decodeBalance)
		return err
	})
	return holder, balances, both.Wait()
}

// Holders implements projections.Lists.
func (l *Lists) Holders(ctx context.Context, asset string, s projections.Slice) (
	holders projections.Page[projections.Holding], err error,
) {
	r := table.Account.Partitions().After(s.After)
	q := ddb.WithinInverse(table.Balance.PK2(asset), r, &dynamodb.QueryInput{
		ProjectionExpression: aws.String(keysOnly),
	})
	keys, err := list(ctx, l, "list holders", r, q, s.Limit, firstOf(table.Balance.Parse), ddb.KeyOf)
	if err != nil {
		return holders, err
	}
	defer annotate(&err, "read balances of holders")
	pairs := make([]events.Pair, len(keys.Items))
	for i, key := range keys.Items {
		pairs[i].Account, pairs[i].Asset, _ = table.Balance.Parse(key)
	}
	found, err := l.holdings(ctx, pairs)
	if err != nil {
		return holders, err
	}
	holders.Items, holders.Next = make([]projections.Holding, 0, len(pairs)), keys.Next
	for _, k := range pairs {
		if h := found[k]; h.Account != "" { // an eventually consistent read may be behind the index
			holders.Items = append(holders.Items, h)
		}
	}
	return holders, nil
}

// Assets implements projections.Lists.
func (l *Lists) Assets(ctx context.Context, prefix string, s projections.Slice) (
	projections.Page[events.AssetRegistered], error,
) {
	r := table.Asset.Partitions().After(s.After).Beginning(prefix)
	q := ddb.WithinInverse(table.Asset.PK2(), r, &dynamodb.QueryInput{})
	return list(ctx, l, "list assets", r, q, s.Limit, table.Asset.Parse, decodeListed[events.AssetRegistered])
}

// Members implements projections.Lists.
func (l *Lists) Members(ctx context.Context, account string, s projections.Slice) (
	projections.Page[projections.Membership], error,
) {
	return l.members(ctx, table.Account.PK(account), s, table.Membership.Parse)
}

// members lists the current members in a partition, whose keys parse reads.
func (l *Lists) members(ctx context.Context, partition string, s projections.Slice,
	parse func(table.Key) (string, string, bool),
) (projections.Page[projections.Membership], error) {
	r := table.Membership.All().After(s.After)
	q := ddb.Within(partition, r, &dynamodb.QueryInput{})
	members, err := list(ctx, l, "list members", r, q, s.Limit, secondOf(parse), decodeMembership)
	return withoutRevoked(members), err
}

// withoutRevoked drops revoked memberships from a page, which may then be short.
func withoutRevoked(members projections.Page[projections.Membership]) projections.Page[projections.Membership] {
	members.Items = slices.DeleteFunc(members.Items, func(m projections.Membership) bool { return m.Role == "" })
	return members
}

// firstOf and secondOf return positions of lists: the first or the second of the ids that parse reads from a key.
func firstOf(parse func(table.Key) (string, string, bool)) func(table.Key) (string, bool) {
	return func(k table.Key) (string, bool) {
		id, _, ok := parse(k)
		return id, ok
	}
}

func secondOf(parse func(table.Key) (string, string, bool)) func(table.Key) (string, bool) {
	return func(k table.Key) (string, bool) {
		_, id, ok := parse(k)
		return id, ok
	}
}
