package projections_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// damaged is a store with a random history, projected more or less, on which random damage is done.
type damaged struct {
	*rapid.T
	store     *viewstest.Memory
	projector *projections.Projector
	posted    map[projections.Key][]projections.Posting
	members   map[string]projections.Membership // of jane, by user
	last      int                               // the newest posting's number
	now       time.Time
	stretch   int64
	settled   int
	segments  int
}

var damagedKeys = []projections.Key{
	{Account: "jane", Asset: "A"}, {Account: "jane", Asset: "B"}, {Account: "jane", Asset: "B-1"}, {Account: "shop", Asset: "A"},
}

func newDamaged(t *rapid.T) *damaged {
	d := &damaged{
		T: t, store: viewstest.NewMemory(), posted: make(map[projections.Key][]projections.Posting),
		members: make(map[string]projections.Membership), now: morning.Add(time.Minute),
		settled:  rapid.SampledFrom([]int{0, 2}).Draw(t, "settled"),
		stretch:  rapid.SampledFrom([]int64{1, 2, 4}).Draw(t, "stretch"),
		segments: rapid.IntRange(1, 3).Draw(t, "segments"),
	}
	d.store.Now, d.store.Page = func() time.Time { return d.now }, 3
	d.projector = d.on(d.store)
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
			Role: rapid.SampledFrom([]events.Role{"", events.RoleViewer, events.RoleOwner}).Draw(t, "role"),
		}
		d.must(d.store.Grant(t.Context(), m))
		d.members[user] = m
		d.must(d.projector.Remember(t.Context(), "jane", user))
	}
	return d
}

func (d *damaged) on(views projections.Views) *projections.Projector {
	p := projections.NewProjector(views, d.store.Now, slog.New(slog.DiscardHandler))
	p.Shrink(projections.SettleWindow, d.stretch, d.segments, d.settled)
	p.Pause(func(ctx context.Context, _ int) error { return ctx.Err() })
	return p
}

func (d *damaged) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

// post puts a posting, often one that is late. The even milliseconds are for ends of segments that nobody posted at.
func (d *damaged) post(k projections.Key) {
	at := 0
	for at == 0 || slices.ContainsFunc(d.posted[k], func(p projections.Posting) bool { return p.ID == ksuid(at) }) {
		at = 2*rapid.IntRange(1, 500).Draw(d.T, "at") + 1
	}
	p := projections.Posting{ID: ksuid(at), Quantity: events.NewAmount(rapid.Int64Range(-3, 3).Draw(d.T, "quantity")), Cost: events.NewAmount(int64(at))}
	d.must(d.store.Post(d.Context(), k, p))
	d.posted[k] = append(d.posted[k], p)
	d.last = max(d.last, at)
}

func (d *damaged) refold(k projections.Key) {
	var marks []events.KSUID
	for _, p := range d.posted[k] {
		marks = append(marks, p.ID)
	}
	d.must(d.projector.Refold(d.Context(), k, marks))
}

