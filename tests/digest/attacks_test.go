package digest

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/watch/digest"
	"ledger.example/internal/watch/repair"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
)

// Whoever may write to the table, and computes every checksum anew, is found by a check. What is a harm to readers
// only, such as a page that is moved, is found as well.
func TestForgeriesAreFound(t *testing.T) {
	gone := func(keys ...table.Key) func(*book) {
		return func(b *book) {
			for _, k := range keys {
				b.drop(k)
			}
		}
	}
	rewrite := func(page int, change func(*projections.JournalPage)) func(*book) {
		return func(b *book) {
			p := b.pages[page]
			p.Entries = slices.Clone(p.Entries)
			change(&p)
			b.write(p)
		}
	}
	richer := posted("t-2", 2)
	richer.Legs = slices.Clone(richer.Legs)
	richer.Legs[0].Quantity, richer.Legs[1].Quantity = events.NewAmount(-100), events.NewAmount(100)
	limited, noted, other := opened("jane"), posted("t-1", 1), posted("t-2", 2)
	limited.Overdraft.Unlimited = true
	noted.Metadata = map[string]string{"order": "8"}
	other.Legs = slices.Clone(other.Legs)
	other.Legs[0].Account = "mallory"
	for name, c := range map[string]struct {
		forge func(*book)
		found string
	}{
		"amount":        {func(b *book) { b.forge(richer) }, "entry 3: event TXN#t-2/TXN#t-2 is not what was sealed"},
		"note":          {func(b *book) { b.forge(noted) }, "entry 2: event TXN#t-1/TXN#t-1 is not what was sealed"},
		"replaced":      {func(b *book) { b.forge(other) }, "entry 3: event TXN#t-2/TXN#t-2 is not what was sealed"},
		"overdraft":     {func(b *book) { b.forge(limited) }, "entry 0: event ACCOUNT#jane/ACCOUNT#jane is not what was sealed"},
		"event deleted": {gone(table.Transaction.Key("t-1")), "entry 2: event TXN#t-1/TXN#t-1 is missing"},
		"event and entry": {func(b *book) {
			gone(table.Transaction.Key("t-1"))(b)
			rewrite(0, func(p *projections.JournalPage) { p.Entries = p.Entries[:2] })(b)
		}, "7: the journal has 6 entries"},
		"page dropped":    {func(b *book) { b.rollback(1, 2) }, "7: the journal has 5 entries"},
		"rollback":        {func(b *book) { b.rollback(1, 3) }, "of the journal is missing"},
		"page made void":  {rewrite(1, func(p *projections.JournalPage) { p.Void = true }), "7: the journal has 5 entries"},
		"entries swapped": {rewrite(1, func(p *projections.JournalPage) { slices.Reverse(p.Entries) }), "entry 3: event TXN#h-1/TXN#h-1 was sealed at another place"},
		"page in the past": {func(b *book) {
			e := posted("forged", 9)
			b.must(b.Put(b.Context(), e))
			b.write(projections.JournalPage{ID: events.FirstKSUID(b.pages[1].ID.Time().Add(time.Second)),
				Entries: []projections.JournalEntry{projections.EntryOf(e)}})
		}, "7: the journal has 8 entries"},
		"page moved": {func(b *book) {
			p := b.pages[0]
			b.drop(table.Journal.Key("0", string(p.ID)))
			p.ID = events.FirstKSUID(b.now.Add(-30 * time.Second))
			b.write(p)
		}, "7: the journal has 4 entries"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook(t)
			b.run()
			c.forge(b)
			if found := b.findings(); !strings.Contains(found, c.found) {
				t.Errorf("found %q, want %q", found, c.found)
			}
		})
	}
}

// rollback deletes pages of the journal, and their events.
func (b *book) rollback(from, to int) {
	b.Helper()
	for _, p := range b.pages[from:to] {
		b.drop(table.Journal.Key("0", string(p.ID)))
		for _, e := range p.Entries {
			b.drop(e.Event)
		}
	}
}

// An altered event that is listed again does not pass as a later entry.
func TestAlteredDuplicate(t *testing.T) {
	b := newBook(t)
	b.run()
	altered := posted("t-1", 1)
	altered.Description = "other"
	b.forge(altered)
	b.list(altered)
	b.run()
	if found := b.findings(); !strings.HasPrefix(found, "entry 2: event TXN#t-1/TXN#t-1 was sealed at another place\n") {
		t.Error(found)
	}
	if _, err := digest.Entries(t.Context(), b.config(), io.Discard); err == nil {
		t.Error("the entries pass as those of the note")
	}
}

