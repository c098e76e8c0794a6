package viewstest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/table/tabletest"
)

// count is a tabletest.Around that counts requests.
func (s *Store) count(ctx context.Context, c tabletest.Call, apply func(context.Context) error) error {
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
			if table.Posting.Is(table.ItemKey(item).SK) {
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
func Strong(t table.Table) table.Table {
	return &tabletest.Faulty{Table: t, Around: func(
		ctx context.Context, c tabletest.Call, apply func(context.Context) error,
	) error {
		if len(c.Writes) == 0 && (c.Consistency != table.Strong || c.Query.Index != "") {
			panic("the read is not strongly consistent")
		}
		return apply(ctx)
	}}
}

// Hooked is a table.Table that calls hooks before or after some requests, if they are not nil.
type Hooked struct {
	table.Table
	BeforeBalance func(events.Pair) error // before the read of a balance alone
	AfterPostings func(page []table.Item) ([]table.Item, error)
	AfterGrant    func()
	BeforeWrite   func(write int, all []table.Write) error // of a balance; write counts from 1; an error prevents it

	mu     sync.Mutex
	writes int
}

// ErrCut is the error of a table that is cut off.
var ErrCut = errors.New("cut off")

// CutOff returns a table that fails all writes of balances after the first one.
func CutOff(t table.Table) *Hooked {
	return &Hooked{Table: t, BeforeWrite: func(write int, _ []table.Write) error {
		if write > 1 {
			return ErrCut
		}
		return nil
	}}
}

// Get implements table.Table.
func (h *Hooked) Get(ctx context.Context, k table.Key, c table.Consistency) (table.Item, time.Time, error) {
	if account, asset, ok := table.Balance.Parse(k); ok && h.BeforeBalance != nil {
		if err := h.BeforeBalance(events.Pair{Account: account, Asset: asset}); err != nil {
			return nil, time.Time{}, err
		}
	}
	return h.Table.Get(ctx, k, c)
}

// Query implements table.Table.
func (h *Hooked) Query(ctx context.Context, q table.Query) (table.Page, error) {
	page, err := h.Table.Query(ctx, q)
	switch {
	case err != nil:
	case h.AfterPostings != nil && IsPostings(q):
		page.Items, err = h.AfterPostings(page.Items)
	case h.AfterGrant != nil && q.Descending && strings.HasPrefix(q.Within.From, table.Grant.Prefix()):
		h.AfterGrant()
	}
	return page, err
}

// IsPostings reports whether a query reads the figures of postings.
func IsPostings(q table.Query) bool {
	return q.Limit > 1 && strings.HasPrefix(q.Within.From, table.Posting.Prefix())
}

// Write implements table.Table.
func (h *Hooked) Write(ctx context.Context, w table.Write) (time.Time, error) {
	if err := h.before(w); err != nil {
		return time.Time{}, err
	}
	return h.Table.Write(ctx, w)
}

// Transact implements table.Table.
func (h *Hooked) Transact(ctx context.Context, writes []table.Write) (time.Time, error) {
	if err := h.before(writes...); err != nil {
		return time.Time{}, err
	}
	return h.Table.Transact(ctx, writes)
}

func (h *Hooked) before(all ...table.Write) error {
	if h.BeforeWrite == nil || table.TextOf(all[0].Item[table.AttrType]) != table.Balance.Type {
		return nil
	}
	h.mu.Lock()
	h.writes++
	n := h.writes
	h.mu.Unlock()
	return h.BeforeWrite(n, all)
}
