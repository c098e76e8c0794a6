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
	None: func(k store.Key) any {
		account, _ := store.Account.Owner(k)
		return stateItem(account, events.AccountChanged{})
	},
})

// stateItem returns the item of an account. Number 0 is that of no change: the item is in no list.
func stateItem(account string, newest events.AccountChanged) store.Item {
	item := store.Begin(store.Key{PK: store.Account.PK(account), SK: "STATE"}, "AccountState")
	item[store.AttrNumber] = store.Integer(newest.Number)
	if newest.Number > 0 {
		item[store.AttrPK2] = store.String("STATE#" + string(newest.State))
	}
	return item
}