// What is missing behind the newest note is no fault of the stored hashes.
func TestEventMissingBehindTheNote(t *testing.T) {
	b := newBook(t)
	b.run()
	b.page(posted("t-4", 6))
	b.drop(table.Transaction.Key("t-4"))
	if found := b.findings(); found != "entry 7: event TXN#t-4/TXN#t-4 is missing or cannot be read" {
		t.Error(found)
	}
}

// A page at which a note ends may be gone, with its entries on another page. A run that reads the journal anew, because
// it lacks the hashes, does not pass over the note.
func TestNoteIsNotPassedOver(t *testing.T) {
	b := newBook(t)
	b.drop(table.Journal.Key("0", string(b.pages[2].ID)))
	b.run()
	b.write(b.pages[2])
	b.run()
	b.list(posted("t-4", 6)) // the entries of both pages are now on this one
	last := b.pages[2:]
	forged := posted("t-3", 5)
	forged.Description = "forged"
	b.must(b.Put(t.Context(), posted("t-4", 6)))
	b.forge(forged)
	b.drop(table.Journal.Key("0", string(last[0].ID)))
	last[1].Entries = slices.Concat(last[0].Entries, last[1].Entries)
	b.write(last[1])
	b.must(os.Remove(filepath.Join(b.dir, "hashes")))
	if r, err := digest.Run(t.Context(), b.config()); err == nil || !strings.Contains(err.Error(), "7 entries") {
		t.Errorf("%+v, %v", r, err)
	}
}

// A page that turns up below a sealed position is reported. Once it is void and its entries are listed again, nothing
// is: they are later leaves.
func TestLatePage(t *testing.T) {
	b := newBook(t)
	b.run()
	late := posted("late", 7)
	b.must(b.Put(t.Context(), late))
	page := projections.JournalPage{ID: events.FirstKSUID(b.pages[0].ID.Time().Add(time.Second)),
		Entries: []projections.JournalEntry{projections.EntryOf(late)}}
	b.write(page)
	if found := b.findings(); !strings.Contains(found, "entry 3: event TXN#late/TXN#late is not what was sealed\n") ||
		!strings.Contains(found, "7: the journal has 8 entries") {
		t.Error(found)
	}
	page.Void = true
	b.write(page)
	b.now = b.now.Add(time.Minute)
	c := repair.Config{Table: b.Table, ListsOnly: true, Report: func(rebuild.Report) {},
		Append: projections.NewLister(b.Table, nil, func() time.Time { return b.now }, nil).Append}
	b.must(repair.New(c).Run(t.Context()))
	b.now = b.now.Add(time.Minute)
	if found := b.findings(); found != "" {
		t.Error(found)
	}
	if r := b.run(); r.Note.Size != 8 {
		t.Errorf("%+v", r)
	}
	if p, err := digest.Prove(t.Context(), b.config(), table.Transaction.Key("t-3")); err != nil || p.Index != 6 {
		t.Errorf("%+v, %v", p, err)
	}
}

