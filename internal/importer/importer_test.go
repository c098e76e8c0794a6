package importer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"ledger.example/client"
)

// book is a ledger in memory with the rules that matter to an import: assets and accounts must exist, a limited account
// cannot be overdrawn, and an id is used once. before is called at the start of every Send.
type book struct {
	mu       sync.Mutex
	assets   map[string]bool
	accounts map[string]bool // to unlimited
	frozen   map[string]bool
	posted   map[string]string
	balances map[[2]string]int
	moved    map[string]moved
	sent     []string // ids in the order of execution
	asked    int      // number of reads of accounts

	before func(ctx context.Context, cmd client.Command) error
}

func newBook() *book {
	return &book{assets: map[string]bool{}, accounts: map[string]bool{}, frozen: map[string]bool{}, posted: map[string]string{}, balances: map[[2]string]int{},
		moved: map[string]moved{}, before: func(context.Context, client.Command) error { return nil }}
}

// moved is a transfer: held, captured, released, posted or reversed.
type moved struct {
	from, to, asset, state string
	quantity               int
}

func (b *book) Account(_ context.Context, id string) (client.Reply[client.Account], error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	unlimited, ok := b.accounts[id]
	if !ok {
		return client.Reply[client.Account]{}, refusal("account_not_found")
	}
	a := client.Account{ID: id, Overdraft: client.Overdraft{Unlimited: unlimited}}
	return client.Reply[client.Account]{Value: a}, nil
}

func refusal(code string) error { return &client.Error{Status: 422, Code: code} }

