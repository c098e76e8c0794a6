package viewstest

import (
	"context"
	"strings"
	"sync"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// counted is a store.Table that counts its requests.
type counted struct {
	store.Table

	mu       sync.Mutex
	requests Requests
}

func (c *counted) count(add func(*Requests)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	add(&c.requests)
}

// Get implements store.Table.
func (c *counted) Get(ctx context.Context, k store.Key, s store.Consistency) (store.Item, time.Time, error) {
	c.count(func(r *Requests) { r.Gets++ })
	return c.Table.Get(ctx, k, s)
}

// Snapshot implements store.Table.
func (c *counted) Snapshot(ctx context.Context, keys []store.Key, attributes ...string) (
	[]store.Item, time.Time, error,
) {
	c.count(func(r *Requests) { r.TransactGets++ })
	return c.Table.Snapshot(ctx, keys, attributes...)
}

// Query implements store.Table.
func (c *counted) Query(ctx context.Context, q store.Query) (store.Page, error) {
	page, err := c.Table.Query(ctx, q)
	c.count(func(r *Requests) {
		r.Queries++
		for _, item := range page.Items {
			if strings.HasPrefix(store.TextOf(item[store.AttrSK]), store.Posting.Prefix()) {
				r.Postings++
			}
		}
	})
	return page, err
}

// Write implements store.Table.
func (c *counted) Write(ctx context.Context, w store.Write) (time.Time, error) {
	at, err := c.Table.Write(ctx, w)
	if err == nil {
		c.count(func(r *Requests) { r.Puts++ })
	}
	return at, err
}

// Transact implements store.Table.
func (c *counted) Transact(ctx context.Context, writes []store.Write) (time.Time, error) {
	at, err := c.Table.Transact(ctx, writes)
	if err == nil {
		c.count(func(r *Requests) { r.TransactWrites++ })
	}
	return at, err
}

// Hooked is a store.Table that calls hooks before or after some requests, if they are not nil.
type Hooked struct {
	store.Table
	BeforeBalance func(events.Pair) error // before the read of a balance alone
	AfterPostings func(page []store.Item) ([]store.Item, error)
	AfterGrant    func()
	BeforeWrite   func(write int, all []store.Write) error // of a balance; write counts from 1; an error prevents it

	mu     sync.Mutex
	writes int
}

// Get implements store.Table.
func (h *Hooked) Get(ctx context.Context, k store.Key, c store.Consistency) (store.Item, time.Time, error) {
	if account, asset, ok := store.Balance.Parse(k); ok && h.BeforeBalance != nil {
		if err := h.BeforeBalance(events.Pair{Account: account, Asset: asset}); err != nil {
			return nil, time.Time{}, err
		}
	}
	return h.Table.Get(ctx, k, c)
}

// Query implements store.Table.
func (h *Hooked) Query(ctx context.Context, q store.Query) (store.Page, error) {
	page, err := h.Table.Query(ctx, q)
	switch {
	case err != nil:
	case h.AfterPostings != nil && IsPostings(q):
		page.Items, err = h.AfterPostings(page.Items)
	case h.AfterGrant != nil && q.Descending && strings.HasPrefix(q.Within.From, store.Grant.Prefix()):
		h.AfterGrant()
	}
	return page, err
}

// IsPostings reports whether a query reads the figures of postings.
func IsPostings(q store.Query) bool {
	return q.Limit > 1 && strings.HasPrefix(q.Within.From, store.Posting.Prefix())
}

// Write implements store.Table.
func (h *Hooked) Write(ctx context.Context, w store.Write) (time.Time, error) {
	if err := h.before(w); err != nil {
		return time.Time{}, err
	}
	return h.Table.Write(ctx, w)
}

// Transact implements store.Table.
func (h *Hooked) Transact(ctx context.Context, writes []store.Write) (time.Time, error) {
	if err := h.before(writes...); err != nil {
		return time.Time{}, err
	}
	return h.Table.Transact(ctx, writes)
}

func (h *Hooked) before(all ...store.Write) error {
	if h.BeforeWrite == nil || store.TextOf(all[0].Item[store.AttrType]) != store.Balance.Type {
		return nil
	}
	h.mu.Lock()
	h.writes++
	n := h.writes
	h.mu.Unlock()
	return h.BeforeWrite(n, all)
}
