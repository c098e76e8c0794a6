package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"ledger.example/events"
	"ledger.example/internal/watch/proof"
)

// files writes the files of a journal of these entries, with a note of each size, and returns their folder.
func files(t *testing.T, entries []string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	private, public, err := note.GenerateKey(rand.Reader, "ledger-journal/books")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	write("key.pub", []byte(public+"\n"))
	tree, lines, hashes := &proof.Tree{}, "", []byte(nil)
	for i, e := range entries {
		for _, h := range tree.Add(tlog.RecordHash([]byte(e))) {
			hashes = append(hashes, h[:]...)
		}
		signed, err := proof.Note{Size: tree.Size, Root: tree.Root(), Page: "p"}.Sign(signer)
		if err != nil {
			t.Fatal(err)
		}
		write(fmt.Sprint("note-", i+1), signed)
		lines += fmt.Sprintf("{\"index\":%d,\"canonical\":%q}\n", i, e)
	}
	write("entries", []byte(lines))
	write("hashes", hashes)
	return dir
}

func moved(id string, at time.Time, n int64) events.TransactionPosted {
	first, second := events.FirstKSUID(at), events.LastKSUIDBefore(at.Add(time.Microsecond))
	return events.TransactionPosted{ID: id, Kind: events.KindTransfer, Fingerprint: "1:x",
		Annotation: events.Annotation{Metadata: map[string]string{}},
		Actor:      "test", Legs: []events.Leg{{ID: first, Account: "jane", Asset: "USD", Quantity: events.NewAmount(-n)},
			{ID: second, Account: "shop", Asset: "USD", Quantity: events.NewAmount(n)}}}
}

var begun = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func sample() []string {
	held := moved("h-1", begun.Add(time.Minute), 50)
	held.ExpiresAt = begun.Add(time.Hour)
	ended := events.HoldEnded{Transaction: "h-1", Outcome: events.OutcomeCaptured, Actor: "test",
		Legs: moved("h-1", begun.Add(2*time.Minute), 20).Legs}
	var all []string
	for _, e := range []events.Event{moved("t-1", begun, 7), held, ended, moved("t-1", begun, 7), // the last one is listed twice
		moved("t-2", begun.Add(time.Hour), 100)} {
		all = append(all, string(events.AppendCanonical(nil, e)))
	}
	return all
}

// proving runs a command in a folder. %s in an argument is the folder.
func proving(dir string, args ...string) (string, error) {
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "%s", dir)
	}
	var out strings.Builder
	err := run(args, &out)
	return out.String(), err
}

// The sums of a book are those of its distinct events until a time.
func TestBook(t *testing.T) {
	dir := files(t, sample())
	for asOf, want := range map[string]string{
		"2026-11-21T09:00:00Z": "jane USD -7 0\nshop USD 7 0\n", "2026-11-21T09:02:00Z": "jane USD -27 0\nshop USD 27 0\n",
		"2026-11-21T08:59:59Z": "", "2027-01-01T00:00:00Z": "jane USD -127 0\nshop USD 127 0\n",
	} {
		out, err := proving(dir, "book", "%s/entries", "%s/note-5", "--key", "%s/key.pub", "--as-of", asOf)
		if err != nil || !strings.HasPrefix(out, want+"\n") {
			t.Errorf("%s: %s, %v", asOf, out, err)
		}
	}
	out, err := proving(dir, "book", "%s/entries", "%s/note-1", "--key", "%s/key.pub", "--account", "shop")
	if err != nil || !strings.HasPrefix(out, "shop USD 7 0\n\n") {
		t.Errorf("of one account: %s, %v", out, err)
	}
}

// Entries that were altered, left out, added or exchanged are not those of the note. Two versions of an event are an
// error, even if the note has both.
func TestBookIsChecked(t *testing.T) {
	dir := files(t, sample())
	path := filepath.Join(dir, "entries")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSpace(string(whole))+"\n", "\n")
	for text, says := range map[string]string{
		strings.Replace(string(whole), `Quantity\":\"100`, `Quantity\":\"101`, 1): "not those of the note",
		strings.Replace(string(whole), `Quantity\":\"7`, `Quantity\":\"8`, 1):     "another version",
		strings.Join(lines[1:], ""):                       "out of order",
		strings.Join(lines[:4], ""):                       "breaks off after 4 of 5",
		lines[1] + lines[0] + strings.Join(lines[2:], ""): "out of order",
		"x" + string(whole):                               "breaks off after 0 of 5",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := proving(dir, "book", "%s/entries", "%s/note-5", "--key", "%s/key.pub"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("not %q: %s, %v", says, out, err)
		}
	}
	twice := files(t, append(sample(), string(events.AppendCanonical(nil, moved("t-1", begun, 8)))))
	if out, err := proving(twice, "book", "%s/entries", "%s/note-6", "--key", "%s/key.pub"); err == nil ||
		!strings.Contains(err.Error(), "another version") {
		t.Errorf("two versions: %s, %v", out, err)
	}
}

