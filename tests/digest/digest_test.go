// Package digest tests that whoever may write to the table, and computes every checksum anew, is found by an auditor.
// Only it finds a digest or a proof that a writer of the table can deceive.
package digest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
	"ledger.example/internal/watch/digest"
	"ledger.example/internal/watch/proof"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

const origin = "ledger-journal/books"

// book is a table with a journal, and an auditor's directory.
type book struct {
	*testing.T
	viewstest.Seed
	Table table.Table
	now   time.Time
	dir   string
	pages []projections.JournalPage

	tables int // copies of the table
}

// newEmptyBook returns a book without entries at a time.
func newEmptyBook(t *testing.T, at time.Time) *book {
	b := &book{T: t, now: at, dir: t.TempDir()}
	db := memdb.New(memdb.Options{Now: func() time.Time { return b.now }, Violation: func(error) {}}) // events are forged
	b.Seed = viewstest.Seed{Client: db.DynamoDB(), Name: "books"}
	_, err := dynamolocal.CreateTable(t.Context(), b.Client, b.Name)
	b.must(err)
	b.Table = table.NewTable(b.Client, b.Name)
	return b
}

// newBook returns a book with accounts and transactions, whose journal has three pages.
func newBook(t *testing.T) *book {
	b := newEmptyBook(t, viewstest.Morning)
	b.must(digest.NewKey(b.dir, origin))
	b.page(opened("jane"), opened("shop"), posted("t-1", 1))
	b.page(posted("t-2", 2), viewstest.Held("h-1", 3))
	b.page(viewstest.Ended(viewstest.Held("h-1", 3), events.OutcomeCaptured, 20, 4), posted("t-3", 5))
	return b
}

func opened(id string) events.AccountOpened {
	return events.AccountOpened{ID: id, Name: "A " + id, Actor: "test", At: viewstest.Morning}
}

func posted(id string, at int) events.TransactionPosted {
	h := viewstest.Held(id, at)
	h.ExpiresAt = time.Time{}
	return h
}

func (b *book) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// page puts events, and a page of the journal with them.
func (b *book) page(all ...events.Event) {
	b.Helper()
	b.must(b.Put(b.Context(), all...))
	b.list(all...)
}

func (b *book) list(all ...events.Event) {
	b.Helper()
	b.now = b.now.Add(time.Minute)
	p := projections.JournalPage{ID: events.FirstKSUID(b.now)}
	for _, e := range all {
		p.Entries = append(p.Entries, projections.EntryOf(e))
	}
	b.write(p)
	b.pages = append(b.pages, p)
	b.now = b.now.Add(time.Minute)
}

func (b *book) write(p projections.JournalPage) { b.put(projections.JournalForm.Item(p)) }

// forge stores an event, or deletes it, by somebody who may write to the table and computes its checksum.
func (b *book) forge(e events.Event) { b.put(table.EventItem(e)) }

func (b *book) put(item table.Item) {
	b.Helper()
	_, err := b.Table.Write(b.Context(), table.Write{Item: item})
	b.must(err)
}

func (b *book) config() digest.Config {
	return digest.Config{Table: b.Table, Dir: b.dir, Now: func() time.Time { return b.now }}
}

func (b *book) run() digest.Result {
	b.Helper()
	r, err := digest.Run(b.Context(), b.config())
	b.must(err)
	return r
}

// findings are those of a check.
func (b *book) findings() string {
	b.Helper()
	r, err := digest.Check(b.Context(), b.config())
	b.must(err)
	return strings.Join(r.Findings, "\n")
}

// files returns the contents of the directory, by path.
func (b *book) files() map[string]string {
	all := make(map[string]string)
	b.must(filepath.WalkDir(b.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(b.dir, path)
		all[name] = string(text)
		return err
	}))
	return all
}

// truncateHashes loses the cache of the tree.
func (b *book) truncateHashes() { b.must(os.Truncate(filepath.Join(b.dir, "hashes"), 0)) }

func (b *book) key() string {
	return b.files()["key.pub"]
}

