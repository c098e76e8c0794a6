package redrive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// world is a store, and a table that decorates it.
type world struct {
	*viewstest.Store
	t     *testing.T
	table *hooked
}

// hooked is a viewstest.Hooked in which the look-up of records may fail, or not find some items.
type hooked struct {
	viewstest.Hooked
	lookUp error
	gone   map[table.Key]bool
	late   map[table.Key]bool // not found once
}

// BatchGet implements table.Table.
func (h *hooked) BatchGet(ctx context.Context, keys []table.Key, c table.Consistency) (
	[]table.Item, time.Time, error,
) {
	if h.lookUp != nil {
		return nil, time.Time{}, h.lookUp
	}
	keys = slices.DeleteFunc(slices.Clone(keys), func(k table.Key) bool {
		late := h.late[k]
		delete(h.late, k)
		return late || h.gone[k]
	})
	return h.Hooked.BatchGet(ctx, keys, c)
}

func newWorld(t *testing.T) *world {
	s := viewstest.NewStore(t, time.Now)
	return &world{Store: s, t: t, table: &hooked{
		Hooked: viewstest.Hooked{Table: s.Table}, gone: make(map[table.Key]bool),
	}}
}

// post puts n settled postings of quantity 1, and returns their keys.
func (w *world) post(account, asset string, n int) (keys []table.Key) {
	w.t.Helper()
	from := time.Now().Add(-time.Hour)
	for i := range n {
		id := events.FirstKSUID(from.Add(time.Duration(i) * time.Millisecond))
		posting := projections.Posting{ID: id, Figures: events.Figures{Quantity: events.NewAmount(1)}}
		if err := w.Post(w.t.Context(), events.Pair{Account: account, Asset: asset}, posting); err != nil {
			w.t.Fatal(err)
		}
		keys = append(keys, table.Posting.Key(account, asset, string(id)))
	}
	return keys
}

func (w *world) grant(account, user string) table.Key {
	w.t.Helper()
	if err := w.Grant(w.t.Context(),
		projections.Membership{Account: account, User: user, Role: events.RoleViewer, Number: 1}); err != nil {
		w.t.Fatal(err)
	}
	return table.Grant.Key(account, user, 1)
}

// run is a run over files, with the calls of its callbacks.
type run struct {
	*Run
	problems, behind []string
}

func (w *world) run(batch int, change func(*Config)) *run {
	r := &run{}
	c := Config{
		Table:     w.table,
		Open:      func(_ context.Context, name string) (io.ReadCloser, error) { return os.Open(name) },
		OnProblem: func(at Place, err error) { r.problems = append(r.problems, at.String()+": "+err.Error()) },
		OnRefold:  func(p projections.Target) { r.behind = append(r.behind, p.String()) },
		List:      func(context.Context, []projections.Record) (string, error) { return "", nil },
	}
	if change != nil {
		change(&c)
	}
	r.Run = New(c)
	if batch > 0 {
		r.maxKeys = batch
	}
	return r
}

// ran is run, to the end of a file.
func (w *world) ran(batch int, name string, change func(*Config)) *run {
	w.t.Helper()
	r := w.run(batch, change)
	if err := r.Run.Run(w.t.Context(), []string{name}); err != nil {
		w.t.Fatal(err)
	}
	return r
}

