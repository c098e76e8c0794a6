package digest

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/table"
	"ledger.example/internal/watch/digest"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
	"ledger.example/tests/harness/full"
	"ledger.example/tests/harness/system"
)

// newTheirs returns the book of another ledger, in a table with the same name, at the time when newBook returns.
func newTheirs(t *testing.T) *book {
	b := newEmptyBook(t, viewstest.Morning.Add(time.Second))
	b.must(digest.NewKey(b.dir, origin))
	b.page(opened("ann"), opened("shop"), posted("t-1", 1))
	b.page(posted("t-2", 2), posted("t-3", 3), posted("t-4", 4), posted("t-5", 5))
	b.now = viewstest.Morning.Add(6 * time.Minute)
	return b
}

// restored returns a copy of the table under another name, item by item, as it was after its first pages.
func (b *book) restored(pages int) *book {
	b.Helper()
	as := &book{T: b.T, Seed: viewstest.Seed{Client: b.Client, Name: "books-" + fmt.Sprint(b.tables)}, now: b.now, dir: b.dir}
	b.tables++
	_, err := dynamolocal.CreateTable(b.Context(), b.Client, as.Name)
	b.must(err)
	as.Table, as.pages = table.NewTable(b.Client, as.Name), slices.Clone(b.pages[:pages])
	gone := make(map[table.Key]bool)
	for _, page := range b.pages[pages:] {
		gone[table.Journal.Key("0", string(page.ID))] = true
		for _, e := range page.Entries {
			gone[e.Event] = true
		}
	}
	for k, item := range system.Contents(b.T, b.Client, b.Name) {
		if !gone[k] {
			as.put(item)
		}
	}
	return as
}

// A restored table is the same ledger, whatever its name and the moment: a digest goes on if the newest note still
// holds, and else with --resume from the newest one that does. What was lost is reported, and nothing else.
func TestRestoredTableIsTheSameLedger(t *testing.T) {
	for seed := range full.Count(40, 1000) {
		random := rand.New(rand.NewPCG(uint64(seed), 0))
		b := newBook(t)
		var sizes, after []int // of the notes, and the number of pages that each covers
		entries := func() (n int) {
			for _, p := range b.pages {
				n += len(p.Entries)
			}
			return n
		}
		for i := range 1 + random.IntN(8) {
			b.page(posted(fmt.Sprint("x-", i), 10+i))
			if random.IntN(2) == 0 {
				b.run()
				sizes, after = append(sizes, entries()), append(after, len(b.pages))
			}
		}
		if len(sizes) == 0 {
			continue
		}
		cut := 1 + random.IntN(len(b.pages))
		r := b.restored(cut)
		r.page(posted("y", 100))
		b.now = r.now // the store's clock
		config := r.config()
		config.Resume = cut < after[len(after)-1]
		if _, err := digest.Run(t.Context(), r.config()); config.Resume != (err != nil) ||
			err != nil && !strings.Contains(err.Error(), "go on with --resume") {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got, err := digest.Run(t.Context(), config)
		r.must(err)
		var lost []digest.Lost
		for i, size := range sizes {
			if after[i] > cut {
				lost = append(lost, digest.Lost{Size: int64(size), File: fmt.Sprint(size, ".lost")})
			}
		}
		if !slices.Equal(got.Lost, lost) {
			t.Errorf("seed %d: lost %v, want %v", seed, got.Lost, lost)
		}
		found := r.findings()
		if n := strings.Count(found, ".lost: its journal was lost by a restore"); n != len(lost) ||
			n != len(strings.FieldsFunc(found, func(r rune) bool { return r == '\n' })) {
			t.Errorf("seed %d: %d notes are lost, found %s", seed, len(lost), found)
		}
		p, err := digest.Prove(t.Context(), r.config(), table.Transaction.Key("y"))
		r.must(err)
		if n, err := p.Check(r.key()); err != nil || n.Origin != origin || int(n.Size) != len(r.entries()) {
			t.Errorf("seed %d: %+v, %v", seed, n, err)
		}
	}
}

// entries are all of the journal.
func (b *book) entries() (all []projections.JournalEntry) {
	for _, p := range b.pages {
		all = append(all, p.Entries...)
	}
	return all
}

// The directory of another ledger is refused by each command, which writes nothing, also to go on after a restore. It
// does not matter what the tables are called, whether the ledgers have ids in common, and whether hashes are there.
func TestAnotherLedgerIsRefused(t *testing.T) {
	b := newBook(t)
	b.run()
	for _, hashes := range []bool{true, false} {
		if !hashes {
			b.truncateHashes()
		}
		before := b.files()
		for name, other := range map[string]table.Table{"foreign": newTheirs(t).Table, "empty": newEmptyBook(t, b.now).Table,
			"restored to before everything": b.restored(0).Table} {
			c := b.config()
			c.Table = other
			resume := c
			resume.Resume = true
			for i, do := range []func() error{
				func() error { _, err := digest.Run(t.Context(), c); return err },
				func() error { _, err := digest.Run(t.Context(), resume); return err },
				func() error { _, err := digest.Check(t.Context(), c); return err },
				func() error { _, err := digest.Prove(t.Context(), c, table.Transaction.Key("t-1")); return err },
				func() error { _, err := digest.Entries(t.Context(), c, io.Discard); return err },
			} {
				if err := do(); err == nil || !strings.Contains(err.Error(), "is the directory of another ledger") &&
					!strings.Contains(err.Error(), "lacks hashes") {
					t.Errorf("%s, command %d: %v", name, i, err)
				}
				if !maps.Equal(before, b.files()) {
					t.Fatalf("%s, command %d: something was written", name, i)
				}
			}
		}
	}
}

// Without hashes and the newest page, a ledger is known by the pages of older notes.
func TestKnownByAnOlderNote(t *testing.T) {
	b := newBook(t)
	b.run()
	b.page(posted("t-4", 6))
	b.run()
	r := b.restored(3)
	r.truncateHashes()
	c := r.config()
	c.Resume = true
	if got, err := digest.Run(t.Context(), c); err != nil || got.Note.Size != 7 || len(got.Lost) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}