// Runs go on where the last one ended. A run without new entries changes nothing. A check finds nothing.
func TestDigestGoesOn(t *testing.T) {
	b := newBook(t)
	if r := b.run(); r.Note.Size != 7 || r.New != 7 || r.Note.Page != string(b.pages[2].ID) {
		t.Fatalf("%+v", r)
	}
	before := b.files()
	if r := b.run(); r.New != 0 {
		t.Errorf("%+v", r)
	}
	if !maps.Equal(before, b.files()) {
		t.Error("a run without new entries changed the directory")
	}
	b.page(posted("t-4", 6))
	b.now = b.now.Add(-55 * time.Second) // the page is younger than the trail
	if r := b.run(); r.New != 0 {
		t.Errorf("a young page was read: %+v", r)
	}
	b.now = b.now.Add(time.Minute)
	if r := b.run(); r.Note.Size != 8 || r.New != 1 {
		t.Errorf("%+v", r)
	}
	if found := b.findings(); found != "" {
		t.Error(found)
	}
	elsewhere, key := filepath.Join(t.TempDir(), "secret"), filepath.Join(b.dir, "key")
	b.must(os.Rename(key, elsewhere))
	b.must(os.Symlink(elsewhere, key))
	b.page(posted("t-5", 7))
	b.now = b.now.Add(time.Minute)
	if r := b.run(); r.New != 1 || b.findings() != "" {
		t.Errorf("with a link to the key: %+v", r)
	}
	b.must(os.Rename(elsewhere, elsewhere+"-hidden"))
	if found := b.findings(); found != "" {
		t.Errorf("a check without the key: %s", found)
	}
	b.must(os.Rename(elsewhere+"-hidden", elsewhere))
	if mode, err := os.Stat(key); err != nil || mode.Mode().Perm() != 0o600 {
		t.Errorf("the key has the mode %v, %v", mode.Mode(), err)
	}
}

func (b *book) drop(k table.Key) {
	b.Helper()
	_, err := b.Client.DeleteItem(b.Context(), &dynamodb.DeleteItemInput{TableName: &b.Name, Key: table.KeyItem(k)})
	b.must(err)
}

// An entry without a readable event stops the run. What comes before its page is sealed.
func TestUnreadableEventStopsTheRun(t *testing.T) {
	b := newBook(t)
	b.drop(table.Transaction.Key("t-3"))
	_, err := digest.Run(t.Context(), b.config())
	if err == nil || !strings.Contains(err.Error(), "ledger verify") {
		t.Errorf("error %v", err)
	}
	b.forge(posted("t-3", 5))
	if r := b.run(); r.Note.Size != 7 || r.New != 2 {
		t.Errorf("%+v", r)
	}
}

// After a restore of the table to an earlier time, a run says so. Told to resume, it goes on from the newest note that
// still holds, and a check goes on reporting what was lost.
func TestResumeAfterARestore(t *testing.T) {
	b := newBook(t)
	b.run()
	b.page(posted("t-4", 6))
	b.run()
	b.drop(table.Transaction.Key("t-4"))
	b.drop(table.Journal.Key("0", string(b.pages[3].ID)))
	b.page(posted("t-5", 7))
	if _, err := digest.Run(t.Context(), b.config()); err == nil || !strings.Contains(err.Error(), "--resume") {
		t.Errorf("error %v", err)
	}
	c := b.config()
	c.Resume = true
	r, err := digest.Run(t.Context(), c)
	if err != nil || r.Note.Size != 8 || !slices.Equal(r.Lost, []digest.Lost{{Size: 8, File: "8.lost"}}) {
		t.Errorf("%+v, %v", r, err)
	}
	if found := b.findings(); !strings.Contains(found, "8.lost") || strings.Count(found, "\n") > 0 {
		t.Error(found)
	}
}

// What a crash wrote beyond the newest note is cut off. Hashes that are missing are computed again. A check that does
// not need the altered ones says so.
func TestHashesAreChecked(t *testing.T) {
	b := newBook(t)
	b.run()
	path, want := filepath.Join(b.dir, "hashes"), b.files()
	for name, change := range map[string]func([]byte) []byte{
		"more": func(h []byte) []byte { return append(h, make([]byte, 100)...) },
		"less": func(h []byte) []byte { return h[:64] },
		"none": func([]byte) []byte { return nil },
	} {
		b.must(os.WriteFile(path, change([]byte(want["hashes"])), 0o600))
		b.run()
		if !maps.Equal(b.files(), want) {
			t.Errorf("%s: the directory differs", name)
		}
	}
	altered := []byte(want["hashes"])
	altered[0]++ // of a leaf, which no root needs
	b.must(os.WriteFile(path, altered, 0o600))
	if found := b.findings(); found != path+": it was altered. Delete it, and run `ledger digest` again" {
		t.Errorf("found %q", found)
	}
}

