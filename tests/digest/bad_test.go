package digest

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ledger.example/internal/digest"
	"ledger.example/internal/store"
)

// A directory or a journal that is not the right one ends each command with an error that says what to do, and nothing
// is written.
func TestBadInput(t *testing.T) {
	const fine = "" // no error
	all := func(want string) [4]string { return [4]string{want, want, want, want} }
	rewrite := func(name string, change func(string) string) func(*book, *digest.Config) {
		return func(b *book, _ *digest.Config) {
			path := filepath.Join(b.dir, name)
			b.must(os.WriteFile(path, []byte(change(b.files()[path])), 0o600))
		}
	}
	with := func(text string) func(string) string { return func(string) string { return text } }
	other := newBook(t)
	other.run()
	theirs := func(name string) string { return other.files()[filepath.Join(other.dir, name)] }
	for name, c := range map[string]struct {
		damage func(*book, *digest.Config)
		want   [4]string // errors of a run, a check, a proof and of entries
	}{
		"another ledger": {func(_ *book, c *digest.Config) { c.Origin = "ledger-journal/others" },
			all("give its own directory")},
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
			item, _, err := b.Table.Get(b.Context(), store.Journal.Key(string(b.pages[1].ID)), store.Strong)
			b.must(err)
			item[store.AttrChecksum] = store.String(strings.Repeat("x", 22))
			b.put(item)
		}, all("the page was altered or moved")},
		"in use": {func(b *book, _ *digest.Config) {
			f, err := os.Open(filepath.Join(b.dir, "key.pub"))
			b.must(err)
			b.must(syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
			b.Cleanup(func() { f.Close() })
		}, all("wait until it ends")},
	} {
		for i, command := range []func(*book, digest.Config) error{
			func(b *book, c digest.Config) error { _, err := digest.Run(b.Context(), c); return err },
			func(b *book, c digest.Config) error { _, err := digest.Check(b.Context(), c); return err },
			func(b *book, c digest.Config) error {
				_, err := digest.Prove(b.Context(), c, store.Transaction.Key("t-3"))
				return err
			},
			func(b *book, c digest.Config) error { _, err := digest.Entries(b.Context(), c, io.Discard); return err },
		} {
			b := newBook(t)
			b.run()
			config := b.config()
			c.damage(b, &config)
			before := b.files()
			err := command(b, config)
			if want := c.want[i]; (err == nil) != (want == fine) || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, command %d: %v", name, i, err)
			}
			after := b.files()
			if strings.Contains(name, "hashes lost") { // they are a cache
				delete(before, filepath.Join(b.dir, "hashes"))
				delete(after, filepath.Join(b.dir, "hashes"))
			}
			if err != nil && !maps.Equal(before, after) {
				t.Errorf("%s, command %d: something was written", name, i)
			}
		}
	}
	other.must(os.Remove(filepath.Join(other.dir, "key"))) // it is elsewhere
	if err := digest.NewKey(other.dir, origin); err == nil || !strings.Contains(err.Error(), "leave out --new-key") {
		t.Errorf("the key was replaced: %v", err)
	}
}
