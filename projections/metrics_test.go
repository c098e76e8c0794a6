package projections_test

import (
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// lastLine is the newest line of the log, from its message on.
func (b *book) lastLine() string {
	lines := strings.Split(strings.TrimSpace(b.log.String()), "\n")
	_, line, _ := strings.Cut(lines[len(lines)-1], "msg=")
	return line
}

// One line tells of a batch, with a value for each refold: how many postings it read, over all attempts; how old the
// newest that it was told of was when it was shown; how often others came first.
func TestBatchesLogWhatTheyTook(t *testing.T) {
	shop := events.Pair{Account: "shop", Asset: "USD"}
	b := newBook(t)
	ids := b.PostOnes(jane, upTo(1, 30)...)
	batch := append(of(jane, ids[9], ids[4]), of(shop, b.PostOnes(shop, 1)...)...)

	b.Time = morning.Add(time.Minute)
	b.project(records(batch...))
	// Of jane's thirty the batch points at the tenth; all are read.
	if got, want := b.lastLine(),
		`batch records=3 groups=2 failed=0 cached=0 RefoldDepth="[30 1]" ProjectionLag="[59990 59999]"`; got != want {
		t.Errorf("%s\nwanted %s", got, want)
	}
	b.project(records(batch...))
	// Remembered as counted: nothing is read of it.
	if got, want := b.lastLine(), `batch records=3 groups=2 failed=0 cached=2`; got != want {
		t.Errorf("%s\nwanted %s", got, want)
	}
}

// What was posted for a time in the past lags since it was written.
func TestBackdatedPostingsLagSinceTheyWereWritten(t *testing.T) {
	b := newBook(t)
	batch := records(of(jane, b.PostOnes(jane, 1)...)...)
	b.Time = morning.Add(time.Hour)
	batch[0].Written = b.Time.Add(-3 * time.Second)
	b.project(batch)
	if got := b.lastLine(); !strings.HasSuffix(got, "RefoldDepth=[1] ProjectionLag=[3000]") {
		t.Error(got)
	}
}

func TestBatchesLogConflicts(t *testing.T) {
	b := newBook(t)
	ids := b.PostOnes(jane, 5000)
	b.Time = morning // a clock behind that of whoever posted: no lag is negative
	conflicts := 3
	b.on(&viewstest.Hooked{Store: b.Store, BeforeWrite: func(write int, _ projections.Change) error {
		if write <= conflicts {
			return store.ErrConflict
		}
		return nil
	}})
	b.project(records(of(jane, ids...)...))
	if got := b.lastLine(); !strings.HasSuffix(got, "RefoldDepth=[4] ProjectionLag=[0] ProjectionConflicts=[3]") {
		t.Error(got)
	}
	conflicts = 1 << 30
	if _, err := b.Projector.Project(t.Context(), records(of(jane, b.PostOnes(jane, 5001)...)...)); err == nil {
		t.Error("projected all the same")
	}
	if got := b.log.String(); !strings.Contains(got, "failed=1 cached=0 RefoldDepth=[24] ProjectionConflicts=[12]") {
		t.Error(got)
	}
}
