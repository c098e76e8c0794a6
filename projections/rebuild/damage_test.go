package rebuild_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
	"ledger.example/projections/viewstest"
	"ledger.example/tests/harness/full"
)

// damaged is a store with a random, partly projected history, to which random damage is done.
type damaged struct {
	*rapid.T
	store     *viewstest.Store
	projector *projections.Projector
	rebuilder *rebuild.Rebuilder
	posted    map[events.Pair][]projections.Posting
	members   map[string]projections.Membership // of jane, by user
	last      int                               // the newest posting's number
	now       time.Time
	stretch   int64
	settled   int
	segments  int
}

var damagedKeys = []events.Pair{
	{Account: "jane", Asset: "A"}, {Account: "jane", Asset: "B"}, {Account: "jane", Asset: "B-1"}, {Account: "shop", Asset: "A"},
}

func newDamaged(t *rapid.T) *damaged {
	d := &damaged{
		T: t, posted: make(map[events.Pair][]projections.Posting),
		members: make(map[string]projections.Membership), now: morning.Add(time.Minute),
		settled:  rapid.SampledFrom([]int{0, 2}).Draw(t, "settled"),
		stretch:  rapid.SampledFrom([]int64{1, 2, 4}).Draw(t, "stretch"),
		segments: rapid.IntRange(1, 3).Draw(t, "segments"),
	}
	d.store = viewstest.NewStore(t, func() time.Time { return d.now })
	d.store.Page = 3
	d.projector, d.rebuilder = on(d.store.Table, d.store.Now, projections.Tuning{Stretch: d.stretch, Segments: d.segments, Unsealed: d.settled})
	for range rapid.IntRange(1, 5).Draw(t, "rounds") {
		for _, k := range damagedKeys {
			for range rapid.IntRange(0, 9).Draw(t, "postings") {
				d.post(k)
			}
			if rapid.IntRange(0, 4).Draw(t, "projected") > 0 {
				d.refold(k)
			}
		}
	}
	for number := range rapid.IntRange(0, 4).Draw(t, "grants") {
		user := rapid.SampledFrom([]string{"ann", "ann.b", "bob"}).Draw(t, "user")
		m := projections.Membership{
			Account: "jane", User: user, Number: int64(number + 1),
			Role:      rapid.SampledFrom([]events.Role{"", events.RoleViewer, events.RoleOwner}).Draw(t, "role"),
			GrantedBy: "test", GrantedAt: "2026-11-21T09:00:00.000000Z",
		}
		d.must(d.store.Grant(t.Context(), m))
		d.members[user] = m
		ofUser := projections.Target{View: projections.Members, Account: "jane", User: user}
		d.must(d.projector.Refresh(t.Context(), ofUser, projections.Seen{}))
	}
	return d
}

func (d *damaged) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

// post puts a posting, often a late one, at an odd millisecond. Damage may put ends of segments at even milliseconds.
func (d *damaged) post(k events.Pair) {
	at := 0
	for at == 0 || slices.ContainsFunc(d.posted[k], func(p projections.Posting) bool { return p.ID == ksuid(at) }) {
		at = 2*rapid.IntRange(1, 500).Draw(d.T, "at") + 1
	}
	p := projections.Posting{ID: ksuid(at), Figures: events.Figures{Quantity: events.NewAmount(rapid.Int64Range(-3, 3).Draw(d.T, "quantity")), Cost: events.NewAmount(int64(at))}}
	d.must(d.store.Post(d.Context(), k, p))
	d.posted[k] = append(d.posted[k], p)
	d.last = max(d.last, at)
}

func (d *damaged) refold(k events.Pair) {
	var ids []events.KSUID
	for _, p := range d.posted[k] {
		ids = append(ids, p.ID)
	}
	d.must(d.projector.Refold(d.Context(), k, ids))
}

func (d *damaged) balance(k events.Pair) rebuild.Stored[projections.Balance] {
	found, _, _, err := d.rebuilder.BalanceAnd(d.Context(), k)
	d.must(err)
	return found
}

func (d *damaged) fold() projections.Fold {
	n := func(what string) events.Amount { return events.NewAmount(rapid.Int64Range(0, 9).Draw(d.T, what)) }
	return projections.Fold{
		Through: ksuid(rapid.IntRange(1, 1100).Draw(d.T, "through")), Credits: n("credits"), Debits: n("debits"),
		Expenditure: n("expenditure"), Count: rapid.Int64Range(0, 40).Draw(d.T, "count"),
	}
}

