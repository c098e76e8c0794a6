package cost

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"ledger.example/internal/ddb"
	"ledger.example/ledger"
	"ledger.example/tests/system"
)

// batchOf is the body of a batch of so many transfers between two accounts without limits, whose ids begin with a
// prefix, and each as the body of a request of its own.
func batchOf(prefix string, n int) (body string, each []string) {
	var requests []string
	for i := range n {
		transfer := fmt.Sprintf(`{"id":"%s-%d","from":"bank","to":"market","asset":"USD","quantity":"%d"}`, prefix, i, i+1)
		each = append(each, transfer)
		requests = append(requests, `{"transfer":`+transfer+`}`)
	}
	return `{"requests":[` + strings.Join(requests, ",") + `]}`, each
}

// A batch asks the store for what its requests ask for alone, and looks up what they name once.
func TestBatchWritesWhatItsRequestsWrite(t *testing.T) {
	t.Parallel()
	s := system.New(t)
	s.OpenRegister()
	requests := system.Promptly(t, func(try int) []system.Request {
		cold := s.Beside()
		body, _ := batchOf(fmt.Sprint("b-", try), ledger.BatchMax)
		cold.Must(200, "POST", "/v1/batches", body)
		return cold.Requests.Take()
	})
	counts := make(map[string]int)
	for _, r := range requests {
		counts[r.Operation]++
	}
	if counts["TransactWriteItems"] != ledger.BatchMax || counts["BatchGetItem"] != 1 || len(counts) != 2 {
		t.Errorf("a batch of %d asked for %v", ledger.BatchMax, counts)
	}
}

// BenchmarkBatch posts a hundred transfers by a request each and by one request, by turns: to a store in memory, and to
// one that answers after a while, as a network does. It reports the ratios of the two times, and of the processor times
// of the whole process: caller, HTTP, ledger and store.
func BenchmarkBatch(b *testing.B) {
	for _, latency := range []time.Duration{0, 5 * time.Millisecond} {
		b.Run(latency.String(), func(b *testing.B) { benchmarkBatch(b, latency) })
	}
}

func benchmarkBatch(b *testing.B, latency time.Duration) {
	s := system.New(b, system.Client(ddb.Observe("Latency", func(context.Context, any, any, error) { time.Sleep(latency) })))
	s.OpenRegister()
	var alone, together spent
	for n := 0; b.Loop(); n++ {
		_, each := batchOf(fmt.Sprintf("alone-%d", n), ledger.BatchMax)
		body, _ := batchOf(fmt.Sprintf("together-%d", n), ledger.BatchMax)
		alone.measure(b, func() {
			for _, transfer := range each {
				s.Must(201, "POST", "/v1/transfers", transfer)
			}
		})
		together.measure(b, func() { s.Must(200, "POST", "/v1/batches", body) })
		s.Requests.Take() // they would be kept
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(alone.wall.Seconds()/together.wall.Seconds(), "times")
	b.ReportMetric(alone.processor.Seconds()/together.processor.Seconds(), "processor-times")
	b.ReportMetric(1000*together.wall.Seconds()/float64(b.N), "ms/batch")
	b.ReportMetric(1000*together.processor.Seconds()/float64(b.N), "processor-ms/batch")
}

// spent is time: that of the clock, and that of the processors.
type spent struct{ wall, processor time.Duration }

func (s *spent) measure(b *testing.B, do func()) {
	b.Helper()
	began, used := time.Now(), processorTime(b)
	do()
	s.wall += time.Since(began)
	s.processor += processorTime(b) - used
}

// processorTime is what this process has used so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
