package projections_test

import (
	"strings"
	"testing"
	"time"

	"ledger.example/ledger/table"
	"ledger.example/projections"
)

// lastLine is the newest line of the log, from its message on.
func (b *book) lastLine() string {
	lines := strings.Split(strings.TrimSpace(b.log.String()), "\n")
	_, line, _ := strings.Cut(lines[len(lines)-1], "msg=")
	return line
}

// One line tells of a batch, with a value for each refold: how many postings it read, over all attempts; how old the newest
// that it was told of was when it was shown; how often others came first.
func TestBatchesTellWhatTheyTook(t *testing.T) {
	shop := projections.Key{Account: "shop", Asset: "USD"}
	b := newBook(t)
	marks := b.post(jane, upTo(1, 30)...)
	batch := append(of(jane, marks[9], marks[4]), of(shop, b.post(shop, 1)...)...)

	b.now = morning.Add(time.Minute)
	b.project(records(batch...))
	// Of jane's thirty the batch points at the tenth; all are read.
	if got, want := b.lastLine(), `batch records=3 groups=2 failed=0 remembered=0 RefoldDepth="[30 1]" ProjectionLag="[59990 59999]"`; got != want {
		t.Errorf("%s\nwanted %s", got, want)
	}
	b.project(records(batch...))
	// Remembered as counted: nothing is read of it.
	if got, want := b.lastLine(), `batch records=3 groups=2 failed=0 remembered=2`; got != want {
		t.Errorf("%s\nwanted %s", got, want)
	}
}

func TestBatchesTellOfConflicts(t *testing.T) {
	b := newBook(t)
	marks := b.post(jane, 1, 2)
	conflicts := 3
	b.on(&failing{Memory: b.Memory, before: func(write int, _ projections.Change) error {
		if write <= conflicts {
			return table.ErrConflict
		}
		return nil
	}})
	b.project(records(of(jane, marks...)...))
	if got := b.lastLine(); !strings.Contains(got, `RefoldDepth=[8]`) || !strings.Contains(got, `ProjectionConflicts=[3]`) || !strings.Contains(got, "ProjectionLag") {
		t.Error(got)
	}
	b = newBook(t)
	marks = b.post(jane, 1)
	b.on(&failing{Memory: b.Memory, before: func(int, projections.Change) error { return table.ErrConflict }})
	if _, err := b.projector.Project(t.Context(), records(of(jane, marks...)...)); err == nil {
		t.Error("projected all the same")
	}
	if got := b.log.String(); !strings.Contains(got, "failed=1 remembered=0 RefoldDepth=[12] ProjectionConflicts=[12]") || strings.Contains(got, "ProjectionLag") {
		t.Error(got)
	}
}

// A clock that is behind that of whoever posted doesn't make postings shown before they were made.
func TestLagIsNeverNegative(t *testing.T) {
	b := newBook(t)
	marks := b.post(jane, 5000)
	b.now = morning
	b.project(records(of(jane, marks...)...))
	if got := b.lastLine(); !strings.Contains(got, "ProjectionLag=[0]") {
		t.Error(got)
	}
}
