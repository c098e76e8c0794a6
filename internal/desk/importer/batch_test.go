package importer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"ledger.example/client"
	_ "ledger.example/tests/harness/full" // fixes the seed
)

// batches sends the commands of a batch to a book, in random order, but transfers of one limited account in theirs.
// before is called at the start of every batch.
type batches struct {
	book   *book
	before func(ctx context.Context, ids []string) error

	mu    sync.Mutex
	sizes []int
}

func (b *batches) Batch(ctx context.Context, batch client.Batch) ([]client.Outcome, error) {
	var commands []client.Command
	var ids []string
	for _, r := range batch.Requests {
		cmd, err := r.Command()
		if err != nil {
			return nil, err
		}
		commands, ids = append(commands, cmd), append(ids, cmd.ID)
	}
	b.mu.Lock()
	b.sizes = append(b.sizes, len(commands))
	order := rand.New(rand.NewPCG(1, uint64(len(b.sizes)))).Perm(len(commands))
	b.mu.Unlock()
	chains := make(map[pair][]int) // the places in order of the commands that debit a limited account
	for place, n := range order {
		if p, ok := b.book.limitedDebit(commands[n]); ok {
			chains[p] = append(chains[p], place)
		}
	}
	for _, places := range chains {
		sorted := make([]int, len(places))
		for i, place := range places {
			sorted[i] = order[place]
		}
		slices.Sort(sorted)
		for i, place := range places {
			order[place] = sorted[i]
		}
	}
	if err := b.before(ctx, ids); err != nil {
		return nil, err
	}
	outcomes := make([]client.Outcome, len(commands))
	for _, n := range order {
		outcomes[n].Written, outcomes[n].Err = b.book.Send(ctx, commands[n])
	}
	return outcomes, nil
}

// limitedDebit returns what a transfer debits, if it is limited.
func (b *book) limitedDebit(c client.Command) (pair, bool) {
	var body struct{ From, Asset string }
	_ = json.Unmarshal(c.Body, &body)
	b.mu.Lock()
	defer b.mu.Unlock()
	return pair{body.From, body.Asset}, body.From != "" && !b.accounts[body.From]
}

func newBatches(b *book) *batches {
	return &batches{book: b, before: func(context.Context, []string) error { return nil }}
}

// many returns a file of transfers that wait only for its definitions.
func many(lines int) string {
	var file strings.Builder
	file.WriteString(opening + `{"account":{"id":"mint","overdraft":"unlimited"}}` + "\n")
	for n := range lines {
		file.WriteString(transfer(fmt.Sprint("t-", n), "bank", "mint", 1, ""))
	}
	return file.String()
}

// Independent lines are sent in batches of a hundred. The lines of a batch that is refused are sent one by one.
func TestIndependentLinesAreBatched(t *testing.T) {
	const lines = 1_000
	for name, c := range map[string]struct {
		err      error
		requests int64 // at most, including those of the definitions
	}{
		"batches":                     {nil, 4 + lines/100 + 4},
		"batches that are not wanted": {refusal("batch_too_large"), 4 + lines + lines/batchFirst + 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBatches(newBook())
				b.before = func(context.Context, []string) error { return c.err }
				var singles atomic.Int64
				isInBatch := c.err == nil
				b.book.before = func(_ context.Context, cmd client.Command) error {
					if cmd.ID == "USD" {
						synctest.Wait() // until all lines are read, which wait for this one
					}
					if !isInBatch || !strings.HasPrefix(cmd.ID, "t-") {
						singles.Add(1)
					}
					return nil
				}
				counts := imports(t, b.book, b, 1, many(lines))
				if requests := singles.Load() + int64(len(b.sizes)); counts.New != lines+4 || requests > c.requests {
					t.Errorf("%d requests for %+v", requests, counts)
				}
			})
		})
	}
}

