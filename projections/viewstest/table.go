package viewstest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/internal/store/storetest"
)

// count is a storetest.Around that counts requests.
func (s *Store) count(ctx context.Context, c storetest.Call, apply func(context.Context) error) error {
	err := apply(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch applied := err == nil; c.Method {
	case "Get":
		s.requests.Gets++
	case "Snapshot":
		s.requests.TransactGets++
	case "Query":
		s.requests.Queries++
		for _, item := range *c.Found {
			if store.Posting.Is(store.ItemKey(item).SK) {
				s.requests.Postings++
			}
		}
	case "Write":
		if applied {
			s.requests.Puts++
		}
	case "Transact":
		if applied {
			s.requests.TransactWrites++
		}
	}
	return err
}

// Strong returns a table that panics at a read of t that is not strongly consistent: a refold, a strong read or a
// rebuild is correct only if it sees every committed event.
func Strong(t store.Table) store.Table {
	return &storetest.Faulty{Table: t, Around: func(
		ctx context.Context, c storetest.Call, apply func(context.Context) error,
	) error {
		if len(c.Writes) == 0 && (c.Consistency != store.Strong || c.Query.Index != "") {
			panic("the read is not strongly consistent")
		}
		return apply(ctx)
	}}
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

// ErrCut is the error of a table that is cut off.
var ErrCut = errors.New("cut off")

// CutOff returns a table that fails all writes of balances after the first one.
func CutOff(t store.Table) *Hooked {
	return &Hooked{Table: t, BeforeWrite: func(write int, _ []store.Write) error {
		if write > 1 {
			return ErrCut
		}
		return nil
	}}
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