func (d *damaged) balance(k projections.Key) projections.Found[projections.Balance] {
	found, _, _, err := d.store.Snapshot(d.Context(), k, nil)
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

// harm does one damage, of any kind that there is, to a pair, a summary or a membership.
func (d *damaged) harm() {
	k := rapid.SampledFrom(append(damagedKeys, projections.Key{Account: "jane", Asset: "C"})).Draw(d.T, "pair")
	b, segments := d.balance(k).Value, d.store.Segments(k)
	hurt := d.store.Damage()
	key := table.BalanceKey(k.Account, k.Asset)
	there := d.balance(k).There
	if len(segments) > 0 && rapid.Bool().Draw(d.T, "of a segment") {
		s := rapid.SampledFrom(segments).Draw(d.T, "segment")
		key = table.SegmentKey(s.Account, s.Asset, string(s.Through))
		switch rapid.IntRange(0, 6).Draw(d.T, "how") {
		case 0:
			hurt.LoseSegment(s)
		case 1:
			for _, s := range segments {
				hurt.LoseSegment(s)
			}
		case 2:
			through := s.Through
			s.Fold = d.fold()
			s.Through = through
			hurt.Segment(s)
		case 3:
			s.After = rapid.SampledFrom([]events.KSUID{"", ksuid(2), "~~~", s.Through}).Draw(d.T, "after")
			hurt.Segment(s)
		case 4:
			hurt.Spoil(key)
		case 5:
			hurt.SpoilAttributes(key)
		case 6:
			s.Count++
			hurt.Segment(s)
		}
		return
	}
	switch rapid.IntRange(0, 13).Draw(d.T, "how") {
	case 0:
		hurt.LoseBalance(k)
	case 1:
		b.Version = max(1, b.Version)
		b.Head = d.fold()
		hurt.Balance(b)
	case 2:
		b.Version = max(1, b.Version)
		b.Seal = d.fold()
		hurt.Balance(b)
	case 3:
		b.Version = max(1, b.Version)
		b.Base = d.fold()
		hurt.Balance(b)
	case 4:
		b.Version = max(1, b.Version)
		b.Seal.Through, b.Base.Through = "~~~", "zzzzzzzzzzzzzzzzzzzzzzzzzzz"
		hurt.Balance(b)
	case 5:
		b.Version = max(1, b.Version)
		b.First = ksuid(1)
		hurt.Balance(b)
	case 6:
		b.Version = 0
		hurt.Balance(b)
	case 7:
		hurt.Segment(projections.Segment{Key: k, After: ksuid(2), Fold: d.fold()})
	case 8:
		b.Version = max(1, b.Version)
		b.Unfinished = true
		hurt.Balance(b)
	case 9:
		if there {
			hurt.Spoil(key)
		}
	case 10:
		if there {
			hurt.SpoilFigures(key)
		}
	case 11:
		if there {
			hurt.SpoilAttributes(key)
		}
	case 12:
		d.harmSummary(k.Account)
	case 13:
		d.harmMembership()
	}
}

func (d *damaged) harmSummary(account string) {
	hurt := d.store.Damage()
	found, _, _, err := d.store.SnapshotAccount(d.Context(), account, nil)
	d.must(err)
	switch how := rapid.IntRange(0, 3).Draw(d.T, "how to the summary"); {
	case how == 0:
		hurt.LoseSummary(account)
	case how == 1 && found.There:
		hurt.Spoil(table.SummaryKey(account))
	default:
		s := found.Value
		s.Version, s.Assets, s.First = max(1, s.Version), 7, ksuid(1)
		hurt.Summary(s)
	}
}

func (d *damaged) harmMembership() {
	hurt := d.store.Damage()
	user := rapid.SampledFrom([]string{"ann", "ann.b", "bob", "eve"}).Draw(d.T, "whose")
	switch rapid.IntRange(0, 2).Draw(d.T, "how to the membership") {
	case 0:
		hurt.LoseMembership("jane", user)
	case 1:
		hurt.Membership(projections.Membership{Account: "jane", User: user, Role: events.RoleOwner, Number: 99})
	case 2:
		if _, there := d.members[user]; there {
			hurt.Spoil(table.MembershipKey("jane", user))
		}
	}
}

// exact compares all that is stored with what was posted and granted.
func (d *damaged) exact() {
	d.Helper()
	wanted := map[string]projections.Summary{"jane": {Account: "jane"}, "shop": {Account: "shop"}}
	for _, k := range append(damagedKeys, projections.Key{Account: "jane", Asset: "C"}) {
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
		found, err := d.store.StoredMembership(d.Context(), "jane", user)
		d.must(err)
		m, granted := d.members[user]
		if !granted {
			m = projections.Membership{Account: "jane", User: user}
		}
		if found.Fault != nil || found.There != granted && found.Value.Role != "" || found.Value != m {
			d.Errorf("membership %+v, wanted %+v", found, m)
		}
	}
}

func (d *damaged) exactPair(k projections.Key) {
	d.Helper()
	f := d.balance(k)
	b := f.Value
	var sum projections.Fold
	for _, s := range d.store.Segments(k) {
		wanted, _ := naive(d.posted[k], s.After, s.Through)
		wanted.Through = s.Through
		if s.After != sum.Through || s.Fold != wanted || d.store.Damage().Spoiled(table.SegmentKey(k.Account, k.Asset, string(s.Through))) {
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

// naive adds up the postings in (after, through] in a way of its own; an empty through is the end.
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

// rebuild rebuilds all accounts, and returns which items but for summaries were not what they are to be.
func (d *damaged) rebuild(p *projections.Projector, dry bool) (different []string) {
	for _, account := range []string{"jane", "shop"} {
		d.must(p.RebuildAccount(d.Context(), account, "", dry, func(part projections.Part) {
			if part.Err != nil {
				d.Errorf("%+v", part)
			}
			if part.Asset != "" || part.User != "" { // a balance that is mended moves its summary, maybe to where it belongs
				for _, difference := range part.Differences {
					different = append(different, fmt.Sprintf("%+v", difference))
				}
			}
			for _, stray := range part.Strays {
				if len(d.posted[projections.Key{Account: part.Account, Asset: part.Asset}]) > 0 { // else the balance belongs to nothing
					d.Errorf("stray %+v", stray)
				}
			}
		}))
	}
	return different
}

// Whatever is done to projections, a rebuild makes all of it what a naive sum of the postings is; a dry run before it tells as many
// items, and writes nothing; a second one finds nothing.
func TestRebuildMendsWhateverIsDamaged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDamaged(t)
		for range rapid.IntRange(0, 6).Draw(t, "damages") {
			d.harm()
		}
		d.store.Requests()
		would := d.rebuild(d.projector, true)
		if r := d.store.Requests(); r.Writes+r.Memberships+r.Repairs > 0 {
			t.Fatalf("a dry run wrote: %+v", r)
		}
		mended := d.rebuild(d.projector, false)
		d.exact()
		if !slices.Equal(mended, would) {
			t.Errorf("mended:\n%s\na dry run told of:\n%s", strings.Join(mended, "\n"), strings.Join(would, "\n"))
		}
		if again := d.rebuild(d.projector, false); len(again) > 0 {
			t.Errorf("mended again: %s", strings.Join(again, "\n"))
		}
		// What was mended goes on as if nothing had been.
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
