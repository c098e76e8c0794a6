package cost

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"ledger.example/client"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/system"
)

// A batch of backdated requests reads the newest closing once, and a batch without them not at all.
func TestBatchReadsTheNewestClosingOnce(t *testing.T) {
	t.Parallel()
	s := system.New(t)
	s.OpenRegister()
	for _, more := range []string{"", `,"atomic":true`} {
		for _, date := range []string{"", `"effective_at":"2020-01-31T12:00:00Z",`} {
			requests := system.Promptly(t, func(try int) []system.Request {
				body, _ := batchOf(fmt.Sprintf("b-%d-%d-%d", len(more), len(date), try), 30)
				body = strings.ReplaceAll(body, `{"transfer":{`, `{"transfer":{`+date)
				s.Requests.Take()
				r := s.Send("POST", "/v1/batches", strings.TrimSuffix(body, "}")+more+"}")
				if r.Status > 201 || strings.Contains(string(r.Body), "error") {
					t.Fatalf("%d %s", r.Status, r.Body)
				}
				return s.Requests.Take()
			})
			reads := 0
			for _, line := range system.Lines(requests) {
				if strings.Contains(line, "PK = PERIODS") {
					reads++
				}
			}
			if reads != min(1, len(date)) {
				t.Errorf("%q %q: %d reads of PERIODS in %q", date, more, reads, system.Lines(requests))
			}
		}
	}
}

// batchOf returns the body of a batch of n transfers between two unlimited accounts, and the body of each transfer
// alone. Their ids begin with a prefix.
func batchOf(prefix string, n int) (body string, each []string) {
	var requests []string
	for i := range n {
		transfer := fmt.Sprintf(`{"id":"%s-%d","from":"bank","to":"market","asset":"USD","quantity":"%d"}`, prefix, i,
			i+1)
		each = append(each, transfer)
		requests = append(requests, `{"transfer":`+transfer+`}`)
	}
	return `{"requests":[` + strings.Join(requests, ",") + `]}`, each
}

// A batch sends one write for each of its requests, and one lookup for all of them.
func TestBatchWritesWhatItsRequestsWrite(t *testing.T) {
	t.Parallel()
	s := system.New(t)
	s.OpenRegister()
	requests := system.Promptly(t, func(try int) []system.Request {
		cold := s.NewProcess()
		body, _ := batchOf(fmt.Sprint("b-", try), ledger.BatchMax)
		cold.Must(200, "POST", "/v1/batches", body)
		return cold.Requests.Take()
	})
	counts := make(map[string]int)
	for _, r := range requests {
		counts[r.Operation]++
	}
	if counts["TransactWriteItems"] != ledger.BatchMax || counts["BatchGetItem"] != 1 || len(counts) != 2 {
		t.Errorf("a batch of %d took %v", ledger.BatchMax, counts)
	}
}

// A batch of more than ledger.BatchPostingsMax postings is refused as a whole before anything is read, whoever sends it.
// A hundred settled trades or ends pass. What is refused by itself does not count.
func TestPostingsOfABatchAreBounded(t *testing.T) {
	t.Parallel()
	if client.BatchPostingsMax != ledger.BatchPostingsMax {
		t.Error("package client has another limit")
	}
	s := openRoles(t)
	postings := func(n int) string {
		legs := fmt.Sprintf(`{"account":"bank","asset":"USD","quantity":"-%d"}`, n-1)
		return `"postings":[` + legs + strings.Repeat(`,{"account":"market","asset":"USD","quantity":"1"}`, n-1) + `]`
	}
	part := func(n int) string { return `"postings":[` + strings.Repeat(`,{"quantity":"1"}`, n)[1:] + `]` }
	const trade = `"asset":"AAPL","buyer":"jane","seller":"market","quantity":"1","cost":"1"`
	for name, c := range map[string]struct {
		one  string // %d is its number
		most int    // that pass, besides the limit for requests
	}{
		"transactions of 48":     {`{"transaction":{"id":"a-%d",` + postings(48) + `}}`, 8},
		"transactions of 5":      {`{"transaction":{"id":"b-%d",` + postings(5) + `}}`, 80},
		"transfers":              {`{"transfer":{"id":"c-%d","from":"bank","to":"market","asset":"USD","quantity":"1"}}`, 100},
		"trades":                 {`{"trade":{"id":"d-%d",` + trade + `}}`, 100},
		"settled trades":         {`{"trade":{"id":"e-%d","settle":true,` + trade + `}}`, 100},
		"captures":               {`{"capture":{"transaction":"f-%d"}}`, 100},
		"captures of a quantity": {`{"capture":{"transaction":"g-%d","quantity":"1"}}`, 100},
		"captures of postings":   {`{"capture":{"transaction":"h-%d",` + part(48) + `}}`, 8},
		"releases":               {`{"release":{"transaction":"i-%d"}}`, 100},
		"reversals":              {`{"reversal":{"id":"j-%d","transaction":"x-%[1]d"}}`, 100},
		"reversals of postings":  {`{"reversal":{"id":"k-%d","transaction":"x-%[1]d",` + part(40) + `}}`, 10},
		"too many for one":       {`{"transaction":{"id":"l-%d",` + postings(49) + `}}`, 100},
	} {
		send := func(n int, more, query string, headers ...string) (caller.Reply, int) {
			var requests []string
			for i := range n {
				requests = append(requests, fmt.Sprintf(c.one, i))
			}
			cold, body := s.NewProcess(), `{"requests":[`+strings.Join(requests, ",")+`]`+more+`}`
			r := cold.Send("POST", "/v1/batches"+query, body, headers...)
			return r, len(cold.Requests.Take())
		}
		if r, _ := send(min(c.most, ledger.BatchMax), "", "?dry_run=true"); r.Status != 200 {
			t.Errorf("%d %s: %d %s", c.most, name, r.Status, r.Body)
		}
		if c.most == ledger.BatchMax {
			continue
		}
		for _, more := range []string{"", `,"atomic":true`} {
			for _, user := range [][]string{nil, {"Ledger-User", "ann"}} {
				for _, query := range []string{"", "?dry_run=true"} {
					r, requests := send(c.most+1, more, query, user...)
					if r.Status != 422 || r.Code() != "batch_too_large" || fmt.Sprint(r.Fields()) != "[requests]" || requests > 0 {
						t.Errorf("%d %s%s%s: %d %s by %d requests to the table", c.most+1, name, more, query, r.Status, r.Body, requests)
					}
				}
			}
		}
	}
}

