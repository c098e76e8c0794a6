package projections

import (
	"context"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// States is the view of accounts by state, an example. The newest change of an account has its state.
var States = declare(&View{
	Name: "states", Form: itemForm(table.AttrNumber), Event: table.Change.Pattern,
	Of: func(r Record) (t Target, number int64, ok bool) {
		t.Account, number, ok = table.Change.Parse(r.Key())
		return t, number, ok
	},
	Fold: func(ctx context.Context, v *Views, t Target, _ Seen) ([]Row, error) {
		change, err := newest[events.AccountChanged](ctx, v, table.Account.PK(t.Account), table.Change.All())
		return []Row{{t, stateItem(t.Account, change), change.At}}, err
	},
	Items: table.Range{From: "STATE", To: "STATE"},
	Owner: func(item table.Item) (t Target, ok bool) {
		t.Account, ok = table.Account.Owner(table.ItemKey(item))
		return t, ok
	},
	None: func(k table.Key) any { // number 0, and in no list
		account, _ := table.Account.Owner(k)
		return stateItem(account, events.AccountChanged{})
	},
})

func stateItem(account string, newest events.AccountChanged) table.Item {
	item := table.Begin(table.Key{PK: table.Account.PK(account), SK: "STATE"}, "AccountState")
	item[table.AttrNumber] = table.Integer(newest.Number)
	if newest.Number > 0 {
		item[table.AttrPK2] = table.String("STATE#" + string(newest.State))
	}
	return item
}

// AccountsIn lists the ids of the accounts in a state.
func (l *Lists) AccountsIn(ctx context.Context, state string, s Slice) (Page[string], error) {
	within := table.Account.Partitions().After(s.After)
	q := table.Query{Index: table.IndexInverse, Partition: "STATE#" + state, Within: within, Attributes: keysOnly}
	idOf := func(item table.Item) (string, error) {
		account, _ := table.Account.Owner(table.ItemKey(item))
		return account, nil
	}
	return list(ctx, l, "list accounts in a state", q, s.Limit, table.Account.Owner, idOf)
}
