package viewstest

import (
	"context"
	"fmt"
	"slices"

	"ledger.example/ledger/table"
	"ledger.example/projections"
)

// item is one item of a transaction, and what makes it visible.
type item struct {
	key   table.Key
	apply func()
}

// Write implements projections.Views. It refuses what no caller may send: more segments than a transaction holds, one
// segment twice, one of another balance, one of nothing.
func (m *Memory) Write(ctx context.Context, c projections.Change) error {
	if err := checkChange(c); err != nil {
		return err
	}
	if err := m.begin(ctx); err != nil {
		return err
	}
	items, err := m.prepare(c)
	if err != nil {
		m.mu.Unlock()
		return err
	}
	m.requests.Writes++
	if len(items) > 1 {
		m.requests.Transactions++
	}
	if len(items) == 1 || m.Between == nil {
		for _, i := range items {
			i.apply()
			delete(m.spoiled, i.key)
		}
		m.mu.Unlock()
		return nil
	}
	for _, i := range items {
		m.locked[i.key] = true
	}
	for n, i := range items {
		i.apply()
		delete(m.locked, i.key)
		delete(m.spoiled, i.key)
		if n < len(items)-1 {
			m.mu.Unlock()
			m.Between()
			m.mu.Lock()
		}
	}
	m.mu.Unlock()
	return nil
}

func checkChange(c projections.Change) error {
	if len(c.Segments) > projections.SegmentsMax {
		return fmt.Errorf("%d segments in one change", len(c.Segments))
	}
	written := make(map[string]bool)
	for _, s := range c.Segments {
		if s.Key != c.Balance.Key || s.Through <= s.After || s.Count < 0 || written[string(s.Through)] {
			return fmt.Errorf("segment %v is not one of %v, is of nothing, or is there twice", s, c.Balance.Key)
		}
		written[string(s.Through)] = true
	}
	if c.Summary != nil && c.Summary.Account != c.Balance.Account {
		return fmt.Errorf("summary of %q beside a balance of %q", c.Summary.Account, c.Balance.Account)
	}
	return nil
}

// prepare compares versions, looks for other transactions, and returns what is to be applied.
func (m *Memory) prepare(c projections.Change) ([]item, error) {
	b := c.Balance
	if stored := m.foundBalance(b.Key); !markIs(c.Mark, stored.Mark, b.Version, stored.Value.Version) {
		return nil, fmt.Errorf("balance has version %d, mark %q: %w", stored.Value.Version, stored.Mark, table.ErrConflict)
	}
	b.Version++
	items := []item{{table.BalanceKey(b.Account, b.Asset), func() { m.balances[b.Key] = b }}}
	for _, s := range c.Segments {
		items = append(items, item{table.SegmentKey(s.Account, s.Asset, string(s.Through)), func() { m.putSegment(s) }})
	}
	if c.Summary != nil {
		s := *c.Summary
		if stored := m.foundSummary(s.Account); !markIs(c.SummaryMark, stored.Mark, s.Version, stored.Value.Version) {
			return nil, fmt.Errorf("summary has version %d, mark %q: %w", stored.Value.Version, stored.Mark, table.ErrConflict)
		}
		s.Version++
		items = append(items, item{table.SummaryKey(s.Account), func() { m.summaries[s.Account] = s }})
	}
	for _, i := range items {
		if m.locked[i.key] {
			return nil, fmt.Errorf("a transaction is under way on %s: %w", i.key.SK, table.ErrConflict)
		}
	}
	if m.Order != nil {
		m.Order(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	}
	return items, nil
}

func (m *Memory) putSegment(s projections.Segment) {
	segments := m.segments[s.Key]
	i, there := slices.BinarySearchFunc(segments, s.Through, compareSegment)
	if there {
		segments[i] = s
		return
	}
	m.segments[s.Key] = slices.Insert(segments, i, s)
}