// A directory or a journal that is not the right one ends each command with an error that says what to do, and nothing
// is written.
func TestBadInput(t *testing.T) {
	const fine = "" // no error
	all := func(want string) [4]string { return [4]string{want, want, want, want} }
	rewrite := func(name string, change func(string) string) func(*book, *digest.Config) {
		return func(b *book, _ *digest.Config) {
			b.must(os.WriteFile(filepath.Join(b.dir, name), []byte(change(b.files()[name])), 0o600))
		}
	}
	with := func(text string) func(string) string { return func(string) string { return text } }
	other := newTheirs(t)
	other.run()
	theirs := func(name string) string { return other.files()[name] }
	for name, c := range map[string]struct {
		damage func(*book, *digest.Config)
		want   [4]string // errors of a run, a check, a proof and of entries
	}{
		"another ledger": {func(_ *book, c *digest.Config) { c.Table = newTheirs(t).Table },
			all("is the directory of another ledger")},
		"an empty ledger": {func(b *book, c *digest.Config) { c.Table = newEmptyBook(t, b.now).Table },
			all("is the directory of another ledger")},
		"no directory": {func(b *book, c *digest.Config) { c.Dir = b.TempDir() }, all("make one with --new-key")},
		"no key": {func(b *book, _ *digest.Config) { b.must(os.Remove(filepath.Join(b.dir, "key"))) },
			[4]string{"no such file", fine, fine, fine}},
		"broken key":         {rewrite("key", with("x")), [4]string{"take it from a copy", fine, fine, fine}},
		"another's key":      {rewrite("key", with(theirs("key"))), [4]string{"not the key of key.pub", fine, fine, fine}},
		"broken public key":  {rewrite("key.pub", with("x")), all("take it from a copy")},
		"no public key":      {func(b *book, _ *digest.Config) { b.must(os.Remove(filepath.Join(b.dir, "key.pub"))) }, all("has no key")},
		"another public key": {rewrite("key.pub", with(theirs("key.pub"))), all("of another auditor")},
		"note by another":    {rewrite("notes/7", with(theirs("notes/7"))), all("of another auditor")},
		"altered note": {rewrite("notes/7", func(n string) string { return strings.Replace(n, "\n7\n", "\n8\n", 1) }),
			all("was altered")},
		"note cut off":   {rewrite("notes/7", func(n string) string { return n[:len(n)/2] }), all("cut off")},
		"empty note":     {rewrite("notes/7", with("")), all("cut off")},
		"renamed note":   {func(b *book, _ *digest.Config) { b.must(os.Rename(b.dir+"/notes/7", b.dir+"/notes/8")) }, all("has the size 7")},
		"no notes":       {func(b *book, _ *digest.Config) { b.must(os.Remove(b.dir + "/notes/7")) }, [4]string{fine, "run `ledger digest` first", "run `ledger digest` first", "run `ledger digest` first"}},
		"hashes cut off": {rewrite("hashes", func(h string) string { return h[:100] }), [4]string{fine, fine, "run `ledger digest` again", fine}},
		"altered hashes": {rewrite("hashes", func(h string) string { return h[:len(h)-1] + string([]byte{h[len(h)-1] ^ 1}) }), all("delete the file")},
		"first page lost": {func(b *book, _ *digest.Config) { b.rollback(0, 1) },
			[4]string{"does not begin with what was sealed: run with --check", fine, "is not what was sealed: run with --check", "run with --check"}},
		"first page and hashes lost": {func(b *book, c *digest.Config) {
			b.rollback(0, 1)
			rewrite("hashes", with(""))(b, c)
		}, [4]string{"differs from the note of 7 entries: run with --check", fine, "run `ledger digest` again", "run with --check"}},
		"last page lost": {func(b *book, _ *digest.Config) { b.rollback(2, 3) },
			[4]string{"go on with --resume", fine, "does not have TXN#t-3/TXN#t-3", "run with --check"}},
		"page altered": {func(b *book, _ *digest.Config) {
			item, _, err := b.Table.Get(b.Context(), table.Journal.Key("0", string(b.pages[1].ID)), table.Strong)
			b.must(err)
			item[table.AttrChecksum] = table.String(strings.Repeat("x", 22))
			b.put(item)
		}, all("the page was altered or moved")},
		"in use": {func(b *book, _ *digest.Config) {
			f, err := os.Open(filepath.Join(b.dir, "key.pub"))
			b.must(err)
			b.must(syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
			b.Cleanup(func() { f.Close() })
		}, all("wait until it ends")},
	} {
		b := newBook(t)
		b.run()
		config := b.config()
		c.damage(b, &config)
		commands := []func() error{
			func() error { _, err := digest.Run(t.Context(), config); return err },
			func() error { _, err := digest.Check(t.Context(), config); return err },
			func() error { _, err := digest.Prove(t.Context(), config, table.Transaction.Key("t-3")); return err },
			func() error { _, err := digest.Entries(t.Context(), config, io.Discard); return err },
		}
		before := b.files()
		for _, i := range []int{1, 2, 3, 0} { // a run, which may write, is the last
			err := commands[i]()
			if want := c.want[i]; (err == nil) != (want == fine) || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, command %d: %v", name, i, err)
			}
			after := b.files()
			if strings.Contains(name, "hashes lost") { // they are a cache
				delete(before, "hashes")
				delete(after, "hashes")
			}
			if (err != nil || i != 0) && !maps.Equal(before, after) {
				t.Errorf("%s, command %d: something was written", name, i)
			}
		}
	}
	other.must(os.Remove(filepath.Join(other.dir, "key"))) // it is elsewhere
	if err := digest.NewKey(other.dir, origin); err == nil || !strings.Contains(err.Error(), "leave out --new-key") {
		t.Errorf("the key was replaced: %v", err)
	}
}
