// Package viewstest holds what tests of projections share: a conformance suite for every implementation of
// projections.Views, and one in memory that enforces the contract.
package viewstest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/projections"
)

// Seed puts what Views only reads, as a command's commit would, and reads what Views only puts.
type Seed interface {
	// Post puts postings of k.
	Post(ctx context.Context, k projections.Key, postings ...projections.Posting) error
	// Grant puts the grant that m shows, or a revocation when its role is "".
	Grant(ctx context.Context, m projections.Membership) error
	// Membership reads what WriteMembership put, strongly. Error: table.ErrAbsent.
	Membership(ctx context.Context, account, user string) (projections.Membership, error)
}

// Memory is a strict projections.Views in memory, and its own Seed. It compares versions, refuses what the contract
// forbids, and lets a transaction be seen item by item by all but Together. It is safe for concurrent use. Its exported
// fields are set before it is used.
type Memory struct {
	// Now is the store's clock; nil does not tell the time.
	Now func() time.Time
	// Page is the most postings of one page.
	Page int
	// Between, when not nil, is called between any two items of a transaction becoming visible, with no lock held: what
	// others do in it happens in the middle of that commit.
	Between func()
	// Order, when not nil, shuffles the n items of a transaction into the order in which they become visible.
	Order func(n int, swap func(i, j int))

	mu          sync.Mutex
	postings    map[projections.Key][]projections.Posting // by ID
	grants      map[member][]projections.Membership       // by Number
	balances    map[projections.Key]projections.Balance
	segments    map[projections.Key][]projections.Segment // by Through
	summaries   map[string]projections.Summary
	memberships map[member]projections.Membership
	locked      map[table.Key]bool  // items of transactions under way
	spoiled     map[table.Key]spoil // items that were damaged
	requests    Requests
}

type member struct{ account, user string }

// Requests counts what was asked of a Memory.
type Requests struct {
	Balance, Postings, SegmentFrom, Together, Summary, NextAsset int // reads
	PostingsRead                                                 int // postings that Postings returned
	Writes, Transactions                                         int // writes of balances that were applied, and those with more than the balance
	Memberships                                                  int // memberships put
	Repairs                                                      int // summaries and memberships put by rebuilds
}

// NewMemory returns an empty one with the machine's clock and pages of 100 postings.
func NewMemory() *Memory {
	return &Memory{
		Now: time.Now, Page: 100,
		postings:    make(map[projections.Key][]projections.Posting),
		grants:      make(map[member][]projections.Membership),
		balances:    make(map[projections.Key]projections.Balance),
		segments:    make(map[projections.Key][]projections.Segment),
		summaries:   make(map[string]projections.Summary),
		memberships: make(map[member]projections.Membership),
		locked:      make(map[table.Key]bool),
		spoiled:     make(map[table.Key]spoil),
	}
}

// Requests returns the counts since the last call, and begins anew.
func (m *Memory) Requests() Requests {
	m.mu.Lock()
	defer m.mu.Unlock()
	counted := m.requests
	m.requests = Requests{}
	return counted
}

// begin locks m for one request, unless ctx is over. A read that was cut short says so, as a store does.
func (m *Memory) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", table.ErrUnavailable, err)
	}
	m.mu.Lock()
	return nil
}

// Post implements Seed. A posting that is there already is refused: events are never changed.
func (m *Memory) Post(ctx context.Context, k projections.Key, postings ...projections.Posting) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	for _, p := range postings {
		i, there := slices.BinarySearchFunc(m.postings[k], p.ID, comparePosting)
		if there {
			return fmt.Errorf("posting %s: %w", p.ID, table.ErrExists)
		}
		m.postings[k] = slices.Insert(m.postings[k], i, p)
	}
	return nil
}

// Grant implements Seed. A grant that is there already is refused.
func (m *Memory) Grant(ctx context.Context, g projections.Membership) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	key := member{g.Account, g.User}
	i, there := slices.BinarySearchFunc(m.grants[key], g.Number, func(a projections.Membership, number int64) int {
		return int(a.Number - number)
	})
	if there {
		return fmt.Errorf("grant %d: %w", g.Number, table.ErrExists)
	}
	m.grants[key] = slices.Insert(m.grants[key], i, g)
	return nil
}

// Balance implements projections.Views.
func (m *Memory) Balance(ctx context.Context, k projections.Key) (projections.Balance, time.Time, error) {
	if err := m.begin(ctx); err != nil {
		return projections.Balance{}, time.Time{}, err
	}
	defer m.mu.Unlock()
	m.requests.Balance++
	if err := m.readable(table.BalanceKey(k.Account, k.Asset)); err != nil {
		return projections.Balance{}, time.Time{}, err
	}
	return m.balance(k), m.clock(), nil
}

func (m *Memory) balance(k projections.Key) projections.Balance {
	b := m.balances[k]
	b.Key = k
	return b
}

