package viewstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/projections"
)

// errSpoiled is what reading a spoiled item says.
var errSpoiled = errors.New("item cannot be decoded")

// spoiltMark is the mark of a spoiled item whose version is spoiled, too.
const spoiltMark = "?"

// Accounts implements projections.Repairs: three accounts a page.
func (m *Memory) Accounts(ctx context.Context, from string) ([]string, int, string, error) {
	if err := m.begin(ctx); err != nil {
		return nil, 0, "", err
	}
	defer m.mu.Unlock()
	known := make(map[string]bool)
	for k := range m.postings {
		known[k.Account] = true
	}
	for k := range m.balances {
		known[k.Account] = true
	}
	for k := range m.segments {
		known[k.Account] = true
	}
	for k := range m.grants {
		known[k.account] = true
	}
	for k := range m.memberships {
		known[k.account] = true
	}
	for account := range m.summaries {
		known[account] = true
	}
	var page []string
	for account := range known {
		if account > from {
			page = append(page, account)
		}
	}
	slices.Sort(page)
	const most = 3
	if len(page) <= most {
		return page, len(page), "", nil
	}
	return page[:most], most, page[most-1], nil
}

// NextOf implements projections.Repairs.
func (m *Memory) NextOf(ctx context.Context, account string, by projections.Listing, after string) (string, error) {
	if err := m.begin(ctx); err != nil {
		return "", err
	}
	defer m.mu.Unlock()
	next := ""
	see := func(of, id string) {
		if of == account && id > after && (next == "" || id < next) {
			next = id
		}
	}
	switch by {
	case projections.ByPostings:
		for k := range m.postings {
			see(k.Account, k.Asset)
		}
	case projections.ByBalances:
		for k := range m.balances {
			see(k.Account, k.Asset)
		}
	case projections.BySegments:
		for k, segments := range m.segments {
			if len(segments) > 0 {
				see(k.Account, k.Asset)
			}
		}
	case projections.ByGrants:
		for k := range m.grants {
			see(k.account, k.user)
		}
	case projections.ByMemberships:
		for k := range m.memberships {
			see(k.account, k.user)
		}
	}
	if next == "" {
		return "", table.ErrAbsent
	}
	return next, nil
}

// StoredSegments implements projections.Repairs.
func (m *Memory) StoredSegments(ctx context.Context, k projections.Key, after events.KSUID) ([]projections.Found[projections.Segment], bool, error) {
	if err := m.begin(ctx); err != nil {
		return nil, false, err
	}
	defer m.mu.Unlock()
	var found []projections.Found[projections.Segment]
	for _, s := range m.segments[k] {
		if s.Through <= after {
			continue
		}
		if len(found) == m.Page {
			return found, true, nil
		}
		found = append(found, m.foundSegment(k, s.Through))
	}
	return found, false, nil
}

// Snapshot implements projections.Repairs.
func (m *Memory) Snapshot(ctx context.Context, k projections.Key, throughs []events.KSUID) (projections.Found[projections.Balance], []projections.Found[projections.Segment], time.Time, error) {
	var none projections.Found[projections.Balance]
	if len(throughs) > projections.SnapshotItems {
		return none, nil, time.Time{}, fmt.Errorf("%d segments in one snapshot", len(throughs))
	}
	if err := m.begin(ctx); err != nil {
		return none, nil, time.Time{}, err
	}
	defer m.mu.Unlock()
	busy := len(throughs) > 0 && m.locked[table.BalanceKey(k.Account, k.Asset)]
	segments := make([]projections.Found[projections.Segment], len(throughs))
	for i, through := range throughs {
		busy = busy || m.locked[table.SegmentKey(k.Account, k.Asset, string(through))]
		segments[i] = m.foundSegment(k, through)
	}
	if busy {
		return none, nil, time.Time{}, table.ErrConflict
	}
	return m.foundBalance(k), segments, m.clock(), nil
}

// SnapshotAccount implements projections.Repairs.
func (m *Memory) SnapshotAccount(ctx context.Context, account string, assets []string) (projections.Found[projections.Summary], []projections.Found[projections.Balance], time.Time, error) {
	var none projections.Found[projections.Summary]
	if len(assets) > projections.SnapshotItems {
		return none, nil, time.Time{}, fmt.Errorf("%d balances in one snapshot", len(assets))
	}
	if err := m.begin(ctx); err != nil {
		return none, nil, time.Time{}, err
	}
	defer m.mu.Unlock()
	busy := len(assets) > 0 && m.locked[table.SummaryKey(account)]
	balances := make([]projections.Found[projections.Balance], len(assets))
	for i, asset := range assets {
		busy = busy || m.locked[table.BalanceKey(account, asset)]
		balances[i] = m.foundBalance(projections.Key{Account: account, Asset: asset})
	}
	if busy {
		return none, nil, time.Time{}, table.ErrConflict
	}
	return m.foundSummary(account), balances, m.clock(), nil
}