// consistency5 compares a note with that of five entries in dir, by the hashes in dir, and accepts the keys of both.
func consistency5(dir, note string) (string, error) {
	args := []string{"consistency", note, "%s/note-5", "%s/hashes", "--key", "%s/key.pub"}
	if other := filepath.Dir(note); other != dir {
		args = append(args, "--key", other+"/key.pub")
	}
	return proving(dir, args...)
}

// Two auditors compare their notes, of whatever sizes, by the hashes of one of them. A split view shows.
func TestConsistency(t *testing.T) {
	ours, theirs := files(t, sample()), files(t, sample())
	shown := sample()
	shown[3] = string(events.AppendCanonical(nil, moved("t-9", begun, 9)))
	fork := files(t, shown)
	for size := 1; size <= 5; size++ {
		for other, isSplit := range map[string]bool{ours: false, theirs: false, fork: size > 3} {
			out, err := consistency5(ours, fmt.Sprint(other, "/note-", size))
			if isSplit != (err != nil) || isSplit && !strings.Contains(err.Error(), "contradict") || !isSplit && !strings.Contains(out, "5 entries") {
				t.Errorf("size %d, split %v: %s, %v", size, isSplit, out, err)
			}
		}
	}
	if _, err := proving(ours, "consistency", "%s/note-5", "%s/note-2", "%s/hashes", "--key", "%s/key.pub"); err == nil || !strings.Contains(err.Error(), "exchange them") {
		t.Error("exchanged notes:", err)
	}
	if _, err := proving(ours, "consistency", theirs+"/note-1", "%s/note-5", "%s/hashes", "--key", "%s/key.pub"); err == nil {
		t.Error("a note of another key passes")
	}
}

// The hashes need no trust. Altered ones are no proof, nor are those that give each note its root, if one tree does not
// grow out of the other.
func TestHashesThatAreForged(t *testing.T) {
	shown := sample()
	shown[0] = string(events.AppendCanonical(nil, moved("t-9", begun, 9)))
	ours, fork := files(t, sample()), files(t, shown)
	read := func(dir string) []byte {
		hashes, err := os.ReadFile(filepath.Join(dir, "hashes"))
		if err != nil {
			t.Fatal(err)
		}
		return hashes
	}
	whole := tlog.StoredHashIndex(1, 0) * tlog.HashSize // the root of two entries is not read for that of five
	altered, forged := read(ours), read(ours)
	altered[whole]++
	copy(forged[whole:][:tlog.HashSize], read(fork)[whole:])
	for note, hashes := range map[string][]byte{ours + "/note-3": altered, fork + "/note-2": forged} {
		if err := os.WriteFile(filepath.Join(ours, "hashes"), hashes, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := consistency5(ours, note); err == nil || !strings.Contains(err.Error(), "contradict") {
			t.Errorf("%s: %s", note, out)
		}
	}
}

// A proof of inclusion passes only whole.
func TestInclusion(t *testing.T) {
	dir, all := files(t, sample()), sample()
	hashes, err := os.Open(filepath.Join(dir, "hashes"))
	if err != nil {
		t.Fatal(err)
	}
	defer hashes.Close()
	signed, err := os.ReadFile(filepath.Join(dir, "note-5"))
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range all {
		p := proof.Inclusion{Canonical: []byte(e), Index: int64(i), Signed: signed}
		if p.Path, err = tlog.ProveRecord(5, int64(i), proof.HashFile{ReaderAt: hashes}); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "proof")
		for _, c := range []struct {
			text []byte
			ok   bool
		}{{p.Text(), true}, {p.Text()[1:], false}, {[]byte(strings.Replace(string(p.Text()), "index ", "index 1", 1)), false}} {
			if err := os.WriteFile(path, c.text, 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := proving(dir, "inclusion", "%s/proof", "--key", "%s/key.pub")
			if (err == nil) != c.ok || c.ok && !strings.HasPrefix(out, e+"\n") {
				t.Errorf("entry %d: %s, %v", i, out, err)
			}
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"inclusion"}, {"inclusion", "x"}, {"book", "x", "y"}, {"nothing", "--key", "k"},
		{"inclusion", "x", "--key"}, {"inclusion", "x", "--key", "missing"}, {"--nothing"}} {
		if _, err := proving(t.TempDir(), args...); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
	if out, err := proving("", "--help"); err != nil || out != usage {
		t.Errorf("%s, %v", out, err)
	}
}

// Who checks a proof can install the command alone, read it in a quarter of an hour, and needs no SDK.
func TestInstallable(t *testing.T) {
	module, err := exec.Command("go", "mod", "edit", "-json", "../../go.mod").Output()
	if err != nil || strings.Contains(string(module), `"Replace": [`) || strings.Contains(string(module), `"Exclude": [`) {
		t.Errorf("`go install` refuses a module that replaces others: %v, %s", err, module)
	}
	text, err := os.ReadFile("main.go")
	if lines := strings.Count(string(text), "\n"); err != nil || lines > 250 {
		t.Errorf("%d lines, %v", lines, err)
	}
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), "aws") || !strings.Contains(string(out), "sumdb/tlog") {
		t.Errorf("it imports\n%s", out)
	}
}