// Postings implements projections.Views.
func (m *Memory) Postings(ctx context.Context, k projections.Key, after, through events.KSUID) ([]projections.Posting, bool, error) {
	if err := m.begin(ctx); err != nil {
		return nil, false, err
	}
	defer m.mu.Unlock()
	m.requests.Postings++
	all := m.postings[k]
	from, there := slices.BinarySearchFunc(all, after, comparePosting)
	if there {
		from++
	}
	to := len(all)
	if through != "" {
		if to, there = slices.BinarySearchFunc(all, through, comparePosting); there {
			to++
		}
	}
	to = max(to, from)
	page := slices.Clone(all[from:min(to, from+m.Page)])
	m.requests.PostingsRead += len(page)
	return page, from+len(page) < to, nil
}

// SegmentFrom implements projections.Views.
func (m *Memory) SegmentFrom(ctx context.Context, k projections.Key, id events.KSUID) (projections.Segment, error) {
	if err := m.begin(ctx); err != nil {
		return projections.Segment{}, err
	}
	defer m.mu.Unlock()
	m.requests.SegmentFrom++
	i, _ := slices.BinarySearchFunc(m.segments[k], id, compareSegment)
	if i == len(m.segments[k]) {
		return projections.Segment{}, table.ErrAbsent
	}
	s := m.segments[k][i]
	if err := m.readable(table.SegmentKey(k.Account, k.Asset, string(s.Through))); err != nil {
		return projections.Segment{}, err
	}
	return s, nil
}

// Together implements projections.Views.
func (m *Memory) Together(ctx context.Context, k projections.Key, through events.KSUID) (projections.Balance, projections.Segment, error) {
	if err := m.begin(ctx); err != nil {
		return projections.Balance{}, projections.Segment{}, err
	}
	defer m.mu.Unlock()
	m.requests.Together++
	if m.locked[table.BalanceKey(k.Account, k.Asset)] || m.locked[table.SegmentKey(k.Account, k.Asset, string(through))] {
		return projections.Balance{}, projections.Segment{}, table.ErrConflict
	}
	i, there := slices.BinarySearchFunc(m.segments[k], through, compareSegment)
	if !there {
		return projections.Balance{}, projections.Segment{}, table.ErrAbsent
	}
	for _, key := range []table.Key{table.BalanceKey(k.Account, k.Asset), table.SegmentKey(k.Account, k.Asset, string(through))} {
		if err := m.readable(key); err != nil {
			return projections.Balance{}, projections.Segment{}, err
		}
	}
	return m.balance(k), m.segments[k][i], nil
}

// Summary implements projections.Views.
func (m *Memory) Summary(ctx context.Context, account string) (projections.Summary, error) {
	if err := m.begin(ctx); err != nil {
		return projections.Summary{}, err
	}
	defer m.mu.Unlock()
	m.requests.Summary++
	if err := m.readable(table.SummaryKey(account)); err != nil {
		return projections.Summary{}, err
	}
	return m.summary(account), nil
}

func (m *Memory) summary(account string) projections.Summary {
	s := m.summaries[account]
	s.Account = account
	return s
}

// NextAsset implements projections.Views.
func (m *Memory) NextAsset(ctx context.Context, account, after string) (string, error) {
	if err := m.begin(ctx); err != nil {
		return "", err
	}
	defer m.mu.Unlock()
	m.requests.NextAsset++
	next := ""
	for k := range m.postings {
		if k.Account == account && k.Asset > after && (next == "" || k.Asset < next) {
			next = k.Asset
		}
	}
	if next == "" {
		return "", table.ErrAbsent
	}
	return next, nil
}

// NewestGrant implements projections.Views.
func (m *Memory) NewestGrant(ctx context.Context, account, user string) (projections.Membership, error) {
	if err := m.begin(ctx); err != nil {
		return projections.Membership{}, err
	}
	defer m.mu.Unlock()
	grants := m.grants[member{account, user}]
	if len(grants) == 0 {
		return projections.Membership{}, table.ErrAbsent
	}
	return grants[len(grants)-1], nil
}

// WriteMembership implements projections.Views.
func (m *Memory) WriteMembership(ctx context.Context, put projections.Membership) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	key := member{put.Account, put.User}
	if m.memberships[key].Number < put.Number && m.spoiled[table.MembershipKey(put.Account, put.User)] != allSpoiled {
		m.memberships[key] = put
		delete(m.spoiled, table.MembershipKey(put.Account, put.User))
		m.requests.Memberships++
	}
	return nil
}

// Membership implements Seed.
func (m *Memory) Membership(ctx context.Context, account, user string) (projections.Membership, error) {
	if err := m.begin(ctx); err != nil {
		return projections.Membership{}, err
	}
	defer m.mu.Unlock()
	stored, there := m.memberships[member{account, user}]
	if !there {
		return projections.Membership{}, table.ErrAbsent
	}
	return stored, nil
}

// Segments returns the segments of k in order.
func (m *Memory) Segments(k projections.Key) []projections.Segment {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.segments[k])
}

func comparePosting(p projections.Posting, id events.KSUID) int {
	return strings.Compare(string(p.ID), string(id))
}

func compareSegment(s projections.Segment, through events.KSUID) int {
	return strings.Compare(string(s.Through), string(through))
}
