package redrive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// world is a table in memory with what was set aside of it.
type world struct {
	*viewstest.Memory
	t    *testing.T
	here map[table.Key]bool
	// balance stands in front of reading balances; nil lets them through.
	balance func(projections.Key) error
}

func newWorld(t *testing.T) *world {
	return &world{Memory: viewstest.NewMemory(), t: t, here: make(map[table.Key]bool)}
}

// Balance implements projections.Views.
func (w *world) Balance(ctx context.Context, k projections.Key) (projections.Balance, time.Time, error) {
	if w.balance != nil {
		if err := w.balance(k); err != nil {
			return projections.Balance{}, time.Time{}, err
		}
	}
	return w.Memory.Balance(ctx, k)
}

// post puts n postings of 1, settled long ago, and returns their keys.
func (w *world) post(account, asset string, n int) (keys []table.Key) {
	w.t.Helper()
	from := time.Now().Add(-time.Hour)
	for i := range n {
		id := events.FirstKSUID(from.Add(time.Duration(i) * time.Millisecond))
		posting := projections.Posting{ID: id, Quantity: events.NewAmount(1)}
		if err := w.Post(w.t.Context(), projections.Key{Account: account, Asset: asset}, posting); err != nil {
			w.t.Fatal(err)
		}
		keys = append(keys, table.PostingKey(account, asset, string(id)))
	}
	for _, k := range keys {
		w.here[k] = true
	}
	return keys
}

func (w *world) grant(account, user string) table.Key {
	w.t.Helper()
	if err := w.Grant(w.t.Context(), projections.Membership{Account: account, User: user, Role: events.RoleViewer, Number: 1}); err != nil {
		w.t.Fatal(err)
	}
	k := table.GrantKey(account, user, 1)
	w.here[k] = true
	return k
}

// run is a run over files of the machine, and what it told.
type run struct {
	*Run
	problems, behind []string
}

func (w *world) run(change func(*Config)) *run {
	r := &run{}
	c := Config{
		Views: w,
		Present: func(_ context.Context, keys []table.Key) (present []table.Key, err error) {
			if len(keys) > min(presenceKeys, r.batch) {
				return nil, fmt.Errorf("%d keys at once", len(keys))
			}
			return slices.DeleteFunc(slices.Clone(keys), func(k table.Key) bool { return !w.here[k] }), nil
		},
		Open:      func(_ context.Context, name string) (io.ReadCloser, error) { return os.Open(name) },
		OnProblem: func(at Place, err error) { r.problems = append(r.problems, at.String()+": "+err.Error()) },
		OnRefold:  func(p Pair) { r.behind = append(r.behind, p.String()) },
	}
	if change != nil {
		change(&c)
	}
	r.Run = New(c)
	return r
}

// wantPostings fails the test unless a balance counts n postings.
func (w *world) wantPostings(account, asset string, n int64) {
	w.t.Helper()
	b, _, err := w.Memory.Balance(w.t.Context(), projections.Key{Account: account, Asset: asset})
	if err != nil || b.Head.Count != n {
		w.t.Errorf("%s %s counts %d postings, %v; want %d", account, asset, b.Head.Count, err, n)
	}
}

// file writes lines to a file, and returns its name.
func file(t *testing.T, lines ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "aside.jsonl")
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func line(keys ...table.Key) string { return strings.ReplaceAll(object(keys...), "\n", " ") }

