package rebuild_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/table/tabletest"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
	"ledger.example/projections/viewstest"
)

// isLate implements the same rule as the audit, and is tested with the same cases.
func TestLateFolds(t *testing.T) {
	for _, c := range tabletest.Cases() {
		sum := func(s tabletest.Sums, end int) projections.Fold {
			return projections.Fold{
				Through: ksuid(end), Count: s.Count, Credits: events.NewAmount(s.Credits), Debits: events.NewAmount(s.Debits),
				Expenditure: events.NewAmount(s.Expenditure),
			}
		}
		stored := sum(c.Stored, 9)
		if c.ElsewhereEnd {
			stored.Through = ksuid(8)
		}
		if got := rebuild.IsLate(stored, sum(c.Found, 9), sum(c.Young, 9)); got != (c.Want == tabletest.Late) {
			t.Errorf("%s: late %t, wanted %s", c.Name, got, c.Want)
		}
	}
}

// dry returns the differences that a dry run finds in jane's account.
func (b *book) dry() (differences []rebuild.Difference) {
	b.Helper()
	b.Must(b.rebuilder.Account(b.Context(), rebuild.Scope{Account: "jane", DryRun: true, DropMissing: true}, func(p rebuild.Report) {
		b.Must(p.Err)
		differences = append(differences, p.Differences...)
	}))
	return differences
}

// project projects a batch of records with figures.
func (b *book) project(ids ...events.KSUID) {
	b.Helper()
	var batch []projections.Record
	for i, id := range ids {
		key := table.Posting.Key("jane", "USD", string(id))
		batch = append(batch, projections.Record{
			SequenceNumber: fmt.Sprint(i), PK: key.PK, SK: key.SK,
			Figures: &events.Figures{Quantity: events.NewAmount(1), Cost: events.NewAmount(2)},
		})
	}
	failed, err := b.Projector.Project(b.Context(), batch)
	b.Must(err)
	viewstest.Same(b.T, "failed", failed, "")
}

// If a projector has a balance in its cache, it counts postings as their records arrive. So the head may lack a posting
// before its end. A dry run reports it as behind for LateFor, and then as wrong. A head with other errors is wrong at
// once.
func TestHeadOfAWarmProjectorIsLateNotWrong(t *testing.T) {
	const young = 3_595_000 // milliseconds of the morning: 5 s ago
	b := newBook(t)
	b.project(b.PostOnes(jane, 1, 2)...)
	if d := b.dry(); len(d) > 0 {
		t.Fatalf("%+v", d)
	}
	delayed := b.PostOnes(jane, young, young+2) // their records arrive last
	b.project(b.PostOnes(jane, young+1, young+3)...)
	viewstest.Same(t, "shown", b.Stored(jane).Head, ones(young+3, 4))
	check := func(when string, behind bool) {
		t.Helper()
		differences := b.dry()
		if len(differences) == 0 {
			t.Errorf("%s: no difference", when)
		}
		for _, d := range differences {
			if d.Behind != behind {
				t.Errorf("%s: behind %t: %+v", when, d.Behind, d)
			}
		}
	}
	check("young", true)
	late := b.Stored(jane)
	wrong := late
	wrong.Head.Credits = events.NewAmount(9)
	b.Damage().Balance(wrong)
	check("with another sum", false)
	wrong = late
	wrong.First = ksuid(2)
	b.Damage().Balance(wrong)
	check("with another first posting", false)
	b.Damage().Balance(late)
	b.Time = b.Time.Add(rebuild.LateFor - 6*time.Second)
	check("before LateFor", true)
	b.Time = b.Time.Add(2 * time.Second)
	check("after LateFor", false)
	b.project(delayed...)
	if d := b.dry(); len(d) > 0 {
		t.Errorf("%+v", d)
	}
}

// A recent posting below the seal makes segment, base, seal and head late, but not wrong.
func TestLatePostingBelowTheSealIsNotWrong(t *testing.T) {
	const recent = 3_570_000 // 30 s ago
	b := newBook(t)
	b.Refold(jane, b.PostOnes(jane, recent, recent+2, recent+4, recent+6, recent+8)...)
	if n := len(b.AllSegments(jane)); n != 1 {
		t.Fatalf("%d segments", n)
	}
	b.PostOnes(jane, recent+3)
	differences := b.dry()
	segment, balance := table.Segment.Key("jane", "USD", string(ksuid(recent+6))), table.Balance.Key("jane", "USD")
	if len(differences) != 2 || differences[0].Key != segment || differences[1].Key != balance || !differences[0].Behind || !differences[1].Behind {
		t.Errorf("%+v", differences)
	}
}

// A rebuild's write is conditional on the item being unchanged, even if the item has no usable version.
func TestRevisionsOfMalformedVersions(t *testing.T) {
	b := newBook(t)
	for _, version := range []table.Item{
		{}, {table.AttrVersion: table.Integer(7)}, {table.AttrVersion: table.String("x")},
		{table.AttrVersion: table.Digits("9223372036854775807")}, {table.AttrVersion: table.Flag(false)},
		{table.AttrVersion: table.Map(table.Item{})}, {table.AttrVersion: table.Maps(nil)},
	} {
		for name, value := range table.KeyItem(table.Balance.Key(jane.Account, jane.Asset)) {
			version[name] = value
		}
		_, err := b.Table.Write(t.Context(), table.Write{Item: version})
		b.Must(err)
		found, _, _, err := b.rebuilder.BalanceAnd(t.Context(), jane)
		if err != nil || !found.Exists || found.Fault == nil {
			t.Fatalf("version %v was read as %+v, %v", version, found, err)
		}
		change := projections.Change{Balance: projections.Balance{Pair: jane, Version: 100}, Revision: &found.Revision}
		if err := b.Write(t.Context(), change); err != nil {
			t.Errorf("version %v: %v", version, err)
		}
		if err := b.Write(t.Context(), change); !errors.Is(err, table.ErrConflict) {
			t.Errorf("version %v was replaced twice: %v", version, err)
		}
		if stored := b.Stored(jane); stored.Version != 101 {
			t.Errorf("version %v became %d", version, stored.Version)
		}
	}
}
