package audit

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// run audits a synthetic table, which is sound.
func run(t testing.TB, s *synthetic) Report {
	t.Helper()
	report, err := New(Options{Store: s, Table: "t", Findings: 10}).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !report.Sound() || report.Counts.Items != int64(s.items()) || report.Counts.Postings != int64(2*s.transfers) {
		t.Fatalf("%+v", report)
	}
	return report
}

// What is held while a table is read doesn't depend on how large it is: of what is alive, the audit of a table of ten times as
// many postings has no more.
func TestMemoryIsBounded(t *testing.T) {
	alive := func(transfers int) (most uint64) {
		var mu sync.Mutex
		pages := 0
		s := &synthetic{accounts: 2, transfers: transfers}
		s.page = func() {
			mu.Lock()
			defer mu.Unlock()
			if pages++; pages%(transfers/100) == 0 {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
			}
		}
		run(t, s)
		return most
	}
	const slack = 12 << 20 // pages under way
	small, large := alive(1_000), alive(10_000)
	if small == 0 || large > small+slack {
		t.Errorf("%d bytes were alive with 2,000 postings, %d with 20,000", small, large)
	}
}

var postings = flag.Int("postings", 1_000_000, "postings of BenchmarkAudit's table")

// memoryMost is the memory of the whole process that an audit of 1,000,000 postings may take.
const memoryMost = 256 << 20

// BenchmarkAudit audits a table of -postings, as the command does, and tells the most memory that the process had.
func BenchmarkAudit(b *testing.B) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(160 << 20))
	for b.Loop() {
		run(b, &synthetic{accounts: max(1, *postings/1000), transfers: *postings / 2})
	}
	most := resident(b)
	b.ReportMetric(float64(*postings)*float64(b.N)/b.Elapsed().Seconds(), "postings/s")
	b.ReportMetric(float64(most)/(1<<20), "MB")
	if most > memoryMost {
		b.Errorf("the process took %d bytes", most)
	}
}

// resident is the most memory that the process ever had; where the system doesn't tell, what Go asked of it.
func resident(b *testing.B) int64 {
	b.Helper()
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		for line := range bytes.Lines(status) {
			if fields := bytes.Fields(line); len(fields) == 3 && string(fields[0]) == "VmHWM:" {
				kilobytes, err := strconv.ParseInt(string(fields[1]), 10, 64)
				if err == nil {
					return kilobytes << 10
				}
			}
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}

// faulty fails every n-th scan or query.
type faulty struct {
	*synthetic
	err error
	nth int

	mu    sync.Mutex
	calls int
}

func (f *faulty) fails() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls++; f.calls%f.nth == 0 {
		return f.err
	}
	return nil
}

func (f *faulty) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	if err := f.fails(); err != nil {
		return nil, err
	}
	return f.synthetic.Scan(ctx, in, o...)
}

func (f *faulty) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if err := f.fails(); err != nil {
		return nil, err
	}
	return f.synthetic.Query(ctx, in, o...)
}

// A table that was not read to its end is never said to be sound.
func TestAFailedReadIsNoVerdict(t *testing.T) {
	s := &synthetic{accounts: 3, transfers: 900}
	throttled := &types.ProvisionedThroughputExceededException{}
	denied := &types.ResourceNotFoundException{}
	for _, c := range []struct {
		name string
		err  error
		nth  int
		want error
	}{
		{"passes", throttled, 3, nil}, {"stays", throttled, 1, throttled}, {"is refused", denied, 7, denied},
	} {
		a := New(Options{Store: &faulty{synthetic: s, err: c.err, nth: c.nth}, Table: "t", Pause: func(context.Context, time.Duration) error { return nil }})
		report, err := a.Run(t.Context())
		if !errors.Is(err, c.want) || err != nil && report.Counts.Items != 0 {
			t.Errorf("%s: %+v, %v", c.name, report, err)
		}
	}
}

func TestAnInterruptedAuditIsNoVerdict(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &synthetic{accounts: 2, transfers: 5000}
	pages := 0
	var mu sync.Mutex
	s.page = func() {
		mu.Lock()
		defer mu.Unlock()
		if pages++; pages == 9 {
			cancel()
		}
	}
	if _, err := New(Options{Store: s, Table: "t"}).Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// The rate holds over the whole audit, whatever the pages cost.
func TestTheRateHolds(t *testing.T) {
	var mu sync.Mutex
	now, units := time.Unix(1_800_000_000, 0), 0.0
	began := now
	m := meter{
		rate: 100,
		now:  func() time.Time { mu.Lock(); defer mu.Unlock(); return now },
		pause: func(_ context.Context, d time.Duration) error {
			mu.Lock()
			defer mu.Unlock()
			now = now.Add(d)
			return nil
		},
	}
	for _, used := range []float64{128, 0.5, 300, 1, 1, 64} {
		if err := m.wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		m.use(&types.ConsumedCapacity{CapacityUnits: &used})
		units += used
	}
	if err := m.wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := now.Sub(began).Seconds(); took < units/m.rate-.001 || took > units/m.rate+.001 {
		t.Errorf("%v units took %v s at %v a second", units, took, m.rate)
	}
}
