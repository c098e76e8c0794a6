// Package journaltest holds what tests of the write side share: a strict journal in memory, and the conformance suite
// that every ledger.Journal must pass.
package journaltest

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/ledger/table"
)

// Memory is a ledger.Journal in memory. It enforces the contract instead of recording calls: a commit that the table
// would not take, or that breaks a rule of the journal, fails the test. It is a ledger.Projections as well, one that is
// always up to date. It is safe for concurrent use.
type Memory struct {
	t   testing.TB
	now func() time.Time

	mu        sync.Mutex
	assets    map[string]events.AssetRegistered
	accounts  map[string]events.AccountOpened
	headers   map[string]events.TransactionPosted
	postings  map[posting]events.PostingRecorded
	spent     map[ledger.Pair]events.Amount
	projected map[ledger.Pair]events.Amount
	grants    map[member][]events.Event
	requests  int
}

type (
	posting struct {
		account, asset string
		id             events.KSUID
	}
	member struct{ account, user string }
)

// The ports it serves.
var (
	_ ledger.Journal     = (*Memory)(nil)
	_ ledger.Projections = (*Memory)(nil)
)

// NewMemory returns an empty journal whose own clock is now (nil: time.Now), told in whole seconds.
func NewMemory(t testing.TB, now func() time.Time) *Memory {
	if now == nil {
		now = time.Now
	}
	return &Memory{
		t:         t,
		now:       now,
		assets:    map[string]events.AssetRegistered{},
		accounts:  map[string]events.AccountOpened{},
		headers:   map[string]events.TransactionPosted{},
		postings:  map[posting]events.PostingRecorded{},
		spent:     map[ledger.Pair]events.Amount{},
		projected: map[ledger.Pair]events.Amount{},
		grants:    map[member][]events.Event{},
	}
}

// Project stores credits of a pair as the read side would: what Look finds from now on.
func (m *Memory) Project(p ledger.Pair, credits events.Amount) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.projected[p] = credits
}

// Requests returns how many requests were made to the journal so far.
func (m *Memory) Requests() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.requests
}

// Spent returns what a guard says, and whether it is there.
func (m *Memory) Spent(p ledger.Pair) (events.Amount, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	spent, ok := m.spent[p]
	return spent, ok
}

// Balance returns the sums over all postings of a pair.
func (m *Memory) Balance(p ledger.Pair) (credits, debits events.Amount) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, posting := range m.postings {
		switch {
		case k.account != p.Account || k.asset != p.Asset:
		case posting.Quantity.Sign() > 0:
			credits = m.add(credits, posting.Quantity)
		default:
			debits = m.add(debits, posting.Quantity.Neg())
		}
	}
	return credits, debits
}

// Headers returns all transactions by their ids.
func (m *Memory) Headers() map[string]events.TransactionPosted {
	m.mu.Lock()
	defer m.mu.Unlock()
	headers := make(map[string]events.TransactionPosted, len(m.headers))
	for id, t := range m.headers {
		headers[id] = t
	}
	return headers
}

// Look implements ledger.Journal.
func (m *Memory) Look(ctx context.Context, wanted ledger.Wanted) (ledger.Found, error) {
	at, done, err := m.begin(ctx)
	if err != nil {
		return ledger.Found{}, err
	}
	defer done()
	found := ledger.Found{
		Accounts: map[string]events.AccountOpened{},
		Assets:   map[string]events.AssetRegistered{},
		Credits:  map[ledger.Pair]events.Amount{},
		At:       at,
	}
	for _, id := range wanted.Accounts {
		if account, ok := m.accounts[id]; ok {
			found.Accounts[id] = account
		}
	}
	for _, id := range wanted.Assets {
		if asset, ok := m.assets[id]; ok {
			found.Assets[id] = asset
		}
	}
	for _, p := range wanted.Credits {
		if credits, ok := m.projected[p]; ok {
			found.Credits[p] = credits
		}
	}
	return found, nil
}

// Transaction implements ledger.Journal.
func (m *Memory) Transaction(ctx context.Context, id string) (events.TransactionPosted, time.Time, error) {
	at, done, err := m.begin(ctx)
	if err != nil {
		return events.TransactionPosted{}, time.Time{}, err
	}
	defer done()
	t, ok := m.headers[id]
	if !ok {
		return t, at, fmt.Errorf("transaction %s: %w", id, table.ErrAbsent)
	}
	return t, at, nil
}

