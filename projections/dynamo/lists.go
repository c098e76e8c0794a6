package dynamo

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
	"ledger.example/projections"
)

// Lists is projections.Lists on one table. It is safe for concurrent use. Memberships listed by user come without their
// Number, which the inverse index doesn't hold.
type Lists struct {
	client *dynamodb.Client
	table  string
}

var _ projections.Lists = (*Lists)(nil)

// NewLists returns the lists in the named table.
func NewLists(client *dynamodb.Client, tableName string) *Lists {
	return &Lists{client: client, table: tableName}
}

// Balance implements projections.Lists.
func (l *Lists) Balance(ctx context.Context, k projections.Key) (projections.Balance, error) {
	item, _, err := get(ctx, l.client, l.table, table.BalanceKey(k.Account, k.Asset), false)
	if err == nil && item == nil {
		err = table.ErrAbsent
	}
	if err != nil {
		return projections.Balance{}, fmt.Errorf("read balance: %w", err)
	}
	b, err := decodeBalance(item)
	if err != nil {
		return projections.Balance{}, fmt.Errorf("read balance: %w", err)
	}
	return b, nil
}

// Balances implements projections.Lists.
func (l *Lists) Balances(ctx context.Context, account string, s projections.Slice) (projections.Listed[projections.Balance], error) {
	r := table.BalancesRange(s.After)
	q := wire.Within(table.AccountKey(account).PK, r, &dynamodb.QueryInput{})
	return list(ctx, l, "list balances", r, q, s.Limit, assetOfBalance, decodeBalance)
}

// Holders implements projections.Lists.
func (l *Lists) Holders(ctx context.Context, asset string, s projections.Slice) (projections.Listed[projections.Balance], error) {
	r := table.AccountsRange("", s.After)
	q := wire.WithinInverse(table.HoldersPK2(asset), r, &dynamodb.QueryInput{
		ProjectionExpression: aws.String(table.AttrPK + ", " + table.AttrSK),
	})
	keys, err := list(ctx, l, "list holders", r, q, s.Limit, accountOfBalance, wire.KeyOf)
	if err != nil {
		return projections.Listed[projections.Balance]{}, err
	}
	holders := projections.Listed[projections.Balance]{Items: make([]projections.Balance, 0, len(keys.Items)), Next: keys.Next}
	items, _, err := wire.BatchGet(ctx, l.client, l.table, keys.Items, false)
	if err != nil {
		return projections.Listed[projections.Balance]{}, fmt.Errorf("list holders: %w", err)
	}
	found := make(map[table.Key]projections.Balance, len(items))
	for _, item := range items {
		b, err := decodeBalance(item)
		if err != nil {
			return projections.Listed[projections.Balance]{}, fmt.Errorf("list holders: %w", err)
		}
		found[table.BalanceKey(b.Account, b.Asset)] = b
	}
	for _, key := range keys.Items {
		// A replica of the table may be behind the index.
		if b, ok := found[key]; ok {
			holders.Items = append(holders.Items, b)
		}
	}
	return holders, nil
}

// Assets implements projections.Lists.
func (l *Lists) Assets(ctx context.Context, prefix string, s projections.Slice) (projections.Listed[events.AssetRegistered], error) {
	r := table.AssetsRange(prefix, s.After)
	q := wire.WithinInverse(table.AssetsPK2, r, &dynamodb.QueryInput{})
	return list(ctx, l, "list assets", r, q, s.Limit, table.ParseAsset, decodeListed[events.AssetRegistered])
}

// Accounts implements projections.Lists.
func (l *Lists) Accounts(ctx context.Context, prefix string, s projections.Slice) (projections.Listed[events.AccountOpened], error) {
	r := table.AccountsRange(prefix, s.After)
	q := wire.WithinInverse(table.AccountsPK2, r, &dynamodb.QueryInput{})
	return list(ctx, l, "list accounts", r, q, s.Limit, table.ParseAccount, decodeListed[events.AccountOpened])
}

// Members implements projections.Lists.
func (l *Lists) Members(ctx context.Context, account string, s projections.Slice) (projections.Listed[projections.Membership], error) {
	r := table.MembersRange(s.After)
	q := wire.Within(table.AccountKey(account).PK, r, &dynamodb.QueryInput{})
	members, err := list(ctx, l, "list members", r, q, s.Limit, userOfMembership, decodeMembership)
	return withoutRevoked(members), err
}

// AccountsOf implements projections.Lists.
func (l *Lists) AccountsOf(ctx context.Context, user string, s projections.Slice) (projections.Listed[projections.Membership], error) {
	r := table.AccountsRange("", s.After)
	q := wire.WithinInverse(table.UserPK2(user), r, &dynamodb.QueryInput{})
	members, err := list(ctx, l, "list accounts of a user", r, q, s.Limit, accountOfMembership, decodeListedMembership)
	return withoutRevoked(members), err
}

func withoutRevoked(members projections.Listed[projections.Membership]) projections.Listed[projections.Membership] {
	granted := members.Items[:0]
	for _, m := range members.Items {
		if m.Role != "" {
			granted = append(granted, m)
		}
	}
	members.Items = granted
	return members
}

// The positions of the lists, read from the keys of what is listed.

func assetOfBalance(k table.Key) (string, bool) {
	_, asset, ok := table.ParseBalance(k)
	return asset, ok
}

func accountOfBalance(k table.Key) (string, bool) {
	account, _, ok := table.ParseBalance(k)
	return account, ok
}

func userOfMembership(k table.Key) (string, bool) {
	_, user, ok := table.ParseMembership(k)
	return user, ok
}

func accountOfMembership(k table.Key) (string, bool) {
	account, _, ok := table.ParseMembership(k)
	return account, ok
}
