package ledger

import (
	"context"
	"errors"
	"fmt"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// guard is the total that an account has ever spent or held of an asset. Each debit of a limited account updates it.
type guard struct {
	pair    events.Pair
	spent   events.Amount
	version int64 // of the account, as set last; 0 for none, also if the guard does not exist
}

// readGuard decodes the guard of a pair.
func readGuard(pair events.Pair, item store.Item) (guard, error) {
	r := store.Open(item, store.Spend.Type)
	g := guard{pair: pair, spent: r.Amount(store.AttrSpent)}
	if r.Has(store.AttrChange) {
		g.version = r.Integer(store.AttrChange)
	}
	if r.Err() != nil {
		return g, fmt.Errorf("guard of %s in %s: %w", pair.Asset, pair.Account, r.Err())
	}
	return g, nil
}

// createGuard writes the guard of a pair, without an account version, unless it exists, with retries.
func (l *Ledger) createGuard(ctx context.Context, pair events.Pair) error {
	item := store.Begin(store.Spend.Key(pair.Account, pair.Asset), store.Spend.Type)
	item[store.AttrSpent] = store.Integer(0)
	return l.retryWrite(ctx, func(ctx context.Context) error {
		_, err := l.table.Write(ctx, store.Write{Item: item, If: store.IfAbsent})
		if _, exists := errors.AsType[*store.Refused](err); err == nil || exists {
			return nil
		}
		return fmt.Errorf("create guard: %w", err)
	})
}

const (
	setVersion = "SET #change = :version"
	isOlder    = "#form = :form AND attribute_not_exists(#change) OR #form = :form AND #change < :version"
)

// setGuardVersion sets the account version of a guard, unless the guard has it or a newer one, with retries. It marks
// the guard as existing. Error: also ErrAbsent.
func (l *Ledger) setGuardVersion(ctx context.Context, pair events.Pair, version int64) error {
	w := store.Write{
		Key: store.Spend.Key(pair.Account, pair.Asset), Update: setVersion, If: isOlder, Names: versionNames,
		Values:    store.Item{":version": store.Integer(version), ":form": store.Integer(events.Form)},
		ReturnOld: true,
	}
	err := l.retryWrite(ctx, func(ctx context.Context) error {
		_, err := l.table.Write(ctx, w)
		if refused, ok := errors.AsType[*store.Refused](err); ok {
			if err = store.ErrAbsent; refused.Old != nil {
				_, err = readGuard(pair, refused.Old)
			}
		}
		if err != nil {
			return fmt.Errorf("set guard version: %w", err)
		}
		return nil
	})
	if err == nil {
		l.credits.markGuarded(pair)
	}
	return err
}

// eachGuard calls do for every guard of an account, by asset, one after the other.
func (l *Ledger) eachGuard(ctx context.Context, account string, do func(guard)) error {
	q := store.Query{
		Partition: store.Account.PK(account), Within: store.Spend.All(), Consistency: store.Strong,
	}
	for item, err := range l.items(ctx, q) {
		var g guard
		if err == nil {
			g, err = listedGuard(item)
		}
		if err != nil {
			return fmt.Errorf("read guards: %w", err)
		}
		do(g)
	}
	return nil
}

// listedGuard decodes a guard with its key.
func listedGuard(item store.Item) (guard, error) {
	account, asset, ok := store.Spend.Parse(store.ItemKey(item))
	if !ok {
		return guard{}, fmt.Errorf("%w: %v", store.ErrMalformedItem, store.ItemKey(item))
	}
	return readGuard(events.Pair{Account: account, Asset: asset}, item)
}
