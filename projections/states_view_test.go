package projections

import (
	"context"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// States is the view of accounts by state, an example. The newest change of an account has its state.
var States = declare(&View{
	Name: "states", Form: itemForm(store.AttrNumber), Event: store.Change.Pattern,
	Of: func(r Record) (t Target, number int64, ok bool) {
		t.Account, number, ok = store.Change.Parse(r.Key())
		return t, number, ok
	},
	Fold: func(ctx context.Context, v *Views, t Target, _ Seen) ([]Row, error) {
		change, err := newest[events.AccountChanged](ctx, v, store.Account.PK(t.Account), store.Change.All())
		return []Row{{t, stateItem(t.Account, change), change.At}}, err
	},
	Items: store.Range{From: "STATE", To: "STATE"},
	Owner: func(item store.Item) (t Target, ok bool) {
		t.Account, ok = store.Account.Owner(store.ItemKey(item))
		return t, ok
	},
	None: func(k store.Key) any { // number 0, and in no list
		account, _ := store.Account.Owner(k)
		return stateItem(account, events.AccountChanged{})
	},
})

func stateItem(account string, newest events.AccountChanged) store.Item {
	item := store.Begin(store.Key{PK: store.Account.PK(account), SK: "STATE"}, "AccountState")
	item[store.AttrNumber] = store.Integer(newest.Number)
	if newest.Number > 0 {
		item[store.AttrPK2] = store.String("STATE#" + string(newest.State))
	}
	return item
}

// AccountsIn lists the ids of the accounts in a state.
func (l *Lists) AccountsIn(ctx context.Context, state string, s Slice) (Page[string], error) {
	within := store.Account.Partitions().After(s.After)
	q := store.Query{Index: store.IndexInverse, Partition: "STATE#" + state, Within: within, Attributes: keysOnly}
	idOf := func(item store.Item) (string, error) {
		account, _ := store.Account.Owner(store.ItemKey(item))
		return account, nil
	}
	return list(ctx, l, "list accounts in a state", q, s.Limit, store.Account.Owner, idOf)
}