// Whole implements ledger.Journal.
func (m *Memory) Whole(ctx context.Context, t events.TransactionPosted) (time.Time, error) {
	at, done, err := m.begin(ctx)
	if err != nil {
		return time.Time{}, err
	}
	defer done()
	_, whole := m.headers[t.ID]
	for _, leg := range t.Legs {
		_, ok := m.postings[posting{leg.Account, leg.Asset, leg.ID}]
		whole = whole && ok
	}
	if !whole {
		return time.Time{}, fmt.Errorf("transaction %s: %w", t.ID, table.ErrAbsent)
	}
	return at, nil
}

// Append implements ledger.Journal.
func (m *Memory) Append(ctx context.Context, c ledger.Commit) (time.Time, error) {
	if fault := faultOf(c); fault != "" {
		m.t.Errorf("commit of transaction %s: %s", c.Header.ID, fault)
	}
	at, done, err := m.begin(ctx)
	if err != nil {
		return time.Time{}, err
	}
	defer done()
	cancelled := ledger.Cancelled{At: at}
	exists := false
	if stored, ok := m.headers[c.Header.ID]; ok {
		cancelled.Header, cancelled.Stored, exists = ledger.HeaderExists, &stored, true
	}
	for _, leg := range c.Header.Legs {
		if _, ok := m.postings[posting{leg.Account, leg.Asset, leg.ID}]; ok {
			exists = true
		}
	}
	for _, d := range c.Debits {
		spent, ok := m.spent[d.Pair]
		if passes := spent.Cmp(d.Bound) <= 0 && (ok || d.Bound.Sign() >= 0); !passes {
			cancelled.Refused = append(cancelled.Refused, ledger.Refusal{Pair: d.Pair, Spent: spent})
		}
	}
	if exists || len(cancelled.Refused) > 0 {
		return time.Time{}, &cancelled
	}
	m.headers[c.Header.ID] = stored(m.t, c.Header)
	for _, p := range c.Header.Postings() {
		m.postings[posting{p.Account, p.Asset, p.ID}] = stored(m.t, p)
	}
	for _, d := range c.Debits {
		m.spent[d.Pair] = m.add(m.spent[d.Pair], d.Gross)
	}
	return at, nil
}

// faultOf returns what of a commit the table would not take, or breaks a rule of the journal.
func faultOf(c ledger.Commit) string {
	if n := 1 + len(c.Header.Legs) + len(c.Debits); n > table.TransactionActions {
		return fmt.Sprintf("has %d actions", n)
	}
	type sums struct{ quantity, cost, debits events.Amount }
	byAsset, byPair := map[string]sums{}, map[ledger.Pair]sums{}
	for _, leg := range c.Header.Legs {
		asset, pair := byAsset[leg.Asset], byPair[ledger.Pair{Account: leg.Account, Asset: leg.Asset}]
		var err1, err2, err3 error
		asset.quantity, err1 = asset.quantity.Add(leg.Quantity)
		asset.cost, err2 = asset.cost.Add(leg.Cost)
		if leg.Quantity.Sign() < 0 {
			pair.debits, err3 = pair.debits.Sub(leg.Quantity)
		}
		if err1 != nil || err2 != nil || err3 != nil {
			return "overflows"
		}
		byAsset[leg.Asset], byPair[ledger.Pair{Account: leg.Account, Asset: leg.Asset}] = asset, pair
	}
	for asset, s := range byAsset {
		if !s.quantity.IsZero() || !s.cost.IsZero() {
			return "does not balance in " + asset
		}
	}
	seen := map[ledger.Pair]bool{}
	for _, d := range c.Debits {
		switch {
		case seen[d.Pair]:
			return fmt.Sprintf("updates the guard of %v twice", d.Pair)
		case d.Gross.Sign() <= 0 || d.Gross != byPair[d.Pair].debits:
			return fmt.Sprintf("debits %v by %v, its legs by %v", d.Pair, d.Gross, byPair[d.Pair].debits)
		}
		if most, err := d.Bound.Add(d.Gross); err != nil {
			return fmt.Sprintf("lets what was spent of %v grow beyond %d digits: %v", d.Pair, events.FoldedDigits, most)
		}
		seen[d.Pair] = true
	}
	return ""
}