// BenchmarkBatch posts a hundred transfers, alternately in a hundred requests and in one batch. The store is in memory,
// without and with a latency like that of a network. It reports the ratios of the elapsed times, and of the processor
// times of the whole process: caller, HTTP, ledger and store.
func BenchmarkBatch(b *testing.B) {
	for _, latency := range []time.Duration{0, 5 * time.Millisecond} {
		b.Run(latency.String(), func(b *testing.B) { benchmarkBatch(b, latency) })
	}
}

func benchmarkBatch(b *testing.B, latency time.Duration) {
	s := system.New(b,
		system.Client(table.Observe("Latency", func(context.Context, any, any, error) { time.Sleep(latency) })))
	s.OpenRegister()
	var alone, together timeSpent
	for n := 0; b.Loop(); n++ {
		_, each := batchOf(fmt.Sprintf("alone-%d", n), ledger.BatchMax)
		body, _ := batchOf(fmt.Sprintf("together-%d", n), ledger.BatchMax)
		alone.measure(func() {
			for _, transfer := range each {
				s.Must(201, "POST", "/v1/transfers", transfer)
			}
		})
		together.measure(func() { s.Must(200, "POST", "/v1/batches", body) })
		s.Requests.Take() // frees memory
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(alone.wall.Seconds()/together.wall.Seconds(), "times")
	b.ReportMetric(alone.processor.Seconds()/together.processor.Seconds(), "processor-times")
	b.ReportMetric(1000*together.wall.Seconds()/float64(b.N), "ms/batch")
	b.ReportMetric(1000*together.processor.Seconds()/float64(b.N), "processor-ms/batch")
}

// BenchmarkHotSpender has eight callers. They post debits of an account each, then of one account, then of that account in
// batches of 33. The accounts have a limit, and enough funds. It reports the rates, and the ratio to the rate before.
func BenchmarkHotSpender(b *testing.B) {
	b.Run("memory", func(b *testing.B) { benchmarkHotSpender(b, system.New(b)) })
	b.Run("DynamoDB Local", func(b *testing.B) { benchmarkHotSpender(b, system.New(b, system.On(system.Local(b)))) })
}

const (
	hotCallers = 8
	together   = 33 // debits that are written together
)

func benchmarkHotSpender(b *testing.B, s *system.System) {
	s.OpenRegister()
	for n := range hotCallers {
		s.Must(201, "PUT", fmt.Sprint("/v1/accounts/payer-", n), `{"name":"Payer"}`)
		s.Must(201, "POST", "/v1/transfers",
			fmt.Sprintf(`{"id":"fund-%d","from":"bank","to":"payer-%d","asset":"USD","quantity":"1000000000"}`, n, n))
	}
	s.DeliverAll()
	debit := func(id string, payer int) string {
		return fmt.Sprintf(`{"id":"%s","from":"payer-%d","to":"market","asset":"USD","quantity":"1"}`, id, payer)
	}
	var spread, hot, batches timeSpent
	measure := func(spent *timeSpent, post func(caller int)) {
		spent.measure(func() {
			var callers sync.WaitGroup
			for caller := range hotCallers {
				callers.Go(func() { post(caller) })
			}
			callers.Wait()
		})
		s.Requests.Take() // frees memory
	}
	for n := 0; b.Loop(); n++ {
		alone := func(kind string, payer func(caller int) int) func(int) {
			return func(caller int) {
				for i := range together {
					s.Must(201, "POST", "/v1/transfers", debit(fmt.Sprintf("%s-%d-%d-%d", kind, n, caller, i), payer(caller)))
				}
			}
		}
		slices := []func(){
			func() { measure(&spread, alone("spread", func(caller int) int { return caller })) },
			func() { measure(&hot, alone("hot", func(int) int { return 0 })) },
			func() {
				measure(&batches, func(caller int) {
					var requests []string
					for i := range together {
						requests = append(requests, `{"transfer":`+debit(fmt.Sprintf("batch-%d-%d-%d", n, caller, i), 0)+`}`)
					}
					s.Must(200, "POST", "/v1/batches", `{"requests":[`+strings.Join(requests, ",")+`]}`)
				})
			},
		}
		for i := range slices { // in turn, because a full DynamoDB Local is slower
			slices[(n+i)%len(slices)]()
		}
	}
	posted := float64(b.N * hotCallers * together)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(posted/spread.wall.Seconds(), "spread/s")
	b.ReportMetric(posted/hot.wall.Seconds(), "hot/s")
	b.ReportMetric(posted/batches.wall.Seconds(), "batches/s")
	b.ReportMetric(spread.wall.Seconds()/hot.wall.Seconds(), "hot÷spread")
	b.ReportMetric(hot.wall.Seconds()/batches.wall.Seconds(), "batches÷hot")
}

// timeSpent is elapsed time and processor time.
type timeSpent struct{ wall, processor time.Duration }

func (s *timeSpent) measure(do func()) {
	began := time.Now()
	s.processor += processor(do)
	s.wall += time.Since(began)
}
