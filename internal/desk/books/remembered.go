package books

import (
	"context"
	"iter"

	"ledger.example/client"
)

// remembered reads each account and each asset of a ledger once. It is for one goroutine.
type remembered struct {
	Ledger
	accounts map[string]answer[client.Account]
	assets   map[string]answer[client.Asset]
}

type answer[T any] struct {
	reply client.Reply[T]
	err   error
}

func (r *remembered) Account(ctx context.Context, id string) (client.Reply[client.Account], error) {
	return once(ctx, &r.accounts, id, r.Ledger.Account)
}

func (r *remembered) Asset(ctx context.Context, id string) (client.Reply[client.Asset], error) {
	return once(ctx, &r.assets, id, r.Ledger.Asset)
}

func once[T any](
	ctx context.Context, known *map[string]answer[T], id string,
	read func(context.Context, string) (client.Reply[T], error),
) (client.Reply[T], error) {
	if a, ok := (*known)[id]; ok {
		return a.reply, a.err
	}
	if *known == nil {
		*known = make(map[string]answer[T])
	}
	reply, err := read(ctx, id)
	(*known)[id] = answer[T]{reply, err}
	return reply, err
}

// accountsOf returns the accounts of the ledger, by their names.
func (m *mapping) accountsOf() *had {
	return &had{
		name: func(ctx context.Context, id string) (string, bool, error) {
			r, err := m.Ledger.Account(ctx, id)
			return present(r.Value.Name, err, client.CodeAccountNotFound)
		},
		all: func(ctx context.Context) iter.Seq2[[2]string, error] {
			of := func(a client.Account) [2]string { return [2]string{a.ID, a.Name} }
			return pairsOf(m.Ledger.AllAccounts(ctx), of)
		},
	}
}

// assetsOf returns the assets of the ledger, by their names.
func (m *mapping) assetsOf() *had {
	return &had{
		name: func(ctx context.Context, id string) (string, bool, error) {
			r, err := m.Ledger.Asset(ctx, id)
			return present(r.Value.Name, err, "asset_not_found")
		},
		all: func(ctx context.Context) iter.Seq2[[2]string, error] {
			of := func(a client.Asset) [2]string { return [2]string{a.ID, a.Name} }
			return pairsOf(m.Ledger.AllAssets(ctx), of)
		},
	}
}

func present(name string, err error, absent string) (string, bool, error) {
	if isAbsent(err, absent) {
		return "", false, nil
	}
	return name, err == nil, err
}

func pairsOf[T any](all iter.Seq2[T, error], pair func(T) [2]string) iter.Seq2[[2]string, error] {
	return func(yield func([2]string, error) bool) {
		for one, err := range all {
			if !yield(pair(one), err) {
				return
			}
		}
	}
}
