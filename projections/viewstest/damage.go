package viewstest

import (
	"slices"

	"ledger.example/ledger/table"
	"ledger.example/projections"
)

// How an item is spoiled.
type spoil int

const (
	attributesSpoiled spoil = iota // it can be read, but is not as it would be stored
	figuresSpoiled                 // of it only its version can be read
	allSpoiled                     // not even that
)

// Damage is what somebody may do to a Memory who goes round projections.Views. None of it is a write of the ledger's own:
// versions stay what they are given as.
type Damage struct{ m *Memory }

// Damage gives access to what is stored.
func (m *Memory) Damage() Damage { return Damage{m} }

// Balance puts b as it is.
func (d Damage) Balance(b projections.Balance) { d.do(func(m *Memory) { m.balances[b.Key] = b }) }

// LoseBalance takes a balance away.
func (d Damage) LoseBalance(k projections.Key) { d.do(func(m *Memory) { delete(m.balances, k) }) }

// Segment puts s as it is.
func (d Damage) Segment(s projections.Segment) { d.do(func(m *Memory) { m.putSegment(s) }) }

// LoseSegment takes the segment away that ends at s.Through.
func (d Damage) LoseSegment(s projections.Segment) {
	d.do(func(m *Memory) {
		m.segments[s.Key] = slices.DeleteFunc(m.segments[s.Key], func(t projections.Segment) bool { return t.Through == s.Through })
	})
}

// Summary puts s as it is.
func (d Damage) Summary(s projections.Summary) { d.do(func(m *Memory) { m.summaries[s.Account] = s }) }

// LoseSummary takes a summary away.
func (d Damage) LoseSummary(account string) { d.do(func(m *Memory) { delete(m.summaries, account) }) }

// Membership puts s as it is.
func (d Damage) Membership(s projections.Membership) {
	d.do(func(m *Memory) { m.memberships[member{s.Account, s.User}] = s })
}

// LoseMembership takes a membership away.
func (d Damage) LoseMembership(account, user string) {
	d.do(func(m *Memory) { delete(m.memberships, member{account, user}) })
}

// SpoilAttributes makes an item one that can be read, but is not as it would be stored.
func (d Damage) SpoilAttributes(key table.Key) {
	d.do(func(m *Memory) { m.spoiled[key] = attributesSpoiled })
}

// SpoilFigures leaves nothing of an item to be read but its version.
func (d Damage) SpoilFigures(key table.Key) {
	d.do(func(m *Memory) { m.spoiled[key] = figuresSpoiled })
}

// Spoil leaves nothing of an item to be read.
func (d Damage) Spoil(key table.Key) { d.do(func(m *Memory) { m.spoiled[key] = allSpoiled }) }

// Spoiled tells whether an item is still spoiled.
func (d Damage) Spoiled(key table.Key) (spoiled bool) {
	d.do(func(m *Memory) { _, spoiled = m.spoiled[key] })
	return spoiled
}

func (d Damage) do(damage func(*Memory)) {
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	damage(d.m)
}
