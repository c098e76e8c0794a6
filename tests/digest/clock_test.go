package digest

import (
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/internal/table"
	"ledger.example/internal/watch/digest"
)

// An auditor whose clock is off the store's judges nothing: with a slow one the newest pages would seem to be missing.
// Nothing is written, and no note is set aside.
func TestClockOffTheStoresJudgesNothing(t *testing.T) {
	b := newBook(t)
	b.run()
	b.page(posted("t-4", 6))
	b.run()
	before := b.files()
	for _, skew := range []time.Duration{-2 * time.Hour, -7 * time.Second, 7 * time.Second, 2 * time.Hour} {
		c := b.config()
		c.Now = func() time.Time { return b.now.Add(skew) }
		resume := c
		resume.Resume = true
		for name, do := range map[string]func() error{
			"run":    func() error { _, err := digest.Run(t.Context(), c); return err },
			"resume": func() error { _, err := digest.Run(t.Context(), resume); return err },
			"check":  func() error { _, err := digest.Check(t.Context(), c); return err },
			"prove": func() error {
				_, err := digest.Prove(t.Context(), c, table.Transaction.Key("t-4"))
				return err
			},
			"entries": func() error { _, err := digest.Entries(t.Context(), c, io.Discard); return err },
		} {
			if err := do(); err == nil || !strings.Contains(err.Error(), "clock") {
				t.Errorf("%s with a clock that is off by %v: %v", name, skew, err)
			}
		}
		if !maps.Equal(b.files(), before) {
			t.Fatalf("a clock that is off by %v changed the directory", skew)
		}
	}
	for _, skew := range []time.Duration{-4 * time.Second, 4 * time.Second} {
		c := b.config()
		c.Now = func() time.Time { return b.now.Add(skew) }
		if r, err := digest.Check(t.Context(), c); err != nil || len(r.Findings) > 0 {
			t.Errorf("a clock within the tolerance: %+v, %v", r, err)
		}
	}
}

// A note that was lost is kept for ever, also if a note of the same size is lost later.
func TestLostNotesAreNeverOverwritten(t *testing.T) {
	b := newBook(t)
	b.run()
	var lost []string // texts of the notes
	for i, id := range []string{"t-4", "t-5", "t-6"} {
		b.page(posted(id, 6+i))
		b.run()
		lost = append(lost, b.files()["notes/8"])
		b.drop(table.Journal.Key("0", string(b.pages[len(b.pages)-1].ID))) // a restore
		c := b.config()
		c.Resume = true
		r, err := digest.Run(t.Context(), c)
		b.must(err)
		if len(r.Lost) != 1 || r.Lost[0].Size != 8 || b.files()["notes/"+r.Lost[0].File] != lost[i] {
			t.Errorf("restore %d: lost %+v", i, r.Lost)
		}
	}
	var kept []string
	for name, text := range b.files() {
		if strings.HasSuffix(name, ".lost") {
			kept = append(kept, text)
		}
	}
	slices.Sort(kept)
	slices.Sort(lost)
	if !slices.Equal(kept, lost) {
		t.Errorf("%d of %d lost notes are kept", len(kept), len(lost))
	}
	if found := b.findings(); strings.Count(found, "was lost by a restore") != len(lost) {
		t.Error(found)
	}
}