// RegisterAsset implements ledger.Journal.
func (m *Memory) RegisterAsset(ctx context.Context, e events.AssetRegistered) (events.AssetRegistered, error) {
	_, done, err := m.begin(ctx)
	if err != nil {
		return events.AssetRegistered{}, err
	}
	defer done()
	if stored, ok := m.assets[e.ID]; ok {
		return stored, fmt.Errorf("asset %s: %w", e.ID, table.ErrExists)
	}
	m.assets[e.ID] = stored(m.t, e)
	return m.assets[e.ID], nil
}

// OpenAccount implements ledger.Journal.
func (m *Memory) OpenAccount(ctx context.Context, e events.AccountOpened) (events.AccountOpened, error) {
	_, done, err := m.begin(ctx)
	if err != nil {
		return events.AccountOpened{}, err
	}
	defer done()
	if stored, ok := m.accounts[e.ID]; ok {
		return stored, fmt.Errorf("account %s: %w", e.ID, table.ErrExists)
	}
	m.accounts[e.ID] = stored(m.t, e)
	return m.accounts[e.ID], nil
}

// NewestGrant implements ledger.Journal.
func (m *Memory) NewestGrant(ctx context.Context, account, user string) (events.Event, error) {
	_, done, err := m.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	grants := m.grants[member{account, user}]
	if len(grants) == 0 {
		return nil, fmt.Errorf("grant of %s on %s: %w", user, account, table.ErrAbsent)
	}
	return grants[len(grants)-1], nil
}

// PutGrant implements ledger.Journal. Numbers that leave a gap fail the test.
func (m *Memory) PutGrant(ctx context.Context, e events.Event) (events.Event, error) {
	_, done, err := m.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var key member
	var number int64
	switch e := e.(type) {
	case events.MemberGranted:
		key, number = member{e.Account, e.User}, e.Number
	case events.MemberRevoked:
		key, number = member{e.Account, e.User}, e.Number
	default:
		m.t.Errorf("put as a grant: %#v", e)
	}
	next := int64(len(m.grants[key])) + 1
	if number < next {
		return m.grants[key][number-1], fmt.Errorf("grant %d of %s on %s: %w", number, key.user, key.account, table.ErrExists)
	}
	if number > next {
		m.t.Errorf("grant of %s on %s has number %d, the next is %d", key.user, key.account, number, next)
	}
	m.grants[key] = append(m.grants[key], stored(m.t, e))
	return e, nil
}

// Credits implements ledger.Projections.
func (m *Memory) Credits(ctx context.Context, account, asset string) (events.Amount, error) {
	if err := ctx.Err(); err != nil {
		return events.Amount{}, fmt.Errorf("%w: %w", table.ErrUnavailable, err)
	}
	credits, _ := m.Balance(ledger.Pair{Account: account, Asset: asset})
	return credits, nil
}

// MakeSure implements ledger.Projections.
func (m *Memory) MakeSure(ctx context.Context, account, asset string, id events.KSUID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.postings[posting{account, asset, id}]; !ok {
		m.t.Errorf("made sure of posting %s of %s on %s, which is not committed", id, asset, account)
		return table.ErrConflict
	}
	return nil
}

// begin starts one request, which ends with done; without an error the lock is held meanwhile. It returns the store's clock.
func (m *Memory) begin(ctx context.Context) (at time.Time, done func(), err error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, nil, fmt.Errorf("%w: %w", table.ErrUnavailable, err)
	}
	m.mu.Lock()
	m.requests++
	return m.now().UTC().Truncate(time.Second), m.mu.Unlock, nil
}

// add returns a + b, which the rules keep in range.
func (m *Memory) add(a, b events.Amount) events.Amount {
	s, err := a.Add(b)
	if err != nil {
		m.t.Errorf("%v + %v: %v", a, b, err)
	}
	return s
}

// stored returns e as it is read back from its stored form: what cannot be stored fails the test.
func stored[E events.Event](t testing.TB, e E) E {
	name, version := e.EventName()
	decoded, err := events.Decode(name, version, events.Encode(e))
	if err != nil {
		t.Errorf("%s cannot be stored: %v", name, err)
		return e
	}
	if !reflect.DeepEqual(decoded, events.Event(e)) {
		t.Errorf("%s is stored as another: %+v, not %+v", name, decoded, e)
	}
	return decoded.(E)
}