// A file of any length is worked through in pieces, and a pair that comes in several is done again without harm.
func TestEverythingIsDoneOnce(t *testing.T) {
	for _, batch := range []int{1, 3, 1000} {
		w := newWorld(t)
		usd, eur, other := w.post("jane", "USD", 7), w.post("jane", "EUR", 2), w.post("joe", "USD", 250)
		member := w.grant("jane", "u-17")
		own := table.BalanceKey("jane", "USD")
		name := file(t, line(usd[0], eur[1], own), line(other...), line(usd[0]), line(usd[3:]...), line(member, member))
		for i := range 3 {
			dry := i == 0
			w.Requests()
			r := w.run(func(c *Config) { c.batch, c.DryRun = batch, dry })
			if err := r.Run.Run(t.Context(), []string{name}); err != nil {
				t.Fatal(err)
			}
			requests, n := w.Requests(), r.Counts()
			if wrote := requests.Writes > 0 || requests.Memberships > 0; wrote && dry {
				t.Errorf("a dry run wrote: %+v", requests)
			}
			if i == 2 && (requests.Writes > 0 || n.Refolded > 0) {
				t.Errorf("it was not done once: %+v, %+v", requests, n)
			}
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			if n.Files != 1 || n.Records != 3+250+1+4+2 || n.Skipped != 1 || n.Failed > 0 || n.Pairs != n.Refolded+n.Counted || n.Bytes != info.Size() {
				t.Errorf("batches of %d, run %d: %+v, %q", batch, i, n, r.problems)
			}
			if batch == 1000 && (n.Pairs != 3 || n.Memberships != 1 || i < 2 && n.Refolded != 3) {
				t.Errorf("run %d: %+v", i, n)
			}
			slices.Sort(r.behind)
			if got := slices.Compact(r.behind); i < 2 && !slices.Equal(got, []string{"jane EUR", "jane USD", "joe USD"}) {
				t.Errorf("run %d, batches of %d: behind were %q", i, batch, got)
			}
		}
		// A refold finds what was never set aside, too.
		w.wantPostings("jane", "USD", 7)
		w.wantPostings("jane", "EUR", 2)
		w.wantPostings("joe", "USD", 250)
		if m, err := w.Membership(t.Context(), "jane", "u-17"); err != nil || m.Number != 1 {
			t.Errorf("membership: %+v, %v", m, err)
		}
	}
}

