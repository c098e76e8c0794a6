package repair_test

import (
	"fmt"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/table/latetest"
	"ledger.example/projections"
	"ledger.example/projections/repair"
	"ledger.example/projections/viewstest"
)

// The rule is that of the audit, and so are its cases.
func TestWhatIsLate(t *testing.T) {
	for _, c := range latetest.Cases() {
		sum := func(s latetest.Sums, end int) projections.Fold {
			return projections.Fold{
				Through: ksuid(end), Count: s.Count, Credits: events.NewAmount(s.Credits), Debits: events.NewAmount(s.Debits),
				Expenditure: events.NewAmount(s.Expenditure),
			}
		}
		stored := sum(c.Stored, 9)
		if c.ElsewhereEnd {
			stored.Through = ksuid(8)
		}
		if got := repair.IsLate(stored, sum(c.Found, 9), sum(c.Young, 9)); got != (c.Want == latetest.Late) {
			t.Errorf("%s: late %t, wanted %s", c.Name, got, c.Want)
		}
	}
}

// dry is what a dry run says of jane's balance, and of her summary.
func (b *book) dry() (differences []repair.Difference) {
	b.Helper()
	b.Must(b.rebuilder.Account(b.Context(), repair.Scope{Account: "jane", DryRun: true, DropMissing: true}, func(p repair.Report) {
		b.Must(p.Err)
		differences = append(differences, p.Differences...)
	}))
	return differences
}

// project gives the projector a batch of records that show the figures of postings.
func (b *book) project(ids ...events.KSUID) {
	b.Helper()
	var batch []projections.Record
	for i, id := range ids {
		key := table.PostingKey("jane", "USD", string(id))
		batch = append(batch, projections.Record{
			SequenceNumber: fmt.Sprint(i), PK: key.PK, SK: key.SK,
			Figures: &events.Figures{Quantity: events.NewAmount(1), Cost: events.NewAmount(2)},
		})
	}
	failed, err := b.Projector.Project(b.Context(), batch)
	b.Must(err)
	viewstest.Same(b.T, "failed", failed, "")
}

// A projector that remembers shows what it was told: a later posting whose record came first, and not the earlier one.
// A dry run calls that late for as long as the record may be under way; then it is wrong, as it is from the beginning
// if it counts what nobody posted.
func TestAWarmHeadIsLateAndNotWrong(t *testing.T) {
	const young = 3_595_000 // milliseconds of the morning: 5 s ago
	b := newBook(t)
	b.project(b.PostOnes(jane, 1, 2)...)
	if d := b.dry(); len(d) > 0 {
		t.Fatalf("%+v", d)
	}
	untold := b.PostOnes(jane, young, young+2)
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
	check("moments ago", true)
	whole := b.Stored(jane)
	wrong := whole
	wrong.Head.Credits = events.NewAmount(9)
	b.Damage().Balance(wrong)
	check("with another sum", false)
	wrong = whole
	wrong.First = ksuid(2)
	b.Damage().Balance(wrong)
	check("with another first posting", false)
	b.Damage().Balance(whole)
	b.Time = b.Time.Add(repair.LateFor - 6*time.Second)
	check("just before", true)
	b.Time = b.Time.Add(2 * time.Second)
	check("later", false)
	b.project(untold...)
	if d := b.dry(); len(d) > 0 {
		t.Errorf("%+v", d)
	}
}

// A posting that lies below the seal and was committed a moment ago makes segment, base, seal and head late; nothing is
// wrong.
func TestALatePostingBelowTheSealIsNotWrong(t *testing.T) {
	const recent = 3_570_000 // 30 s ago
	b := newBook(t)
	b.Refold(jane, b.PostOnes(jane, recent, recent+2, recent+4, recent+6, recent+8)...)
	if n := len(b.Segments(jane)); n != 1 {
		t.Fatalf("%d segments", n)
	}
	b.PostOnes(jane, recent+3)
	differences := b.dry()
	segment, balance := table.SegmentKey("jane", "USD", string(ksuid(recent+6))), table.BalanceKey("jane", "USD")
	if len(differences) != 2 || differences[0].Key != segment || differences[1].Key != balance || !differences[0].Behind || !differences[1].Behind {
		t.Errorf("%+v", differences)
	}
}