// wantPostings fails the test unless a balance counts n postings.
func (w *world) wantPostings(account, asset string, n int64) {
	w.t.Helper()
	b, _, err := w.Balance(w.t.Context(), events.Pair{Account: account, Asset: asset})
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

// A long file is processed in batches. A balance that is named in several batches, or by several runs, is updated once.
func TestRunIsIdempotent(t *testing.T) {
	for _, batch := range []int{1, 3, 1000} {
		w := newWorld(t)
		usd, eur, other := w.post("jane", "USD", 7), w.post("jane", "EUR", 2), w.post("joe", "USD", 250)
		member := w.grant("jane", "u-17")
		own := table.Balance.Key("jane", "USD")
		name := file(t, line(usd[0], eur[1], own), line(other...), line(usd[0]), line(usd[3:]...), line(member, member))
		for i := range 3 {
			dry := i == 0
			w.Requests()
			r := w.ran(batch, name, func(c *Config) { c.DryRun = dry })
			requests, n := w.Requests(), r.Counts()
			if wrote := requests.Writes() > 0; wrote && dry {
				t.Errorf("a dry run wrote: %+v", requests)
			}
			if i == 2 && (requests.Writes() > 0 || n.Refolded > 0) {
				t.Errorf("the second run wrote again: %+v, %+v", requests, n)
			}
			if n.Files != 1 || n.Records != 3+250+1+4+2 || n.Skipped != 1 || n.Failed > 0 ||
				n.Balances != n.Refolded+n.Counted {
				t.Errorf("batches of %d, run %d: %+v, %q", batch, i, n, r.problems)
			}
			if batch == 1000 && (n.Balances != 3 || n.Views["memberships"] != 1 || i < 2 && n.Refolded != 3) {
				t.Errorf("run %d: %+v", i, n)
			}
			slices.Sort(r.behind)
			if got := slices.Compact(r.behind); i < 2 &&
				!slices.Equal(got, []string{"jane EUR", "jane USD", "joe USD"}) {
				t.Errorf("run %d, batches of %d: behind were %q", i, batch, got)
			}
		}
		// A refold also counts postings that no dead letter names.
		w.wantPostings("jane", "USD", 7)
		w.wantPostings("jane", "EUR", 2)
		w.wantPostings("joe", "USD", 250)
		if m, err := w.Membership(t.Context(), "jane", "u-17"); err != nil || m.Number != 1 {
			t.Errorf("membership: %+v, %v", m, err)
		}
	}
}

func TestRunReportsProblemsAndContinues(t *testing.T) {
	w := newWorld(t)
	usd, poison, gone, partly := w.post("jane", "USD", 2), w.post("jane", "BAD", 1), w.post("joe", "USD", 2),
		w.post("joe", "EUR", 2)
	for _, k := range append(gone, partly[1]) {
		w.table.gone[k] = true
	}
	w.table.BeforeBalance = func(k events.Pair) error {
		if k.Asset == "BAD" {
			return errors.New("an item that cannot be decoded")
		}
		return nil
	}
	name := file(t, line(poison...), line(gone[0], gone[1], gone[0]), line(usd[0])[:500], line(usd[1]), line(partly...),
		line(table.Grant.Key("jane", "u-17", 1)))
	r := w.ran(0, name, nil)
	slices.Sort(r.problems)
	want := []string{
		name + ":1, record 1: jane BAD: read balance: an item that cannot be decoded",
		name + ":2, record 1: joe USD: items of 2 of its 2 records are " + ErrNotInTable.Error(),
		name + ":3: " + ErrCutOff.Error(),
		name + ":5, record 2: joe EUR: items of 1 of its 2 records are " + ErrNotInTable.Error(),
		name + ":6, record 1: jane, member u-17: items of 1 of its 1 records are " + ErrNotInTable.Error(),
	}
	if !slices.Equal(r.problems, want) {
		t.Errorf("problems\n%s\nwant\n%s", strings.Join(r.problems, "\n"), strings.Join(want, "\n"))
	}
	if n := r.Counts(); n.Failed != 5 || n.Balances != 4 || n.Refolded != 2 || n.Counted != 0 || n.Views["memberships"] != 0 {
		t.Errorf("%+v", n)
	}
	w.wantPostings("jane", "USD", 2)
}

// Redrive lists headers and ends of holds in batches of one journal page. It reports those that are not in the table, and
// those that the lister could only log: events that cannot be read.
func TestTransactionsAreListed(t *testing.T) {
	w := newWorld(t)
	usd := w.post("jane", "USD", 1)
	var keys []table.Key
	put := func(e events.Event) {
		if err := w.Put(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, table.EventKey(e))
	}
	for i := range 150 {
		put(viewstest.Held(fmt.Sprint("t-", i), 1))
	}
	put(viewstest.Ended(viewstest.Held("t-0", 1), events.OutcomeReleased, 0, 2))
	unreadable, moved := table.Transaction.Key("unreadable"), table.EventItem(viewstest.Held("elsewhere", 1))
	maps.Copy(moved, table.KeyItem(table.Transaction.Key("moved")))
	for _, item := range []table.Item{table.KeyItem(unreadable), moved} {
		if _, err := w.Table.Write(t.Context(), table.Write{Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	gone := table.Transaction.Key("gone")
	name := file(t, line(append(keys, usd[0])...), line(keys[0], gone), line(unreadable, table.ItemKey(moved)))
	for _, dry := range []bool{true, false} {
		listed := make(map[table.Key]int)
		r := w.ran(0, name, func(c *Config) {
			c.DryRun = dry
			c.List = func(_ context.Context, batch []projections.Record) (string, error) {
				if len(batch) > 100 {
					t.Errorf("%d records at once", len(batch))
				}
				for _, record := range batch {
					listed[table.Key{PK: record.PK, SK: record.SK}]++
				}
				return "", nil
			}
		})
		want := map[bool]int{true: 0, false: len(keys)}[dry]
		if n := r.Counts(); n.Listed != int64(len(keys)) || n.Balances != 1 || n.Failed != 3 || n.Skipped != 0 ||
			n.Views["memberships"] != 0 || len(listed) != want || listed[gone] > 0 {
			t.Errorf("dry %t: %+v, %d listed, %q", dry, n, len(listed), r.problems)
		}
	}
}

// An error that affects every balance ends the run, instead of being reported for each.
func TestRunEndsWhenTheStoreIsUnavailable(t *testing.T) {
	w := newWorld(t)
	name := file(t, line(w.post("jane", "USD", 1)...), line(w.post("joe", "USD", 1)...))
	w.table.BeforeBalance = func(events.Pair) error { return table.ErrUnavailable }
	r := w.run(0, nil)
	if err := r.Run.Run(t.Context(), []string{name}); !errors.Is(err, table.ErrUnavailable) || len(r.problems) > 0 {
		t.Errorf("%v, problems %q", err, r.problems)
	}
	w.table.lookUp = errors.New("refused")
	r = w.run(1, nil)
	if err := r.Run.Run(t.Context(), []string{name}); !errors.Is(err, w.table.lookUp) || len(r.problems) > 0 {
		t.Errorf("%v, problems %q", err, r.problems)
	}
}

func TestInterruptedRunIsResumed(t *testing.T) {
	w := newWorld(t)
	var lines []string
	for i := range 50 {
		lines = append(lines, line(w.post(fmt.Sprintf("a%d", i), "USD", 3)...))
	}
	name := file(t, lines...)
	ctx, interrupt := context.WithCancel(t.Context())
	var done atomic.Int32
	r := w.run(30, func(c *Config) {
		c.OnRefold = func(projections.Target) {
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
	if n := w.ran(0, name, nil).Counts(); n.Refolded != 50-first.Refolded {
		t.Errorf("%+v after %+v", n, first)
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
		if err := os.WriteFile(filepath.Join(below, fmt.Sprintf("2026-11-21T09.26.3%d-c1", i)), []byte(object),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	links := t.TempDir()
	for name, target := range map[string]string{"all": dir, "dangling": filepath.Join(dir, "nothing"),
		"one": filepath.Join(below, "2026-11-21T09.26.30-c1")} {
		if err := os.Symlink(target, filepath.Join(links, name)); err != nil {
			t.Fatal(err)
		}
	}
	input := eventOf(w.post("piped", "USD", 1)...)
	r := w.run(0, func(c *Config) {
		c.Open = func(_ context.Context, name string) (io.ReadCloser, error) {
			if name == Stdin {
				return io.NopCloser(strings.NewReader(input)), nil
			}
			return os.Open(name)
		}
	})
	names, err := Files([]string{filepath.Join(links, "all"), Stdin, links})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Run.Run(t.Context(), names); err != nil {
		t.Fatal(err)
	}
	slices.Sort(r.problems)
	if n := r.Counts(); n.Files != 6 || n.Refolded != 4 || n.Failed != 2 || len(r.problems) != 2 ||
		!strings.HasPrefix(r.problems[0], filepath.Join(links, "all")+": ") ||
		!strings.HasPrefix(r.problems[1], filepath.Join(links, "dangling")+": ") {
		t.Errorf("%+v, problems %q", n, r.problems)
	}
	gone := filepath.Join(dir, "gone")
	if _, err := Files([]string{dir, gone}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// A balance whose item was lost, but not its segments, is rebuilt together with the account's summary. A dry run only
// reports it.
func TestRedriveRebuildsALostBalance(t *testing.T) {
	w := newWorld(t)
	keys := w.post("jane", "USD", 300)
	name := file(t, line(keys...))
	do := func(dry bool) Counts {
		t.Helper()
		r := w.ran(0, name, func(c *Config) { c.DryRun = dry })
		if len(r.problems) > 0 {
			t.Fatalf("problems %q", r.problems)
		}
		return r.Counts()
	}
	do(false)
	k := events.Pair{Account: "jane", Asset: "USD"}
	if len(w.AllSegments(k)) != 1 {
		t.Fatalf("%d segments", len(w.AllSegments(k)))
	}
	w.Damage().LoseBalance(k)
	w.Requests()
	if n := do(true); n.Refolded != 1 {
		t.Errorf("dry: %+v", n)
	}
	if r := w.Requests(); r.Writes() > 0 {
		t.Errorf("a dry run wrote: %+v", r)
	}
	do(false)
	w.wantPostings("jane", "USD", 300)
	if s, err := w.Summary(t.Context(), "jane"); err != nil || s.Assets != 1 || s.Holdings != 1 {
		t.Errorf("summary %+v, %v", s, err)
	}
}

// The header of a hold may become visible after the hold's posting.
func TestRedriveWaitsForTheHeaderOfAHold(t *testing.T) {
	w := newWorld(t)
	h := viewstest.Held("h", 1)
	postings := h.Postings()
	if err := w.Put(t.Context(), h, postings[0], postings[1]); err != nil {
		t.Fatal(err)
	}
	w.table.late = map[table.Key]bool{table.Transaction.Key(h.ID): true}
	r := w.ran(0, file(t, line(table.EventKey(postings[0]))), nil)
	if len(r.problems) > 0 || len(w.table.late) > 0 {
		t.Fatalf("problems %q, %v", r.problems, w.table.late)
	}
	page, err := projections.NewLists(w.Table).HoldsOf(t.Context(), "jane", "", projections.Slice{Limit: 10})
	if err != nil || len(page.Items) != 1 {
		t.Errorf("%+v, %v", page, err)
	}
}
