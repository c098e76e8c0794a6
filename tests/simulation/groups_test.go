package simulation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/ledger"
)

// teams are the groups that jane's account is put into and taken out of.
var teams = []string{"blue", "green", "red"}

// startGroups puts an account into groups and takes it out, by several callers at once.
func (h *history) startGroups() {
	changes := h.plan.draw("groups", 0).IntN(20)
	for n := range changes {
		d := h.plan.draw("group", uint64(n))
		begin := d.between(0, h.knobs.span)
		r := ledger.GroupAccount{Group: pick(d, teams...), Account: jane, Out: d.chance(.4), Actor: "somebody"}
		ctx := as(fmt.Sprintf("group change %d", n))
		h.callers.Go(func() {
			if h.sleep(begin) {
				h.changeGroup(ctx, d, r)
			}
		})
	}
}

func (h *history) changeGroup(ctx context.Context, d dice, r ledger.GroupAccount) {
	for range 10 {
		since := h.model.groupings()
		groups, err, died := perform(h, d.IntN(len(h.commands)), func(on *process) ([]string, error) {
			groups, _, err := on.ledger.GroupAccount(ctx, r)
			return groups, err
		})
		if err == nil && !died {
			h.observe()
			h.model.regrouped(r, groups, since)
			return
		}
		if h.plan.has(Abandon) && d.chance(.2) || !h.sleep(d.between(0, 10*time.Second)) {
			return
		}
	}
}

// grouping takes in a change of an account's groups, which follows from the one before.
func (m *model) grouping(e events.AccountGrouped) {
	before := m.grouped[len(m.grouped)-1]
	wanted := slices.DeleteFunc(slices.Clone(before.Groups), func(id string) bool { return id == e.Removed })
	if e.Added != "" {
		wanted = append(wanted, e.Added)
		slices.Sort(wanted)
	}
	if e.Number != before.Number+1 || !slices.Equal(wanted, e.Groups) || before.Has(e.Changed()) != (e.Removed != "") {
		m.broken("%+v follows %+v", e, before)
	}
	m.grouped = append(m.grouped, e)
}

// groupings is how many changes of groups there are.
func (m *model) groupings() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.grouped) - 1
}

// regrouped checks that the groups that were acknowledged are those that the account had, or got, since so many
// changes, and that they are as was asked for.
func (m *model) regrouped(r ledger.GroupAccount, groups []string, since int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	had := func(e events.AccountGrouped) bool { return slices.Equal(e.Groups, groups) }
	if slices.Contains(groups, r.Group) == r.Out || !slices.ContainsFunc(m.grouped[since:], had) {
		m.broken("%q was acknowledged to %+v, after %d changes the groups were %+v", groups, r, since,
			m.grouped[since:])
	}
}

// placed checks the places in groups at rest.
func (m *model) placed() {
	newest := m.grouped[len(m.grouped)-1]
	for _, team := range teams {
		isNamed := func(e events.AccountGrouped) bool { return e.Changed() == team }
		item, _ := m.store.Item(table.GroupedKey(jane, team))
		if there := item != nil; there != slices.ContainsFunc(m.grouped, isNamed) {
			m.broken("at rest the place in %s is there: %v", team, there)
		}
		if _, listed := item[table.AttrPK2]; listed != newest.Has(team) {
			m.broken("at rest %s lists the account: %v, but it is in %q", team, listed, newest.Groups)
		}
	}
}