func (b *book) Send(ctx context.Context, cmd client.Command) (client.Written, error) {
	if err := b.before(ctx, cmd); err != nil {
		return client.Written{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = append(b.sent, cmd.ID)
	used := string(cmd.Kind) + " " + cmd.ID
	if cmd.Kind == client.KindChange {
		used += string(cmd.Body)
	}
	if body, ok := b.posted[used]; ok {
		if body != string(cmd.Body) {
			return client.Written{}, refusal("transaction_id_reused")
		}
		return client.Written{}, nil
	}
	if err := b.apply(cmd); err != nil {
		return client.Written{}, err
	}
	b.posted[used] = string(cmd.Body)
	return client.Written{New: true}, nil
}

func (b *book) apply(cmd client.Command) error {
	var body struct {
		Currency        string
		Overdraft       client.Overdraft
		From, To, Asset string
		State           string
		Quantity        int `json:",string"`
		Hold            *struct{}
	}
	if err := json.Unmarshal(cmd.Body, &body); err != nil {
		return refusal("malformed_body")
	}
	switch cmd.Kind {
	case client.KindAsset:
		if body.Currency != "" && !b.assets[body.Currency] {
			return refusal("asset_not_found")
		}
		b.assets[cmd.ID] = true
	case client.KindAccount:
		b.accounts[cmd.ID] = body.Overdraft.Unlimited
	case client.KindChange:
		b.frozen[cmd.ID] = body.State == client.StateFrozen
	case client.KindCapture, client.KindRelease, client.KindReversal:
		return b.change(cmd)
	case client.KindTransfer:
		unlimited, from := b.accounts[body.From]
		_, to := b.accounts[body.To]
		have := [2]string{body.From, body.Asset}
		switch {
		case !from || !to:
			return refusal("account_not_found")
		case !b.assets[body.Asset]:
			return refusal("asset_not_found")
		case b.frozen[body.From]:
			return refusal("account_frozen")
		case !unlimited && b.balances[have] < body.Quantity:
			return refusal("insufficient_funds")
		}
		b.balances[have] -= body.Quantity
		m := moved{body.From, body.To, body.Asset, "held", body.Quantity}
		if body.Hold == nil {
			m.state = "posted"
			b.balances[[2]string{body.To, body.Asset}] += body.Quantity
		}
		b.moved[cmd.ID] = m
	}
	return nil
}

// change ends or reverses a transfer, always all of it.
func (b *book) change(cmd client.Command) error {
	m, ok := b.moved[cmd.Of]
	from, to := [2]string{m.from, m.asset}, [2]string{m.to, m.asset}
	isReversal := cmd.Kind == client.KindReversal
	switch {
	case !ok:
		return refusal("transaction_not_found")
	case !isReversal && m.state != "held":
		return refusal("hold_ended")
	case isReversal && m.state != "posted" && m.state != "captured":
		return refusal("nothing_to_reverse")
	case isReversal && !b.accounts[m.to] && b.balances[to] < m.quantity:
		return refusal("insufficient_funds")
	}
	switch cmd.Kind {
	case client.KindCapture:
		m.state = "captured"
		b.balances[to] += m.quantity
	case client.KindRelease:
		m.state = "released"
		b.balances[from] += m.quantity
	default:
		m.state = "reversed"
		b.balances[to] -= m.quantity
		b.balances[from] += m.quantity
		b.moved[cmd.ID] = moved{m.to, m.from, m.asset, "posted", m.quantity}
	}
	b.moved[cmd.Of] = m
	return nil
}

// anEarlierFile places holds of jane for ann.
func (b *book) anEarlierFile() {
	for n := range 6 {
		b.moved[fmt.Sprint("old-", n)] = moved{"jane", "ann", "USD", "held", 3 + n}
	}
}

// failures collects the failures that an import reports.
type failures struct{ list []Failure }

func (f *failures) add(one Failure) { f.list = append(f.list, one) }

func (f *failures) lines() map[int]string {
	m := make(map[int]string)
	for _, one := range f.list {
		m[one.Line] = one.Err.Error()
		var e *client.Error
		if errors.As(one.Err, &e) {
			m[one.Line] = e.Code
		}
	}
	return m
}

func run(ctx context.Context, b *book, clients int, file io.Reader) (Counts, *failures, error) {
	var f failures
	i := New(Config{Ledger: b, Clients: clients, OnFailure: f.add})
	err := i.Run(ctx, file)
	return i.Counts(), &f, err
}

// imports imports a file in which every line is good.
func imports(t *testing.T, l Ledger, together Batches, clients int, file string) Counts {
	t.Helper()
	i := New(Config{Ledger: l, Batches: together, Clients: clients, OnFailure: func(f Failure) { t.Error(f) }})
	if err := i.Run(t.Context(), strings.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	return i.Counts()
}

// transfer is the line of a transfer of USD, with more fields or none.
func transfer(id, from, to string, quantity int, more string) string {
	return fmt.Sprintf(`{"transfer":{"id":%q,"from":%q,"to":%q,"asset":"USD","quantity":"%d"%s}}`+"\n", id, from, to, quantity, more)
}

const opening = `{"asset":{"id":"USD"}}
{"account":{"id":"bank","overdraft":"unlimited"}}
{"account":{"id":"jane"}}
`

// With any concurrency, and in batches, which execute their commands in any order, the outcome is that of the lines one
// after the other. A second run replays what the first one wrote.
func TestOutcomeIsThatOfFileOrder(t *testing.T) {
	largest := 0
	rapid.Check(t, func(t *rapid.T) {
		file := drawFile(t)
		one, many := newBook(), newBook()
		one.anEarlierFile()
		many.anEarlierFile()
		wantCounts, wantFailures, err := run(context.Background(), one, 1, strings.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		var n atomic.Int64
		many.before = func(context.Context, client.Command) error {
			for range n.Add(1) % 3 * 10 {
				runtime.Gosched() // lets other lines overtake
			}
			return nil
		}
		together := newBatches(many)
		refuses := rapid.Bool().Draw(t, "a batch is refused")
		together.before = func(_ context.Context, ids []string) error {
			if len(slices.Compact(slices.Sorted(slices.Values(ids)))) != len(ids) {
				return errors.New("an id is there twice")
			}
			if refuses && len(ids)%2 == 0 {
				return &client.Error{Status: http.StatusBadRequest, Code: client.CodeMalformedBody}
			}
			return nil
		}
		c := Config{Ledger: many, Clients: rapid.IntRange(1, 16).Draw(t, "clients")}
		if rapid.Bool().Draw(t, "batches") {
			c.Batches = together
		}
		var failed failures
		c.OnFailure = failed.add
		i := New(c)
		if err := i.Run(context.Background(), strings.NewReader(file)); err != nil {
			t.Fatal(err)
		}
		counts := i.Counts()
		if counts != wantCounts || fmt.Sprint(failed.lines()) != fmt.Sprint(wantFailures.lines()) ||
			fmt.Sprint(many.balances) != fmt.Sprint(one.balances) {
			t.Fatalf("%d clients: %+v %v %v\none client: %+v %v %v\n%s", c.Clients, counts, failed.lines(), many.balances,
				wantCounts, wantFailures.lines(), one.balances, file)
		}
		again, _, err := run(context.Background(), many, c.Clients, strings.NewReader(file))
		if err != nil || again.Replayed < counts.New+counts.Replayed {
			t.Fatalf("run again: %+v after %+v, %v", again, counts, err)
		}
		largest = max(largest, slices.Max(append(together.sizes, 0)))
	})
	if largest < 2 {
		t.Error("no lines were ever sent together")
	}
}

// drawFile draws definitions and then transfers, including bad ones and duplicate ids, and their ends and reversals, and
// those of an earlier file. An asset is used only after its definition, because the outcome would depend on timing
// otherwise.
func drawFile(t *rapid.T) string {
	var b strings.Builder
	b.WriteString(`{"asset":{"id":"USD"}}` + "\n" + `{"asset":{"id":"AAPL","currency":"USD"}}` + "\n")
	accounts := []string{"bank", "mint", "jane", "joe", "ann"}
	for i, a := range accounts {
		overdraft := "null"
		if i < 2 {
			overdraft = `"unlimited"`
		}
		fmt.Fprintf(&b, `{"account":{"id":%q,"overdraft":%s}}`+"\n", a, overdraft)
	}
	for n := range rapid.IntRange(0, 60).Draw(t, "transfers") {
		parties := rapid.Permutation(append(accounts[:len(accounts):len(accounts)], "nobody")).Draw(t, "parties")
		id := rapid.SampledFrom([]int{n, n, n, n / 2}).Draw(t, "id")
		hold := rapid.SampledFrom([]string{"", "", `,"hold":{}`}).Draw(t, "hold")
		fmt.Fprintf(&b, `{"transfer":{"id":"t-%d","from":%q,"to":%q,"asset":%q,"quantity":"%d"%s}}`+"\n", id, parties[0], parties[1],
			rapid.SampledFrom([]string{"USD", "AAPL", "GOLD"}).Draw(t, "asset"), rapid.IntRange(1, 9).Draw(t, "quantity"), hold)
		for range rapid.IntRange(0, 2).Draw(t, "ends") {
			of := fmt.Sprint("t-", rapid.IntRange(max(0, n-3), n).Draw(t, "of"))
			if rapid.IntRange(0, 2).Draw(t, "earlier") == 0 {
				of = fmt.Sprint("old-", rapid.IntRange(0, 6).Draw(t, "of"))
			}
			kind := rapid.SampledFrom([]string{"capture", "release", "reversal"}).Draw(t, "kind")
			own := ""
			if kind == "reversal" {
				own = fmt.Sprintf(`,"id":"r-%d"`, b.Len())
			}
			fmt.Fprintf(&b, `{"%s":{"transaction":%q%s}}`+"\n", kind, of, own)
		}
		if rapid.IntRange(0, 9).Draw(t, "noise") == 0 {
			b.WriteString(rapid.SampledFrom([]string{"\n", "nonsense\n", "{\"transfer\":{}}\n"}).Draw(t, "line"))
		}
	}
	return b.String()
}

func TestBadLinesAreReportedAndOthersContinue(t *testing.T) {
	b := newBook()
	counts, failed, err := run(t.Context(), b, 4, strings.NewReader(opening+`
{"transfer":{"id":"t-1","from":"bank","to":"jane","asset":"USD","quantity":"5"}}
{"transfer":{"from":"bank","to":"jane","asset":"USD","quantity":"5"}}
{"transfer":{"id":"t-2","from":"jane","to":"bank","asset":"USD","quantity":"6"}}
{"transfer":{"id":"t-3","from":"jane","to":"nobody","asset":"USD","quantity":"1"}}
nonsense
`+strings.Repeat("x", maxLineBytes+1)+`
{"transfer":{"id":"t-4","from":"jane","to":"bank","asset":"USD","quantity":"5"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if counts.New != 5 || counts.Failed != 5 || counts.Replayed != 0 || b.balances[[2]string{"jane", "USD"}] != 0 {
		t.Errorf("%+v, balances %v", counts, b.balances)
	}
	got := failed.lines()
	for line, says := range map[int]string{6: "transfer.id: is missing", 7: "insufficient_funds", 8: "account_not_found", 9: "not a JSON object", 10: "longer than 1 MiB"} {
		if !strings.Contains(got[line], says) {
			t.Errorf("line %d: %q, want %q", line, got[line], says)
		}
	}
	if len(got) != 5 {
		t.Errorf("failures: %v", got)
	}
}

// An import ends after Config.Failures bad lines, malformed or refused, and sends no line after that.
func TestTooManyBadLinesEndTheImport(t *testing.T) {
	const most = 20
	for name, bad := range map[string]string{
		"unreadable": "nonsense",
		"refused":    `{"transfer":{"id":"t","from":"nobody","to":"bank","asset":"USD","quantity":"1"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			// All lines have the same id, so that they wait for each other. A line with another id could be sent in
			// between.
			file := opening + strings.Repeat(bad+"\n", 1000) +
				`{"transfer":{"id":"t","from":"bank","to":"bank","asset":"USD","quantity":"1"}}`
			for _, c := range []struct{ failures, failed, last int64 }{{most, most, 0}, {1, 1, 0}, {0, 1000, 1}} {
				b := newBook()
				var f failures
				i := New(Config{Ledger: b, Clients: 1, OnFailure: f.add, Failures: c.failures})
				err := i.Run(t.Context(), strings.NewReader(file))
				if errors.Is(err, ErrFailures) != (c.failures > 0) {
					t.Errorf("at %d: %v", c.failures, err)
				}
				_, last := b.posted["transfer t"]
				if n := i.Counts(); n.Failed != c.failed || int64(len(f.list)) != c.failed || last != (c.last == 1) {
					t.Errorf("at %d: %+v, %d reported, the last line was sent: %t", c.failures, n, len(f.list), last)
				}
			}
		})
	}
}

// slow is a ledger that answers some time after it has executed a command. ctx may end before the answer.
type slow struct{ *book }

func (s slow) Send(ctx context.Context, cmd client.Command) (client.Written, error) {
	w, err := s.book.Send(ctx, cmd)
	if err != nil {
		return w, err
	}
	select {
	case <-ctx.Done():
		return client.Written{}, ctx.Err()
	case <-time.After(time.Second):
		return w, nil
	}
}

// Lines in flight when too many bad lines end an import are finished and counted.
func TestLinesInFlightAreCounted(t *testing.T) {
	const good, most = 10, 20
	refused := `{"transfer":{"id":"t","from":"nobody","to":"bank","asset":"USD","quantity":"1"}}` + "\n"
	for name, bad := range map[string]string{
		"unreadable": "nonsense\n", "refused": refused, "denied": `{"account":{"id":"denied"}}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBook()
				b.before = func(_ context.Context, cmd client.Command) error {
					if cmd.ID == "denied" {
						return &client.DeniedError{Status: http.StatusForbidden}
					}
					return nil
				}
				var file strings.Builder
				for n := range good {
					fmt.Fprintf(&file, `{"account":{"id":"a-%d"}}`+"\n", n)
				}
				file.WriteString(strings.Repeat(bad, most))
				i := New(Config{Ledger: slow{b}, Clients: good + most, OnFailure: func(Failure) {}, Failures: most})
				err := i.Run(t.Context(), strings.NewReader(file.String()))
				if _, isDenied := errors.AsType[*client.DeniedError](err); isDenied != (name == "denied") {
					t.Errorf("it ended with %v", err)
				}
				if c := i.Counts(); err == nil || c.New != int64(len(b.posted)) || c.CutOff != 0 || c.Failed < 1 {
					t.Errorf("%v: %+v, %d lines were posted", err, c, len(b.posted))
				}
			})
		})
	}
}

// Transactions that share only unlimited accounts run concurrently.
func TestUnlimitedAccountsDoNotSerializeLines(t *testing.T) {
	const clients = 8
	for name, c := range map[string]struct {
		definitions string
		lookups     int
		takes       time.Duration // one second for each step of dependent lines
	}{
		"opened in the file": {`{"asset":{"id":"USD"}}
{"account":{"id":"a","overdraft":"unlimited"}}
{"account":{"id":"b","overdraft":"unlimited"}}
`, 0, 2 * time.Second},
		"opened long ago": {"", 2, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBook()
				b.assets["USD"], b.accounts["a"], b.accounts["b"] = true, true, true
				file := c.definitions
				for n := range clients {
					file += transfer(fmt.Sprint("t-", n), "a", "b", 1, "")
				}
				began := time.Now()
				if imports(t, slow{b}, nil, clients, file); time.Since(began) != c.takes || b.asked > c.lookups {
					t.Errorf("it took %s and %d lookups", time.Since(began), b.asked)
				}
			})
		})
	}
}

// endless is a file without an end. It counts the bytes that were read.
type endless struct {
	line []byte
	at   int
	read atomic.Int64
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.line[e.at]
		e.at = (e.at + 1) % len(e.line)
	}
	e.read.Add(int64(len(p)))
	return len(p), nil
}

// If the ledger does not answer, the import reads no further than its window.
func TestReadingAheadIsBounded(t *testing.T) {
	for name, size := range map[string]int{"short lines": 100, "long lines": 500_000} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const window = 4 << 20
				prefix := `{"account":{"id":"a","name":"`
				file := &endless{line: []byte(prefix + strings.Repeat("x", size-len(prefix)-4) + "\"}}\n")}
				ctx, cancel := context.WithCancel(t.Context())
				b := newBook()
				b.before = func(ctx context.Context, _ client.Command) error { <-ctx.Done(); return ctx.Err() }
				i := newImport(Config{Ledger: b, Clients: 2, OnFailure: func(f Failure) { t.Error(f) }}, window)
				done := make(chan error)
				go func() { done <- i.Run(ctx, file) }()
				synctest.Wait()
				want := int64(window) / max(int64(size), minLineWeight) * int64(size)
				if read := file.read.Load(); read < want || read > want+int64(2*size)+maxLineBytes {
					t.Errorf("it read %d bytes, want about %d", read, want)
				}
				cancel()
				if err := <-done; !errors.Is(err, context.Canceled) {
					t.Errorf("it ended with %v", err)
				}
				if c := i.Counts(); c.Lines() != 0 || c.CutOff != 1 {
					t.Errorf("one line was cut off and none finished: %+v", c)
				}
			})
		})
	}
}

// The memory of an import does not grow with the length of the file.
func TestFinishedLinesAreFreed(t *testing.T) {
	var file strings.Builder
	file.WriteString(opening)
	for n := range 2_000 {
		file.WriteString(transfer(fmt.Sprint("t-", n), "bank", "jane", 1, ""))
	}
	i := New(Config{Ledger: newBook(), Clients: 4, OnFailure: func(f Failure) { t.Error(f) }})
	if err := i.Run(t.Context(), strings.NewReader(file.String())); err != nil {
		t.Fatal(err)
	}
	if n := len(i.schedule.last); n != 0 {
		t.Errorf("%d keys are kept", n)
	}
	for n := range policiesMax + 1 {
		i.cache(fmt.Sprint(n), true)
	}
	if n := len(i.policies); n > policiesMax {
		t.Errorf("%d policies are kept", n)
	}
}

// A line without an answer ends the import, because the client has already retried it. A refusal is an answer.
func TestALineWithoutAnAnswerEndsTheImport(t *testing.T) {
	file := opening + strings.Repeat(`{"account":{"id":"a"}}`+"\n", 1000)
	for _, c := range []struct {
		err  error
		most int64 // lines that are sent
	}{
		{&client.UnknownError{ID: "a", Err: &client.Error{Status: 504, Code: "outcome_unknown"}}, 4},
		{&client.Error{Status: 503, Code: "throttled"}, 4},
		{&client.UnreachableError{Err: errors.New("refused")}, 4},
		{&client.DeniedError{Status: http.StatusForbidden}, 4},
		{refusal("invalid_request"), 1003},
	} {
		b := newBook()
		var sent atomic.Int64
		b.before = func(context.Context, client.Command) error { sent.Add(1); return c.err }
		_, _, err := run(t.Context(), b, 2, strings.NewReader(file))
		if isRefusal := c.most > 4; isRefusal != (err == nil) || err != nil && !errors.Is(err, c.err) || sent.Load() > c.most || isRefusal && sent.Load() < c.most {
			t.Errorf("%v: it ended with %v after %d lines", c.err, err, sent.Load())
		}
	}
}

// An account that the file does not open is read only when a line would have to wait for another line because of it.
func TestAccountsAreReadOnlyWhenLinesConflict(t *testing.T) {
	b := newBook()
	b.assets["USD"] = true
	var file strings.Builder
	for n := range 100 {
		b.accounts[fmt.Sprint("from-", n)], b.accounts[fmt.Sprint("to-", n)] = true, false
		file.WriteString(transfer(fmt.Sprint("t-", n), fmt.Sprint("from-", n), fmt.Sprint("to-", n), 1, ""))
	}
	if counts := imports(t, b, nil, 4, file.String()); counts.New != 100 || b.asked != 0 {
		t.Errorf("%+v, %d look-ups", counts, b.asked)
	}
}

// A change of an account runs after all earlier lines and before all later ones.
func TestChangesWaitForEarlierLines(t *testing.T) {
	var text strings.Builder
	text.WriteString(opening)
	for n := range 50 {
		text.WriteString(transfer(fmt.Sprint("t-", n), "bank", "jane", 1, ""))
	}
	text.WriteString(`{"change":{"id":"bank","state":"frozen"}}` + "\n" + `{"change":{"id":"jane","state":"closed"}}` + "\n")
	var mu sync.Mutex
	var sent []string
	b := newBook()
	b.before = func(_ context.Context, cmd client.Command) error {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, string(cmd.Kind))
		return nil
	}
	imports(t, b, nil, 8, text.String())
	if len(sent) != 55 || slices.Index(sent, string(client.KindChange)) != 53 {
		t.Errorf("%d sent: %q", len(sent), sent)
	}
}

// After a bad line, no change of an account is tried, because it may refuse what the corrected file still posts. A run
// of the corrected file does the rest.
func TestChangesAreNotTriedAfterABadLine(t *testing.T) {
	good := `{"transfer":{"id":"t-1","from":"bank","to":"jane","asset":"USD","quantity":"5"}}` + "\n"
	file := func(bad string) io.Reader {
		return strings.NewReader(opening + `{"change":{"id":"bank","name":"Bank"}}` + "\n" + bad +
			`{"transfer":{"id":"t-2","from":"bank","to":"jane","asset":"USD","quantity":"6"}}
{"change":{"id":"bank","state":"frozen"}}
{"change":{"id":"jane","state":"frozen"}}
`)
	}
	for name, bad := range map[string]string{"unreadable": "nonsense\n", "refused": strings.ReplaceAll(good, "USD", "EUR")} {
		b := newBook()
		counts, failed, err := run(t.Context(), b, 4, file(bad))
		if err != nil || counts != (Counts{New: 5, Failed: 1, NotTried: 2, Bytes: counts.Bytes}) || counts.Lines() != 8 {
			t.Errorf("%s: %+v, %v", name, counts, err)
		}
		if said := failed.lines(); len(said) != 2 || said[7] != "not tried: 1 line before failed" {
			t.Errorf("%s: reported %v", name, said)
		}
		counts, failed, err = run(t.Context(), b, 4, file(good))
		if err != nil || counts != (Counts{New: 3, Replayed: 5, Bytes: counts.Bytes}) {
			t.Errorf("%s: corrected: %+v, %v, %v", name, counts, failed.lines(), err)
		}
	}
}

// Transactions of one instant that share an account are posted in the order of the file, also if no account is limited.
func TestOrderOfOneInstant(t *testing.T) {
	var file strings.Builder
	file.WriteString(`{"asset":{"id":"USD"}}` + "\n")
	for _, a := range []string{"bank", "mint", "shop"} {
		fmt.Fprintf(&file, `{"account":{"id":%q,"overdraft":"unlimited"}}`+"\n", a)
	}
	offset := []string{"T12:00:00Z", "T12:00:00.000000+00:00", "T14:00:00.0000001+02:00"}
	for n := range 30 {
		at := `,"effective_at":"2026-11-21` + offset[n%3] + `"`
		file.WriteString(transfer(fmt.Sprintf("same-%02d", n), "bank", []string{"mint", "shop"}[n%2], 1, at))
		at = fmt.Sprintf(`,"effective_at":"2026-11-21T12:00:%02dZ"`, n)
		file.WriteString(transfer(fmt.Sprint("other-", n), "bank", "mint", 1, at))
	}
	b := newBook()
	var started atomic.Int64
	b.before = func(context.Context, client.Command) error {
		for range started.Add(1) % 5 * 20 {
			runtime.Gosched()
		}
		return nil
	}
	if counts := imports(t, b, nil, 16, file.String()); counts.New != 64 {
		t.Fatal(counts)
	}
	same := slices.DeleteFunc(slices.Clone(b.sent), func(id string) bool { return !strings.HasPrefix(id, "same") })
	if !slices.IsSorted(same) {
		t.Errorf("posted in the order %q", same)
	}
}