func TestWhatCannotBeDoneIsToldAndTheRestGoesOn(t *testing.T) {
	w := newWorld(t)
	usd, poison, gone, partly := w.post("jane", "USD", 2), w.post("jane", "BAD", 1), w.post("joe", "USD", 2), w.post("joe", "EUR", 2)
	for _, k := range append(gone, partly[1]) {
		delete(w.here, k) // the record of an item that this table does not hold
	}
	w.balance = func(k projections.Key) error {
		if k.Asset == "BAD" {
			return errors.New("an item that cannot be decoded")
		}
		return nil
	}
	name := file(t, line(poison...), line(gone[0], gone[1], gone[0]), line(usd[0])[:500], line(usd[1]), line(partly...), line(table.GrantKey("jane", "u-17", 1)))
	r := w.run(nil)
	if err := r.Run.Run(t.Context(), []string{name}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(r.problems)
	want := []string{
		name + ":1, record 1: jane BAD: read balance: an item that cannot be decoded",
		name + ":2, record 1: joe USD: 2 of its 2 records are " + ErrNotInTable.Error(),
		name + ":3: " + ErrCutOff.Error(),
		name + ":5, record 2: joe EUR: 1 of its 2 records are " + ErrNotInTable.Error(),
		name + ":6, record 1: jane, member u-17: 1 of its 1 records are " + ErrNotInTable.Error(),
	}
	if !slices.Equal(r.problems, want) {
		t.Errorf("problems\n%s\nwant\n%s", strings.Join(r.problems, "\n"), strings.Join(want, "\n"))
	}
	if n := r.Counts(); n.Failed != 5 || n.Pairs != 4 || n.Refolded != 2 || n.Counted != 0 || n.Memberships != 0 {
		t.Errorf("%+v", n)
	}
	w.wantPostings("jane", "USD", 2)
}

// What befalls every pair ends the run: a table that cannot be reached is no reason to name each of its balances.
func TestARunEndsWhenItIsNotServed(t *testing.T) {
	w := newWorld(t)
	name := file(t, line(w.post("jane", "USD", 1)...), line(w.post("joe", "USD", 1)...))
	w.balance = func(projections.Key) error { return table.ErrUnavailable }
	r := w.run(nil)
	if err := r.Run.Run(t.Context(), []string{name}); !errors.Is(err, table.ErrUnavailable) || len(r.problems) > 0 {
		t.Errorf("%v, problems %q", err, r.problems)
	}
	refused := errors.New("refused")
	r = w.run(func(c *Config) {
		c.batch = 1
		c.Present = func(context.Context, []table.Key) ([]table.Key, error) { return nil, refused }
	})
	if err := r.Run.Run(t.Context(), []string{name}); !errors.Is(err, refused) || len(r.problems) > 0 {
		t.Errorf("%v, problems %q", err, r.problems)
	}
}

func TestARunThatIsInterruptedIsGoneOnWith(t *testing.T) {
	w := newWorld(t)
	var lines []string
	for i := range 50 {
		lines = append(lines, line(w.post(fmt.Sprintf("a%d", i), "USD", 3)...))
	}
	name := file(t, lines...)
	ctx, interrupt := context.WithCancel(t.Context())
	var done atomic.Int32
	r := w.run(func(c *Config) {
		c.batch = 30
		c.OnRefold = func(Pair) {
			if done.Add(1) == 15 {
				interrupt()
			}
		}
	})
	if err := r.Run.Run(ctx, []string{name}); !errors.Is(err, context.Canceled) || r.Counts().Failed > 0 {
		t.Errorf("%v, %+v, problems %q", err, r.Counts(), r.problems)
	}
	first := r.Counts()
	if first.Refolded == 50 {
		t.Error("it was not interrupted")
	}
	r = w.run(nil)
	if err := r.Run.Run(t.Context(), []string{name}); err != nil || r.Counts().Refolded != 50-first.Refolded {
		t.Errorf("%v, %+v after %+v", err, r.Counts(), first)
	}
}

func TestAFileOfWhatIsNotOurs(t *testing.T) {
	name := file(t, line(table.BalanceKey("jane", "USD")), line(table.TransactionKey("t-1")), line(table.SpendKey("jane", "USD")))
	r := newWorld(t).run(nil)
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Run.Run(t.Context(), []string{name}); err != nil || r.Counts() != (Counts{Files: 1, Records: 3, Skipped: 3, Bytes: info.Size()}) {
		t.Errorf("%v, %+v", err, r.Counts())
	}
}

func TestFilesAndDirectories(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	below := filepath.Join(dir, "aws/lambda/0b1c/shardId-1/2026/11/21")
	if err := os.MkdirAll(below, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		object := object(w.post(fmt.Sprintf("a%d", i), "USD", 1)...)
		if err := os.WriteFile(filepath.Join(below, fmt.Sprintf("2026-11-21T09.26.3%d-c1", i)), []byte(object), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	links := t.TempDir()
	for name, target := range map[string]string{"all": dir, "dangling": filepath.Join(dir, "nothing"), "one": filepath.Join(below, "2026-11-21T09.26.30-c1")} {
		if err := os.Symlink(target, filepath.Join(links, name)); err != nil {
			t.Fatal(err)
		}
	}
	input := eventOf(w.post("piped", "USD", 1)...)
	r := w.run(func(c *Config) {
		c.Open = func(_ context.Context, name string) (io.ReadCloser, error) {
			if name == Stdin {
				return io.NopCloser(strings.NewReader(input)), nil
			}
			return os.Open(name)
		}
	})
	names := []string{filepath.Join(links, "all"), Stdin, links}
	if err := r.Run.Run(t.Context(), names); err != nil {
		t.Fatal(err)
	}
	slices.Sort(r.problems)
	if n := r.Counts(); n.Files != 5 || n.Refolded != 4 || n.Failed != 2 || len(r.problems) != 2 ||
		!strings.HasPrefix(r.problems[0], filepath.Join(links, "all")+": a link") || !strings.HasPrefix(r.problems[1], filepath.Join(links, "dangling")+": ") {
		t.Errorf("%+v, problems %q", n, r.problems)
	}
	if size, err := Size(t.Context(), names); size != -1 || err != nil {
		t.Errorf("with standard input, the size is %d, %v", size, err)
	}
	if size, err := Size(t.Context(), []string{dir}); size < 3*1000 || err != nil {
		t.Errorf("the size is %d, %v", size, err)
	}
	gone := filepath.Join(dir, "gone")
	if _, err := Size(t.Context(), []string{dir, gone}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the size of what isn't there: %v", err)
	}
}