// Payments of one limited account are sent together, in their order. A line that credits it waits for those before it,
// and those after it wait for it. A hold and its end are never in one batch.
func TestPaymentsOfALimitedAccountAreBatched(t *testing.T) {
	const payments = 1_000
	var file strings.Builder
	file.WriteString(opening + `{"account":{"id":"joe"}}` + "\n")
	line := func(id, from, to string, quantity int, more string) {
		file.WriteString(transfer(id, from, to, quantity, more))
	}
	line("credit", "bank", "jane", payments, "")
	for n := range payments {
		line(fmt.Sprint("t-", n), "jane", []string{"bank", "joe"}[n%2], 1, "")
	}
	line("credit-2", "bank", "jane", 2, "")
	line("hold", "jane", "joe", 2, `,"hold":{}`)
	file.WriteString(`{"capture":{"transaction":"hold"}}` + "\n")
	synctest.Test(t, func(t *testing.T) {
		b := newBatches(newBook())
		var sent []string
		b.before = func(_ context.Context, ids []string) error {
			sent = append(sent, strings.Join(ids, " "))
			return nil
		}
		b.book.before = func(_ context.Context, cmd client.Command) error {
			if cmd.ID == "USD" {
				synctest.Wait() // until all lines are read, which wait for this one
			}
			return nil
		}
		imports(t, b.book, b, 4, file.String())
		if len(sent) > payments/client.BatchMax+5 || b.book.balances[[2]string{"jane", "USD"}] != 0 {
			t.Errorf("%d batches, balances %v", len(sent), b.book.balances)
		}
		if all := strings.Join(sent, " "); strings.Contains(all, "credit") || strings.Contains(all, "hold") {
			t.Errorf("lines that need each other were sent together: %q", sent[len(sent)-1])
		}
	})
}

// Batches become smaller on a slow store, and larger on a fast one.
func TestBatchSizeAdaptsToTheStore(t *testing.T) {
	for name, takes := range map[string]struct {
		each        time.Duration // for one line
		least, most int           // the size of most batches
	}{
		"fast":      {time.Millisecond, client.BatchMax, client.BatchMax},
		"slow":      {50 * time.Millisecond, 10, 20},
		"very slow": {2 * time.Second, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBatches(newBook())
				b.before = func(_ context.Context, ids []string) error {
					time.Sleep(time.Duration(len(ids)) * takes.each)
					return nil
				}
				imports(t, b.book, b, 1, many(1_000))
				within := 0
				for _, size := range b.sizes {
					if takes.least <= size && size <= takes.most {
						within++
					}
				}
				if within < len(b.sizes)/2 {
					t.Errorf("%d of %d batches have %d to %d lines: %v", within, len(b.sizes), takes.least, takes.most, b.sizes)
				}
			})
		})
	}
}

// If a batch gets no answer, one of its lines is reported, and no other line is sent.
func TestABatchWithoutAnAnswerEndsTheImport(t *testing.T) {
	denied, unknown := &client.DeniedError{Status: http.StatusForbidden}, &client.UnknownError{ID: "t", Err: errors.New("cut")}
	for name, c := range map[string]struct {
		whole, each error
	}{"denied": {whole: denied}, "each unknown": {each: unknown}} {
		b := newBatches(newBook())
		b.before = func(context.Context, []string) error { return c.whole }
		b.book.before = func(_ context.Context, cmd client.Command) error {
			if strings.HasPrefix(cmd.ID, "t-") {
				return errors.Join(c.whole, c.each)
			}
			return nil
		}
		var f failures
		i := New(Config{Ledger: b.book, Batches: b, Clients: 1, OnFailure: f.add})
		err := i.Run(t.Context(), strings.NewReader(many(1_000)))
		n := i.Counts()
		if err == nil || !errors.Is(err, c.whole) && !errors.Is(err, c.each) || len(f.list) != 1 || n.Failed != 1 ||
			n.CutOff >= client.BatchMax || n.New != 4 || len(b.sizes) > 1 {
			t.Errorf("%s: it ended with %v after %d batches: %+v, %d reported", name, err, len(b.sizes), n, len(f.list))
		}
	}
}

