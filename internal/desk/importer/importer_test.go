package importer

import (
	"context"
	"errors"
	"fmt"
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

// Transactions that share only unlimited accounts run concurrently. An account that the file does not open is read only
// when a line would have to wait for another line because of it.
func TestUnlimitedAccountsDoNotSerializeLines(t *testing.T) {
	const clients = 8
	for name, c := range map[string]struct {
		definitions string
		from, to    string // a number in it is that of the line
		lookups     int
		takes       time.Duration // one second for each step of dependent lines
	}{
		"opened in the file": {`{"asset":{"id":"USD"}}
{"account":{"id":"a","overdraft":"unlimited"}}
{"account":{"id":"b","overdraft":"unlimited"}}
`, "a", "b", 0, 2 * time.Second},
		"opened long ago": {"", "a", "b", 2, time.Second},
		"nothing shared":  {"", "from-%d", "to-%d", 0, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBook()
				b.assets["USD"], b.accounts["a"], b.accounts["b"] = true, true, true
				file := c.definitions
				for n := range clients {
					from, to := strings.ReplaceAll(c.from, "%d", fmt.Sprint(n)), strings.ReplaceAll(c.to, "%d", fmt.Sprint(n))
					b.accounts[from], b.accounts[to] = true, to == "b"
					file += transfer(fmt.Sprint("t-", n), from, to, 1, "")
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
	for n := range 100 {
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
