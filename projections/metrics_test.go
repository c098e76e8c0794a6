package projections_test

import (
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections/viewstest"
)

// lastLine is the newest line of the log, from its message on.
func (b *book) lastLine() string {
	lines := strings.Split(strings.TrimSpace(b.log.String()), "\n")
	_, line, _ := strings.Cut(lines[len(lines)-1], "msg=")
	return line
}

// Each batch logs one line. It has a value per refold for the postings read over all attempts, the lag of the newest
// named posting, and the conflicts.
func TestBatchLogsItsMetrics(t *testing.T) {
	shop := events.Pair{Account: "shop", Asset: "USD"}
	b := newBook(t)
	ids := b.PostOnes(jane, upTo(1, 30)...)
	batch := append(keysOf(jane, ids[9], ids[4]), keysOf(shop, b.PostOnes(shop, 1)...)...)

	b.Time = morning.Add(time.Minute)
	b.project(records(batch...))
	// The batch names two of jane's thirty postings. The refold reads them all.
	if got, want := b.lastLine(),
		`batch records=3 groups=2 failed=0 cached=0 RefoldDepth="[30 1]" ProjectionLag="[59990 59999]"`; got != want {
		t.Errorf("%s\nwanted %s", got, want)
	}
	b.project(records(batch...))
	// The cache knows that they are counted: no posting is read.
	if got, want := b.lastLine(), `batch records=3 groups=2 failed=0 cached=2`; got != want {
		t.Errorf("%s\nwanted %s", got, want)
	}
}

// The lag of a posting with an effective date begins when it was written, not at the time in its KSUID.
func TestLagOfBackdatedPostingsBeginsWithTheWrite(t *testing.T) {
	b := newBook(t)
	batch := records(keysOf(jane, b.PostOnes(jane, 1)...)...)
	b.Time = morning.Add(time.Hour)
	batch[0].Written = b.Time.Add(-3 * time.Second)
	b.project(batch)
	if got := b.lastLine(); !strings.HasSuffix(got, "RefoldDepth=[1] ProjectionLag=[3000]") {
		t.Error(got)
	}
}

func TestBatchLogsConflicts(t *testing.T) {
	b := newBook(t)
	ids := b.PostOnes(jane, 5000)
	b.Time = morning // the projector's clock is behind the KSUID's: the lag must not be negative
	conflicts := 3
	b.on(&viewstest.Hooked{Table: b.Table, BeforeWrite: func(write int, _ []store.Write) error {
		if write <= conflicts {
			return store.ErrConflict
		}
		return nil
	}})
	b.project(records(keysOf(jane, ids...)...))
	if got := b.lastLine(); !strings.HasSuffix(got, "RefoldDepth=[4] ProjectionLag=[0] ProjectionConflicts=[3]") {
		t.Error(got)
	}
	conflicts = 1 << 30
	if _, err := b.Projector.Project(t.Context(), records(keysOf(jane, b.PostOnes(jane, 5001)...)...)); err == nil {
		t.Error("no error after too many conflicts")
	}
	if got := b.log.String(); !strings.Contains(got, "failed=1 cached=0 RefoldDepth=[24] ProjectionConflicts=[12]") {
		t.Error(got)
	}
}