// clock is the store's clock as a reply tells it.
func (m *Memory) clock() time.Time {
	if m.Now == nil {
		return time.Time{}
	}
	return m.Now().UTC().Truncate(time.Second)
}

// StoredMembership implements projections.Repairs.
func (m *Memory) StoredMembership(ctx context.Context, account, user string) (projections.Found[projections.Membership], error) {
	if err := m.begin(ctx); err != nil {
		return projections.Found[projections.Membership]{}, err
	}
	defer m.mu.Unlock()
	return m.foundMembership(account, user), nil
}

// WriteSummary implements projections.Repairs.
func (m *Memory) WriteSummary(ctx context.Context, s projections.Summary, mark projections.Mark) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	key := table.SummaryKey(s.Account)
	if found := m.foundSummary(s.Account); found.Mark != mark || m.locked[key] {
		return fmt.Errorf("summary is marked %q, not %q, or is being written: %w", found.Mark, mark, table.ErrConflict)
	}
	s.Version++
	m.requests.Repairs++
	m.summaries[s.Account] = s
	delete(m.spoiled, key)
	return nil
}

// PutMembership implements projections.Repairs.
func (m *Memory) PutMembership(ctx context.Context, put projections.Membership, mark projections.Mark) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	if found := m.foundMembership(put.Account, put.User); found.Mark != mark {
		return fmt.Errorf("membership is marked %q, not %q: %w", found.Mark, mark, table.ErrConflict)
	}
	m.requests.Repairs++
	m.memberships[member{put.Account, put.User}] = put
	delete(m.spoiled, table.MembershipKey(put.Account, put.User))
	return nil
}

// found makes what is found of an item; a spoiled one has its version in its mark, unless that is spoiled too.
func found[T any](m *Memory, key table.Key, there bool, version int64, whole, bare T) projections.Found[T] {
	if !there {
		return projections.Found[T]{Value: bare}
	}
	f := projections.Found[T]{Value: whole, There: true, Mark: projections.Mark(strconv.FormatInt(version, 10)), Versioned: version > 0}
	how, spoiled := m.spoiled[key]
	if !spoiled {
		return f
	}
	f.Fault = errSpoiled
	if how != attributesSpoiled {
		f.Value = bare
	}
	if how == allSpoiled {
		f.Mark, f.Versioned = spoiltMark, false
	}
	return f
}

func (m *Memory) foundBalance(k projections.Key) projections.Found[projections.Balance] {
	b, there := m.balances[k]
	f := found(m, table.BalanceKey(k.Account, k.Asset), there, b.Version, b, projections.Balance{Key: k})
	if f.Versioned {
		f.Value.Version = b.Version
	} else if there {
		f.Fault = errSpoiled
	}
	return f
}

func (m *Memory) foundSegment(k projections.Key, through events.KSUID) projections.Found[projections.Segment] {
	i, there := slices.BinarySearchFunc(m.segments[k], through, compareSegment)
	bare := projections.Segment{Key: k, Fold: projections.Fold{Through: through}}
	s := bare
	if there {
		s = m.segments[k][i]
	}
	f := found(m, table.SegmentKey(k.Account, k.Asset, string(through)), there, 1, s, bare)
	f.Mark, f.Versioned = "", false
	return f
}

func (m *Memory) foundSummary(account string) projections.Found[projections.Summary] {
	s, there := m.summaries[account]
	f := found(m, table.SummaryKey(account), there, s.Version, s, projections.Summary{Account: account})
	if f.Versioned {
		f.Value.Version = s.Version
	} else if there {
		f.Fault = errSpoiled
	}
	return f
}

func (m *Memory) foundMembership(account, user string) projections.Found[projections.Membership] {
	stored, there := m.memberships[member{account, user}]
	return found(m, table.MembershipKey(account, user), there, stored.Number, stored, projections.Membership{Account: account, User: user})
}

// readable returns what reading an item as a refold does says.
func (m *Memory) readable(key table.Key) error {
	if how, spoiled := m.spoiled[key]; spoiled && how != attributesSpoiled {
		return fmt.Errorf("item %s: %w", key.SK, errSpoiled)
	}
	return nil
}

// markIs tells whether an item has the mark that a change gives, or the version when it gives none.
func markIs(wanted *projections.Mark, mark projections.Mark, version, stored int64) bool {
	if wanted != nil {
		return *wanted == mark
	}
	return version == stored && !strings.HasPrefix(string(mark), spoiltMark)
}