// No batch has more postings than the ledger accepts in one. Each counts as in the ledger. Lines of few postings fill a
// batch.
func TestBatchesRespectTheLimitOfPostings(t *testing.T) {
	postings := func(n int) string {
		return `"postings":[` + strings.Repeat(`,{"account":"a","asset":"USD","quantity":"1"}`, n)[1:] + `]`
	}
	kinds := []func(id string, n int) (line string, count int){
		func(id string, n int) (string, int) {
			return `{"transaction":{"id":"` + id + `",` + postings(n) + `}}`, n
		},
		func(id string, _ int) (string, int) { return `{"transfer":{"id":"` + id + `","from":"a","to":"b"}}`, 2 },
		func(id string, _ int) (string, int) {
			return `{"trade":{"id":"` + id + `","buyer":"a","seller":"b"}}`, 2
		},
		func(id string, _ int) (string, int) { return `{"trade":{"id":"` + id + `","settle":true}}`, 4 },
		func(id string, _ int) (string, int) { return `{"capture":{"transaction":"` + id + `"}}`, 4 },
		func(id string, n int) (string, int) {
			return `{"capture":{"transaction":"` + id + `",` + postings(n) + `}}`, n
		},
		func(id string, _ int) (string, int) { return `{"release":{"transaction":"` + id + `"}}`, 4 },
		func(id string, _ int) (string, int) {
			return `{"reversal":{"id":"` + id + `","transaction":"t","quantity":"1"}}`, 4
		},
		func(id string, n int) (string, int) {
			return `{"reversal":{"id":"` + id + `","transaction":"t",` + postings(n) + `}}`, n
		},
	}
	rapid.Check(t, func(t *rapid.T) {
		s, counts := newSchedule(1000), make(map[string]int)
		some := rapid.SliceOfNDistinct(rapid.IntRange(0, len(kinds)-1), 1, len(kinds), rapid.ID[int]).Draw(t, "kinds")
		total := 0
		for n := range rapid.IntRange(1, 300).Draw(t, "lines") {
			id := fmt.Sprint("t-", n)
			line, count := kinds[rapid.SampledFrom(some).Draw(t, "kind")](id, rapid.IntRange(2, 48).Draw(t, "postings"))
			c, err := parse([]byte(line))
			if err != nil || c.postings != count {
				t.Fatalf("%s counts %d, want %d, %v", line, c.postings, count, err)
			}
			counts[c.ID] = count
			total += count
			s.add(&job{command: c}, []key{{ofTransaction, c.ID}}, nil)
		}
		batches := 0
		for sent := 0; sent < len(counts); batches++ {
			jobs, postings := s.batch(s.take(), client.BatchMax), 0
			for _, j := range jobs {
				postings += counts[j.ID]
				s.finish(j)
			}
			if sent += len(jobs); postings > client.BatchPostingsMax {
				t.Fatalf("a batch of %d lines has %d postings", len(jobs), postings)
			}
		}
		if most := len(counts)/client.BatchMax + total/(client.BatchPostingsMax-48) + 1; batches > most {
			t.Fatalf("%d batches of %d lines with %d postings, want at most %d", batches, len(counts), total, most)
		}
	})
}

// Large commands are sent singly, and batches stay below the limit of the API.
func TestBatchesRespectSizeLimits(t *testing.T) {
	s := newSchedule(200)
	body := func(size int) []byte { return make([]byte, size) }
	for n := range 40 {
		size := bodyBytes
		if n%4 == 0 {
			size++
		}
		s.add(&job{command: command{Command: client.Command{Kind: client.KindTransfer, ID: fmt.Sprint(n), Body: body(size)}}}, nil, nil)
	}
	for left := 40; left > 0; {
		jobs, bytes := []*job{s.take()}, 0
		if jobs[0].mayBatch() {
			jobs = s.batch(jobs[0], client.BatchMax)
		}
		for _, j := range jobs {
			bytes += len(j.Body)
		}
		if left -= len(jobs); bytes > 1<<20 || len(jobs) > 1 && bytes > len(jobs)*bodyBytes {
			t.Fatalf("%d jobs of %d bytes are sent together", len(jobs), bytes)
		}
	}
	s.close()
	if j := s.take(); j != nil {
		t.Errorf("job %s after the end", j.ID)
	}
}
