package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/durable"
)

// growing is a ledger whose journal is visible up to an entry. Its cursors are its name and a number of entries.
type growing struct {
	name    string
	journal []client.JournalEntry
	visible int

	mu    sync.Mutex // pages are read ahead
	page  func() int // entries on the next page
	fails int        // requests until one fails; -1: never

	accounts     map[string]client.Account
	assets       map[string]client.Asset
	transactions map[string]client.Transaction
}

var errAway = errors.New("away")

func (g *growing) ledger() Ledger {
	return Ledger{
		Journal: func(_ context.Context, after string) (client.JournalPage, error) {
			g.mu.Lock()
			defer g.mu.Unlock()
			if g.fails >= 0 {
				g.fails--
			}
			if g.fails == 0 {
				return client.JournalPage{}, errAway
			}
			name, number, _ := strings.Cut(after, "/")
			n, _ := strconv.Atoi(number)
			if after != "" && name != g.name {
				return client.JournalPage{}, &client.Error{Status: 400, Code: "invalid_cursor"}
			}
			end := min(g.visible, n+g.page())
			return client.JournalPage{Data: g.journal[n:end], NextCursor: fmt.Sprint(g.name, "/", end)}, nil
		},
		Asset: func(_ context.Context, id string) (client.Reply[client.Asset], error) {
			return client.Reply[client.Asset]{Value: g.assets[id]}, nil
		},
		Opening: func(_ context.Context, id string) (client.Account, error) { return g.accounts[id], nil },
		Transaction: func(_ context.Context, id string) (client.Reply[client.Transaction], error) {
			return client.Reply[client.Transaction]{Value: g.transactions[id]}, nil
		},
	}
}

// grown draws a ledger: everything happens, and the journal lists it a bit out of order, and repeats any of it later.
func grown(t *rapid.T) *growing {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "pages"), 0))
	g := &growing{name: "a", fails: -1, page: func() int { return 1 + random.IntN(5) },
		accounts: make(map[string]client.Account), assets: make(map[string]client.Asset), transactions: make(map[string]client.Transaction)}
	var happened []client.JournalEntry
	add := func(kind, id string, data any) {
		text, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		happened = append(happened, client.JournalEntry{ID: id, Type: kind, Data: text})
	}
	for _, id := range []string{"USD", "usd", "AAPL", "Usd"} {
		a := client.Asset{ID: id, Name: "the " + id, Scale: len(id) - 2}
		if id == "AAPL" {
			a.Currency = "usd"
		}
		g.assets[id] = a
		add(events.TypeAssetRegistered, id, a)
	}
	for n := range 4 {
		a := client.Account{ID: fmt.Sprint("acc:", n), Name: fmt.Sprint("Number ", n), Version: 1}
		g.accounts[a.ID] = a
		add(events.TypeAccountOpened, a.ID, a)
	}
	assets, accounts := slices.Sorted(maps.Keys(g.assets)), slices.Sorted(maps.Keys(g.accounts))
	var posted []string
	for n := range rapid.IntRange(1, 25).Draw(t, "transactions") {
		one := client.Transaction{ID: fmt.Sprint("t", n), Kind: "transfer", Status: client.StatusPosted}
		one.Description = "A; \"b\""
		at := time.Date(2026, 11, 28, 12, 0, rapid.IntRange(0, 4).Draw(t, "second"), 0, time.UTC)
		one.PostedAt, one.RecordedAt = events.FormatTime(at), events.FormatTime(at)
		from := rapid.IntRange(0, 3).Draw(t, "from")
		asset, quantity := rapid.SampledFrom(assets).Draw(t, "asset"), events.NewAmount(int64(1+n))
		leg := fmt.Sprintf("k%d-%d", rapid.IntRange(0, 9).Draw(t, "ksuid"), n)
		one.Postings = []client.Posting{
			{PostedLegOf: client.PostedLeg{ID: leg, Account: accounts[from], Asset: asset, Quantity: quantity.Neg()}},
			{PostedLegOf: client.PostedLeg{ID: leg + "x", Account: accounts[(from+1)%4], Asset: asset, Quantity: quantity}},
		}
		if asset == "AAPL" {
			one.Postings[0].Cost, one.Postings[1].Cost = quantity.Neg(), quantity
		}
		if len(posted) > 0 && rapid.IntRange(0, 4).Draw(t, "reversal") == 0 {
			of := g.transactions[rapid.SampledFrom(posted).Draw(t, "of")]
			one.Reverses, one.Kind = of.ID, "reversal"
			if at, ksuid := max(one.PostedAt, of.PostedAt), max(leg, of.Postings[0].ID+"r"); at != one.PostedAt || ksuid != leg {
				one.PostedAt, one.RecordedAt = at, at // a reversal is not before what it reverses, and has a later KSUID
				one.Postings[0].ID, one.Postings[1].ID = ksuid, ksuid+"x"
			}
		}
		g.transactions[one.ID] = one
		switch end := rapid.SampledFrom([]string{"", "", "", events.TypeCaptured, events.TypeReleased, events.TypeHeld}).Draw(t, "end"); end {
		case "":
			posted = append(posted, one.ID)
			add(events.TypePosted, one.ID, one)
		default:
			held := one
			held.Status, held.ExpiresAt = client.StatusHeld, "2026-12-01T00:00:00.000000Z"
			add(events.TypeHeld, one.ID, held)
			if end == events.TypeReleased {
				held.Status = client.StatusReleased
				add(end, one.ID+"/end", held)
			} else if end == events.TypeCaptured {
				held.Status, held.EndedAt, held.Captured = client.StatusCaptured, one.PostedAt, held.Postings
				posted = append(posted, one.ID)
				add(end, one.ID+"/end", held)
			}
			g.transactions[one.ID] = held
		}
	}
	for n := range rapid.IntRange(0, len(happened)).Draw(t, "swaps") {
		i := (n * 7) % len(happened)
		j := min(len(happened)-1, i+rapid.IntRange(1, 6).Draw(t, "late"))
		happened[i], happened[j] = happened[j], happened[i]
	}
	g.journal = happened
	for range rapid.IntRange(0, 12).Draw(t, "repeats") {
		i := rapid.IntRange(0, len(g.journal)-1).Draw(t, "repeated")
		j := rapid.IntRange(i, len(g.journal)).Draw(t, "again")
		g.journal = slices.Insert(slices.Clone(g.journal), j, g.journal[i])
	}
	return g
}