// A proof shows an event, and only that.
func TestProofs(t *testing.T) {
	b := newBook(t)
	last := b.pages[2]
	b.drop(table.Journal.Key("0", string(last.ID)))
	b.run()
	older := []byte(b.files()["notes/5"]) // of which some of the proofs could be
	b.write(last)
	b.run()
	for i, k := range []table.Key{table.Account.Key("jane"), table.Account.Key("shop"), table.Transaction.Key("t-1"),
		table.Transaction.Key("t-2"), table.Transaction.Key("h-1"), table.Outcome.Key("h-1"), table.Transaction.Key("t-3")} {
		p, err := digest.Prove(t.Context(), b.config(), k)
		b.must(err)
		read, err := proof.ParseInclusion(p.Text())
		if n, check := read.Check(b.key()); err != nil || check != nil || n.Size != 7 || read.Index != int64(i) {
			t.Fatalf("%s: %+v, %v, %v", k.ID(), read, err, check)
		}
		for name, change := range map[string]func(*proof.Inclusion){
			"event": func(p *proof.Inclusion) { p.Canonical = append(slices.Clone(p.Canonical), ' ') },
			"index": func(p *proof.Inclusion) { p.Index = (p.Index + 1) % 7 },
			"hash":  func(p *proof.Inclusion) { p.Path = slices.Clone(p.Path); p.Path[0][0]++ },
			"note":  func(p *proof.Inclusion) { p.Signed = []byte(strings.Replace(string(p.Signed), "7", "8", 1)) },
			"size":  func(p *proof.Inclusion) { p.Signed = older },
			"inner": func(p *proof.Inclusion) { // two hashes offered as an event
				p.Canonical, p.Path = append(slices.Clone(p.Path[0][:]), p.Path[1][:]...), p.Path[1:]
			},
		} {
			forged := read
			if change(&forged); true {
				if _, err := forged.Check(b.key()); err == nil {
					t.Errorf("%s: an altered %s passes", k.ID(), name)
				}
			}
		}
	}
	if _, err := digest.Prove(t.Context(), b.config(), table.Transaction.Key("none")); err == nil {
		t.Error("an event that does not exist was proved")
	}
	for cut := range 60 {
		p, err := digest.Prove(t.Context(), b.config(), table.Transaction.Key("t-1"))
		b.must(err)
		text := p.Text()
		if read, err := proof.ParseInclusion(text[:len(text)*cut/60]); err == nil {
			if _, err := read.Check(b.key()); err == nil {
				t.Errorf("a proof that is cut off passes: %s", text[:len(text)*cut/60])
			}
		}
	}
}

// The entries are all those of the newest note. Each line is JSON, whatever characters the event has.
func TestEntries(t *testing.T) {
	b := newBook(t)
	odd := opened("odd")
	odd.Name = "\x7f\u0085\u2028\U000e0001<\\\""
	b.page(odd)
	b.run()
	b.page(posted("t-4", 6)) // not sealed
	var out strings.Builder
	n, err := digest.Entries(t.Context(), b.config(), &out)
	if err != nil || n.Size != 8 || strings.Count(out.String(), "\n") != 8 {
		t.Errorf("%+v, %v\n%s", n, err, out.String())
	}
	var last struct{ Canonical string }
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if err := json.Unmarshal([]byte(lines[7]), &last); err != nil || last.Canonical != string(events.AppendCanonical(nil, odd)) {
		t.Errorf("%s: %v", lines[7], err)
	}
	first := fmt.Sprintf(`{"index":0,"canonical":%q}`, events.AppendCanonical(nil, opened("jane")))
	if !strings.HasPrefix(out.String(), first+"\n") {
		t.Error(out.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := digest.Entries(ctx, b.config(), io.Discard); err == nil {
		t.Error("no error after the end of the context")
	}
}