// damage does random damage to a balance, a segment, a summary or a membership.
func (d *damaged) damage() {
	k := rapid.SampledFrom(append(damagedKeys, events.Pair{Account: "jane", Asset: "C"})).Draw(d.T, "pair")
	b, segments := d.balance(k).Value, d.store.AllSegments(k)
	damage := d.store.Damage()
	if len(segments) > 0 && rapid.Bool().Draw(d.T, "of a segment") {
		s := rapid.SampledFrom(segments).Draw(d.T, "segment")
		key := table.Segment.Key(s.Account, s.Asset, string(s.Through))
		changed := func(change func()) func() { return func() { change(); damage.Segment(s) } }
		d.one(
			func() { damage.LoseSegment(s) },
			func() {
				for _, s := range segments {
					damage.LoseSegment(s)
				}
			},
			changed(func() { through := s.Through; s.Fold = d.fold(); s.Through = through }),
			changed(func() {
				s.After = rapid.SampledFrom([]events.KSUID{"", ksuid(2), "~~~", s.Through}).Draw(d.T, "after")
			}),
			changed(func() { s.Count++ }),
			func() { damage.Spoil(key) },
			func() { damage.SpoilAttributes(key) },
		)
		return
	}
	key, there := table.Balance.Key(k.Account, k.Asset), d.balance(k).Exists
	changed := func(change func()) func() {
		return func() { b.Version = max(1, b.Version); change(); damage.Balance(b) }
	}
	spoiled := func(spoil func(table.Key)) func() {
		return func() {
			if there {
				spoil(key)
			}
		}
	}
	d.one(
		func() { damage.LoseBalance(k) },
		changed(func() { b.Head = d.fold() }),
		changed(func() { b.Seal = d.fold() }),
		changed(func() { b.Base = d.fold() }),
		changed(func() { b.Seal.Through, b.Base.Through = "~~~", "zzzzzzzzzzzzzzzzzzzzzzzzzzz" }),
		changed(func() { b.First = ksuid(1) }),
		changed(func() { b.Version = 0 }),
		changed(func() { b.Unfinished = true }),
		func() { damage.Segment(projections.Segment{Pair: k, After: ksuid(2), Fold: d.fold()}) },
		spoiled(damage.Spoil), spoiled(damage.SpoilFigures), spoiled(damage.SpoilAttributes),
		func() { d.damageSummary(k.Account) },
		d.damageMembership,
	)
}

// one calls one of the functions.
func (d *damaged) one(hows ...func()) { hows[rapid.IntRange(0, len(hows)-1).Draw(d.T, "how")]() }

func (d *damaged) damageSummary(account string) {
	damage := d.store.Damage()
	found, _, _, err := d.rebuilder.SummaryAnd(d.Context(), account)
	d.must(err)
	switch how := rapid.IntRange(0, 3).Draw(d.T, "how to the summary"); {
	case how == 0:
		damage.LoseSummary(account)
	case how == 1 && found.Exists:
		damage.Spoil(table.Summary.Key(account))
	default:
		s := found.Value
		s.Version, s.Assets, s.First = max(1, s.Version), 7, ksuid(1)
		damage.Summary(s)
	}
}

func (d *damaged) damageMembership() {
	damage := d.store.Damage()
	user := rapid.SampledFrom([]string{"ann", "ann.b", "bob", "eve"}).Draw(d.T, "whose")
	switch rapid.IntRange(0, 2).Draw(d.T, "how to the membership") {
	case 0:
		damage.LoseMembership("jane", user)
	case 1:
		damage.Membership(projections.Membership{Account: "jane", User: user, Role: events.RoleOwner, Number: 99})
	case 2:
		if _, there := d.members[user]; there {
			damage.Spoil(table.Membership.Key("jane", user))
		}
	}
}

// exact compares all stored projections with the postings and grants.
func (d *damaged) exact() {
	d.Helper()
	wanted := map[string]projections.Summary{"jane": {Account: "jane"}, "shop": {Account: "shop"}}
	for _, k := range append(damagedKeys, events.Pair{Account: "jane", Asset: "C"}) {
		d.exactPair(k)
		all, first := naive(d.posted[k], "", "")
		if all.Count == 0 {
			continue
		}
		s := wanted[k.Account]
		s.Assets++
		if all.Credits != all.Debits {
			s.Holdings++
		}
		if s.First == "" || first < s.First {
			s.First = first
		}
		wanted[k.Account] = s
	}
	for account, s := range wanted {
		got, err := d.store.Summary(d.Context(), account)
		d.must(err)
		if s.Version = got.Version; got != s {
			d.Errorf("summary %+v, wanted %+v", got, s)
		}
	}
	for _, user := range []string{"ann", "ann.b", "bob", "eve"} {
		found, err := d.rebuilder.StoredMembership(d.Context(), projections.Membership{Account: "jane", User: user})
		d.must(err)
		m, granted := d.members[user]
		if !granted {
			m = projections.Membership{Account: "jane", User: user}
		}
		if found.Fault != nil || found.Exists != granted && found.Value.Role != "" || found.Value != m {
			d.Errorf("membership %+v, wanted %+v", found, m)
		}
	}
}