// A file that was continued any number of times is the one that a whole export writes, byte for byte: in whichever
// order the journal lists events, whatever it repeats, and wherever an export failed or crashed.
func TestContinuedIsWhole(t *testing.T) {
	window := waitingMax
	t.Cleanup(func() { waitingMax = window })
	parent, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		waitingMax = rapid.SampledFrom([]int{0, 1, 3, 10, window}).Draw(t, "window")
		g := grown(t)
		format := rapid.SampledFrom([]string{"csv", "hledger", "beancount"}).Draw(t, "format")
		c := Config{Format: format, Ledger: g.ledger()}
		n++
		dir := filepath.Join(parent, fmt.Sprint(n))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "books")
		total := int64(0)
		for step := 0; g.visible < len(g.journal) || step < 2; step++ {
			g.visible = min(len(g.journal), g.visible+rapid.IntRange(0, 15).Draw(t, "more"))
			var whole bytes.Buffer
			want, err := Run(t.Context(), c, &whole)
			if err != nil {
				t.Fatal(err)
			}
			if step > 0 && crash(t, c, g, path) {
				total = want.Transactions
			}
			f, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			got, anew, err := f.Continue(t.Context(), c)
			if err != nil || (anew != "") != (step == 0) {
				t.Fatalf("step %d: %q, %v", step, anew, err)
			}
			if text := content(t, path); text != whole.String() {
				t.Fatalf("step %d, continued:\n%s\nwhole:\n%s", step, text, whole.String())
			}
			if got.Transactions != want.Transactions || got.Postings != want.Postings || got.Added != want.Transactions-total {
				t.Fatalf("step %d: %+v, want %+v after %d", step, got, want, total)
			}
			total = want.Transactions
			names, _ := filepath.Glob(filepath.Join(dir, "*"))
			if len(names) != 2 {
				t.Fatalf("step %d leaves %q", step, names)
			}
		}
	})
}

