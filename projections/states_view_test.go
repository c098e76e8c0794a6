package projections

import (
	"context"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// States is the view of accounts by state, an example. The newest change of an account has its state.
var States = &View{
	Name: "states", Form: itemForm(store.AttrNumber),
	Of: func(r Record) (t Target, number int64, ok bool) {
		if !store.Change.Is(r.SK) {
			return t, 0, true
		}
		t.Account, number, ok = store.Change.Parse(store.Key{PK: r.PK, SK: r.SK})
		return t, number, ok
	},
	Fold: func(ctx context.Context, v *Views, t Target, _ Seen) ([]Row, error) {
		q := v.within(t.Account, store.Change.All())
		q.Descending = true
		item, err := store.First(ctx, v.table, q)
		if err != nil {
			return nil, err
		}
		newest, err := decodeAs[events.AccountChanged](item)
		return []Row{{t, stateItem(t.Account, newest), newest.At}}, err
	},
	Events: store.Change.All(), Items: store.Range{From: "STATE", To: "STATE"},
	Owner: func(item store.Item) (t Target, ok bool) {
		t.Account, ok = store.Account.Owner(store.ItemKey(item))
		return t, ok
	},
	None: func(k store.Key) any {
		account, _ := store.Account.Owner(k)
		return stateItem(account, events.AccountChanged{})
	},
}

func stateItem(account string, newest events.AccountChanged) store.Item {
	item := store.Begin(store.Key{PK: store.Account.PK(account), SK: "STATE"}, "AccountState")
	item[store.AttrNumber] = store.Integer(newest.Number)
	item[store.AttrPK2] = store.String("STATE#" + string(newest.State))
	return item
}