func (d *damaged) exactPair(k events.Pair) {
	d.Helper()
	f := d.balance(k)
	b := f.Value
	var sum projections.Fold
	for _, s := range d.store.AllSegments(k) {
		wanted, _ := naive(d.posted[k], s.After, s.Through)
		wanted.Through = s.Through
		_, found, _, err := d.rebuilder.BalanceAnd(d.Context(), k, s.Through)
		d.must(err)
		if s.After != sum.Through || s.Fold != wanted || found[0].Fault != nil {
			d.Errorf("%v: segment %+v after %s, wanted %+v", k, s, sum.Through, wanted)
		}
		sum = plus(sum, s.Fold)
	}
	if b.Base != sum {
		d.Errorf("%v: base %+v, the segments make %+v", k, b.Base, sum)
	}
	seal, _ := naive(d.posted[k], "", b.Seal.Through)
	seal.Through = b.Seal.Through
	head, first := naive(d.posted[k], "", "")
	head.Through = max(head.Through, b.Seal.Through) // an end beyond the last posting
	if f.Fault != nil || b.Unfinished || b.Seal != seal || b.Seal.Through < b.Base.Through || b.Head != head || b.First != first {
		d.Errorf("%v: balance %+v (%v), wanted seal %+v, head %+v, first %s", k, b, f.Fault, seal, head, first)
	}
}

func plus(a, b projections.Fold) projections.Fold {
	sum, err := a.Plus(b)
	if err != nil {
		panic(err)
	}
	sum.Through = b.Through
	return sum
}

// naive adds up the postings in (after, through] without package projections. An empty through is the end.
func naive(posted []projections.Posting, after, through events.KSUID) (f projections.Fold, first events.KSUID) {
	var credits, debits, cost int64
	for _, p := range posted {
		if p.ID <= after || through != "" && p.ID > through {
			continue
		}
		var q int64
		_, _ = fmt.Sscan(p.Quantity.String(), &q)
		credits, debits = credits+max(q, 0), debits+max(-q, 0)
		var c int64
		_, _ = fmt.Sscan(p.Cost.String(), &c)
		cost += c
		f.Count++
		f.Through = max(f.Through, p.ID)
		if first == "" || p.ID < first {
			first = p.ID
		}
	}
	f.Credits, f.Debits, f.Expenditure = events.NewAmount(credits), events.NewAmount(debits), events.NewAmount(cost)
	return f, first
}

// rebuild rebuilds all accounts, and returns the differences.
func (d *damaged) rebuild(dry bool) (different []string) {
	for _, account := range []string{"jane", "shop"} {
		d.must(d.rebuilder.Account(d.Context(), rebuild.Scope{Account: account, DryRun: dry, DropMissing: true}, func(part rebuild.Report) {
			if part.Err != nil {
				d.Errorf("%+v", part)
			}
			for _, difference := range part.Differences {
				different = append(different, fmt.Sprintf("%+v", difference))
			}
			for _, stray := range part.Strays {
				if len(d.posted[events.Pair{Account: part.Account, Asset: part.Asset}]) > 0 { // else the balance has no postings
					d.Errorf("stray %+v", stray)
				}
			}
		}))
	}
	return different
}

// After any damage, a rebuild makes all projections equal to a naive sum of the postings. A dry run before it reports
// the same differences and writes nothing. A second rebuild finds none. Later refolds are correct, too.
func TestRebuildRepairsAnyDamage(t *testing.T) {
	full.Checks(15)
	rapid.Check(t, func(t *rapid.T) {
		d := newDamaged(t)
		for range rapid.IntRange(0, 6).Draw(t, "damages") {
			d.damage()
		}
		d.store.Requests()
		would := d.rebuild(true)
		if r := d.store.Requests(); r.Writes() > 0 {
			t.Fatalf("a dry run wrote: %+v", r)
		}
		repaired := d.rebuild(false)
		d.exact()
		if !slices.Equal(repaired, would) {
			t.Errorf("rebuilt:\n%s\nreported by the dry run:\n%s", strings.Join(repaired, "\n"), strings.Join(would, "\n"))
		}
		if again := d.rebuild(false); len(again) > 0 {
			t.Errorf("rebuilt again: %s", strings.Join(again, "\n"))
		}
		for range 20 {
			k := rapid.SampledFrom(damagedKeys).Draw(t, "pair")
			d.post(k)
			d.must(d.projector.Refold(t.Context(), k, []events.KSUID{d.posted[k][len(d.posted[k])-1].ID}))
		}
		for _, k := range damagedKeys {
			d.refold(k)
		}
		d.exact()
	})
}