func content(t interface{ Fatal(...any) }, path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// crash leaves what an export leaves that ended at some point. isDone is set if the file has it all.
func crash(t *rapid.T, c Config, g *growing, path string) (isDone bool) {
	put := func(suffix, text string) {
		if err := os.WriteFile(path+suffix, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file, old := content(t, path), content(t, path+stateSuffix)
	run := func(isWhole bool) error {
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if isWhole {
			_, err = f.Write(t.Context(), c)
		} else {
			_, _, err = f.Continue(t.Context(), c)
		}
		return err
	}
	isWhole := rapid.Bool().Draw(t, "whole")
	switch rapid.IntRange(0, 5).Draw(t, "crash") {
	case 0: // in the middle of both files
		put(unfinished, "half")
		put(stateSuffix+unfinished, `{"format":`)
	case 1: // an error of the ledger, after which nothing is left
		g.fails = rapid.IntRange(1, 3).Draw(t, "request")
		err := run(isWhole)
		if isDone = err == nil; err != nil && (!errors.Is(err, errAway) || content(t, path) != file || content(t, path+stateSuffix) != old) {
			t.Fatalf("%v: the file changed", err)
		}
		g.mu.Lock()
		g.fails = -1
		g.mu.Unlock()
	case 2, 3, 4:
		if err := run(isWhole); err != nil {
			t.Fatal(err)
		}
		newFile, newState := content(t, path), content(t, path+stateSuffix)
		isDone = true
		switch rapid.IntRange(0, 2).Draw(t, "point") {
		case 0: // before the file is renamed
			put(unfinished, newFile)
			put("", file)
			put(stateSuffix, old)
			put(stateSuffix+unfinished, newState)
			isDone = false
		case 1: // before the state is renamed
			put(stateSuffix, old)
			put(stateSuffix+unfinished, newState)
		case 2: // somebody appended something
			put("", newFile+"half a row")
		}
	}
	return isDone
}

// ofVersion0 returns a state as another version of the program would have written it.
func ofVersion0(t *testing.T, text string) string {
	line, _, _ := strings.Cut(text, "\n")
	s := read[state](t, line)
	s.Version--
	other, err := s.text()
	if err != nil {
		t.Fatal(err)
	}
	return string(other)
}

// A file that was cut or altered, that is of another ledger, or that has another format stays as it is. One of another
// version, and one that is gone, are exported anew. JSON lines are whole only.
func TestRefusedFiles(t *testing.T) {
	g := one(t)
	other := &growing{name: "b", fails: -1, page: g.page, journal: g.journal, visible: 1, assets: g.assets, accounts: g.accounts}
	for name, c := range map[string]struct {
		alter        func(file, state string) (string, string)
		ledger       *growing
		format, says string
		anew         string
	}{
		"cut":               {func(f, s string) (string, string) { return f[:len(f)-1], s }, g, "csv", "cut or altered", ""},
		"altered":           {func(f, s string) (string, string) { return strings.Replace(f, "1", "2", 1), s }, g, "csv", "cut or altered", ""},
		"with another row":  {func(f, s string) (string, string) { return "row\n" + f, s }, g, "csv", "cut or altered", ""},
		"of another ledger": {func(f, s string) (string, string) { return f, s }, other, "csv", "of another ledger", ""},
		"an altered state":  {func(f, s string) (string, string) { return f, s[:len(s)/2] }, g, "csv", "is not the state", ""},
		"without state":     {func(f, _ string) (string, string) { return f, "" }, g, "csv", "has no books.csv.state", ""},
		"in another format": {func(f, s string) (string, string) { return f, s }, g, "hledger", "has the format csv", ""},
		"JSON lines":        {func(f, s string) (string, string) { return f, s }, g, "jsonl", "always exported whole", ""},
		"of another version": {func(f, s string) (string, string) { return f, ofVersion0(t, s) }, g, "csv", "",
			"another version"},
		"of another ledger and version": {func(f, s string) (string, string) { return f, ofVersion0(t, s) }, other, "csv", "of another ledger", ""},
		"without state or format":       {func(f, _ string) (string, string) { return f, "" }, g, "", "has no books.csv.state", ""},
		"gone":                          {func(string, string) (string, string) { return "", "" }, g, "csv", "", "does not exist"},
	} {
		path := filepath.Join(t.TempDir(), "books.csv")
		export := func(g *growing, format string, isContinued bool) (anew string, err error) {
			f, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if !isContinued {
				_, err := f.Write(t.Context(), Config{Ledger: g.ledger(), Format: format})
				return "", err
			}
			_, anew, err = f.Continue(t.Context(), Config{Ledger: g.ledger(), Format: format})
			return anew, err
		}
		if _, err := export(g, "csv", false); err != nil {
			t.Fatal(err)
		}
		whole := content(t, path)
		file, state := c.alter(whole, content(t, path+stateSuffix))
		for suffix, text := range map[string]string{"": file, stateSuffix: state} {
			err := os.WriteFile(path+suffix, []byte(text), 0o600)
			if text == "" {
				err = os.Remove(path + suffix)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		anew, err := export(c.ledger, c.format, true)
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) || content(t, path) != file {
				t.Errorf("%s: %v, %q", name, err, anew)
			}
			continue
		}
		if err != nil || content(t, path) != whole || !strings.Contains(anew, c.anew) || anew == "" {
			t.Errorf("%s: %q, %v", name, anew, err)
		}
	}
}

// one is a ledger with one transaction.
func one(t *testing.T) *growing {
	g := &growing{name: "a", fails: -1, page: func() int { return 100 }, assets: map[string]client.Asset{"USD": {ID: "USD", Name: "Dollar", Scale: 2}},
		accounts: map[string]client.Account{"a": {ID: "a"}, "b": {ID: "b"}}, visible: 1}
	g.journal = []client.JournalEntry{read[client.JournalEntry](t, `{"type":"transaction.posted","data":{"id":"t","kind":"transfer","status":"posted",
		"posted_at":"2026-11-21T00:00:00.000000Z","postings":[{"id":"k1","account":"a","asset":"USD","quantity":"1","cost":"0"},
		{"id":"k2","account":"b","asset":"USD","quantity":"-1","cost":"0"}]}}`)}
	return g
}

// opened opens a file, which export then writes or continues.
func opened(t *testing.T, path string) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// While a file is continued, from the comparison with its state on, no other export replaces it: the rest of one format
// would follow the beginning of another.
func TestOneExportAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "books")
	c := Config{Ledger: one(t).ledger(), Format: "csv"}
	if _, err := opened(t, path).Write(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	whole, journal, others := content(t, path), c.Ledger.Journal, 0
	c.Ledger.Journal = func(ctx context.Context, after string) (client.JournalPage, error) {
		for _, isContinued := range []bool{false, true} {
			other, err := Config{Ledger: one(t).ledger(), Format: "hledger"}, error(nil)
			if isContinued {
				_, _, err = opened(t, path).Continue(ctx, other)
			} else {
				_, err = opened(t, path).Write(ctx, other)
			}
			if !errors.Is(err, durable.ErrInUse) {
				t.Errorf("another export meanwhile: %v", err)
			}
			others++
		}
		return journal(ctx, after)
	}
	if _, _, err := opened(t, path).Continue(t.Context(), c); err != nil || others == 0 {
		t.Errorf("%d others, %v", others, err)
	}
	if content(t, path) != whole {
		t.Errorf("the file became:\n%s", content(t, path))
	}
}

// Without a format, a file is continued in its own, whatever an export in another format left when it crashed.
func TestFormatOfTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "books")
	c := Config{Ledger: one(t).ledger()}
	var left string
	for _, c.Format = range []string{"hledger", "csv"} {
		if _, err := opened(t, path).Write(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if left == "" {
			left = content(t, path+stateSuffix)
		}
	}
	if err := os.WriteFile(path+stateSuffix+unfinished, []byte(left), 0o600); err != nil {
		t.Fatal(err)
	}
	whole := content(t, path)
	c.Format = ""
	if _, anew, err := opened(t, path).Continue(t.Context(), c); err != nil || anew != "" || content(t, path) != whole {
		t.Errorf("%q, %v:\n%s", anew, err, content(t, path))
	}
}

// Text that somebody appended is not removed in silence.
func TestAppendedTextIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "books")
	c := Config{Ledger: one(t).ledger(), Format: "csv"}
	if _, err := opened(t, path).Write(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	whole := content(t, path)
	if err := os.WriteFile(path, []byte(whole+"my row\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} {
		r, _, err := opened(t, path).Continue(t.Context(), c)
		if err != nil || content(t, path) != whole || len(r.Notes) != want || want > 0 && !strings.Contains(r.Notes[0], "7 bytes") {
			t.Errorf("%q, %v", r.Notes, err)
		}
	}
}

// A state of which any byte was altered, or that was cut, is refused.
func TestDamagedState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "books")
	c := Config{Ledger: one(t).ledger(), Format: "csv"}
	if _, err := opened(t, path).Write(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	whole, state := content(t, path), content(t, path+stateSuffix)
	damaged := make(map[string]bool)
	for i := range state {
		damaged[state[:i]], damaged[state[:i]+string(state[i]^1)+state[i+1:]] = true, true
	}
	for text := range damaged {
		if err := os.WriteFile(path+stateSuffix, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := opened(t, path).Continue(t.Context(), c); !errors.Is(err, errAltered) || content(t, path) != whole {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A file keeps its permissions, and a link its name. JSON lines have no state. What is no file is refused.
func TestFilesStayWhatTheyAre(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "books"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(path, []byte("old"), 0o640), os.Symlink(path, link)); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"csv", "jsonl"} {
		f, err := Open(link)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(t.Context(), Config{Ledger: sample(t), Format: format}); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if to, _ := os.Readlink(link); err != nil || info.Mode() != 0o640 || to != path {
			t.Errorf("%s: %v, %s, %v", format, info.Mode(), to, err)
		}
		if _, err := os.Stat(path + stateSuffix); (err == nil) != (format == "csv") {
			t.Errorf("%s: the state: %v", format, err)
		}
	}
	for _, name := range []string{os.DevNull, dir} {
		if _, err := Open(name); !errors.Is(err, durable.ErrNoFile) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
