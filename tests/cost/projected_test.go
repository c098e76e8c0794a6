package cost

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/functions/stream"
	"ledger.example/functions/stream/streamtest"
	"ledger.example/internal/table"
	"ledger.example/ledger"
)

// TestCostOfProjecting measures the projector and the lister with one event of each type, by warm processes. A new
// projection shows here what its events cost, also if they are rare.
func TestCostOfProjecting(t *testing.T) {
	t.Parallel()
	b := newLimitedBank(t)
	list := b.lister()
	var projector, lister []line
	seen := b.Contents()
	for round := range 2 { // the first fills the caches
		projector, lister = nil, nil
		for _, step := range b.eventsOfEachType(round) {
			step()
			for _, e := range b.newEvents(seen) {
				name := e.EventName()
				if p, ok := e.(events.PostingRecorded); ok && p.Phase != "" {
					name += ", " + string(p.Phase)
				}
				measure := func(deliver stream.Function) line {
					records := streamtest.Images(t, table.EventItem(e))
					return b.measure(func() { streamtest.Deliver(t, deliver, records) }).line(name)
				}
				p, l := measure(b.Service.Stream()), measure(list)
				if !slices.ContainsFunc(projector, func(l line) bool { return l.step == name }) {
					projector, lister = append(projector, p), append(lister, l)
				}
			}
		}
	}
	golden, err := os.ReadDir("../../events/testdata/golden") // has a file of each type
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range golden {
		name, _, _ := strings.Cut(file.Name(), ".")
		if name == (events.LanesGrown{}).EventName() {
			continue // no function reads it from the stream
		}
		if !slices.ContainsFunc(projector, func(l line) bool { return l.step == name || strings.HasPrefix(l.step, name+",") }) {
			t.Errorf("no step makes a %s", name)
		}
	}
	f := figures{heading: "Projecting one event", of: "event"}
	f.add("projector", projector)
	f.add("lister", lister)
	f.check(t)
}

// eventsOfEachType returns steps that make events of every type between them.
func (b *limitedBank) eventsOfEachType(round int) []func() {
	must := func(err error) {
		b.t.Helper()
		if err != nil {
			b.t.Fatal(err)
		}
	}
	ctx, by := b.t.Context(), typicalInputs().actor
	id := func(kind string) string { return fmt.Sprint(kind, "-", round) }
	member := ledger.GrantMember{Account: holder, User: id("user"), Role: events.RoleViewer, Actor: by}
	var held string
	return []func(){
		func() {
			_, _, err := b.warm.RegisterAsset(ctx, ledger.RegisterAsset{ID: id("asset"), Name: "Asset", Actor: by})
			must(err)
		},
		func() {
			_, _, err := b.warm.OpenAccount(ctx, ledger.OpenAccount{ID: id("account"), Actor: by})
			must(err)
		},
		func() {
			name := id("Name")
			_, err := b.warm.ChangeAccount(ctx, ledger.ChangeAccount{ID: holder, Name: &name, Actor: by})
			must(err)
		},
		func() {
			_, _, err := b.warm.RegisterGroup(ctx, ledger.RegisterGroup{ID: id("group"), Actor: by})
			_, _, grouped := b.warm.GroupAccount(ctx, ledger.GroupAccount{Group: id("group"), Account: holder, Actor: by})
			must(errors.Join(err, grouped))
		},
		func() { _, err := b.warm.Grant(ctx, member); must(err) },
		func() { must(b.warm.Revoke(ctx, ledger.RevokeMember(member))) },
		func() {
			_, _, err := b.warm.ClosePeriod(ctx, ledger.ClosePeriod{Number: int64(round + 1), Before: b.now().AddDate(-1, 0, 0),
				Reason: "Year end", Actor: by})
			must(err)
		},
		func() { held = b.post(b.trade(false)) },
		func() { b.reverse(held, 0) },
		func() {
			soon, r := b.now().Add(time.Minute), b.trade(true)
			r.Hold.ExpiresAt = &soon
			b.post(r)
		},
		func() { // makes events of the same types, for what a jump of the clock costs
			b.clock.Add(int64(2 * time.Minute))
			held = b.hold()
		},
		func() { b.capture(held) },
		func() { held = b.hold() },
		func() { b.release(held) },
		func() { _, err := b.warm.Sweep(ctx); must(err) },
	}
}

// newEvents returns the events in the table that have not been seen, in the order of their keys.
func (b *limitedBank) newEvents(seen map[table.Key]table.Item) (all []events.Event) {
	for k, item := range b.Contents() {
		if e, err := table.DecodeEvent(item); err == nil && seen[k] == nil {
			all, seen[k] = append(all, e), item
		}
	}
	slices.SortFunc(all, func(x, y events.Event) int { return cmp.Compare(table.EventKey(x).ID(), table.EventKey(y).ID()) })
	return all
}
