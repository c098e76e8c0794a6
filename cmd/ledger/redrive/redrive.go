package redrive

import (
	"context"
	"io"
	"sync"
	"sync/atomic"

	"ledger.example/ledger/table"
	"ledger.example/projections"
)

// batchKeys is how many distinct keys are held at once, some 10 MB. A key that comes in two batches is done twice.
const batchKeys = 50_000

// Config says what to redrive with.
type Config struct {
	Views projections.Views
	// Present returns those of keys whose items are in the table, by strongly consistent reads.
	Present func(ctx context.Context, keys []table.Key) ([]table.Key, error)
	// Open opens a file; its name may be Stdin.
	Open func(ctx context.Context, name string) (io.ReadCloser, error)
	// DryRun reads all and writes nothing: the counts are those of what would be done.
	DryRun bool
	// OnProblem is told of all that was not done, OnRefold of each balance that was behind. Neither is called by two
	// goroutines at once.
	OnProblem func(Place, error)
	OnRefold  func(Pair)

	batch int // batchKeys
}

// Counts is how far a run is.
type Counts struct {
	Files       int64 // read to their end
	Records     int64 // read, also those that came again
	Skipped     int64 // records of what is not projected
	Pairs       int64 // balances that records were for: refolded, counted or failed
	Refolded    int64 // had missed some of their postings
	Counted     int64 // had counted all of them before
	Memberships int64 // done, from their newest grant
	Failed      int64 // problems told
	Bytes       int64 // of the files, done
}

// Run is one run over some files.
type Run struct {
	Config
	telling sync.Mutex
	counts  struct {
		files, records, skipped, pairs, refolded, counted, memberships, failed, bytes atomic.Int64
	}
	read  int64 // bytes
	known map[table.Key]struct{}
	work  map[Pair]*work
}

// New returns a run that has not begun.
func New(c Config) *Run {
	if c.batch == 0 {
		c.batch = batchKeys
	}
	r := &Run{Config: c}
	r.forget()
	return r
}

func (r *Run) forget() {
	r.known, r.work = make(map[table.Key]struct{}), make(map[Pair]*work)
}

// Counts may be called at any time, by any goroutine.
func (r *Run) Counts() Counts {
	c := &r.counts
	return Counts{
		Files: c.files.Load(), Records: c.records.Load(), Skipped: c.skipped.Load(), Pairs: c.pairs.Load(),
		Refolded: c.refolded.Load(), Counted: c.counted.Load(), Memberships: c.memberships.Load(), Failed: c.failed.Load(),
		Bytes: c.bytes.Load(),
	}
}

// Run reads files, and directories with all that is below them, once. What cannot be read or done is told and counted, and the
// rest goes on. It ends early when ctx does, when a name isn't there, and when the table cannot be read at all.
func (r *Run) Run(ctx context.Context, names []string) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	err := walk(ctx, names, func(file string, _ int64, err error) {
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = r.file(ctx, file, end)
		}
		if err != nil {
			r.problem(Place{File: file}, err)
			return
		}
		r.counts.files.Add(1)
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	return r.flush(ctx)
}

func (r *Run) problem(at Place, err error) {
	r.counts.failed.Add(1)
	r.telling.Lock()
	defer r.telling.Unlock()
	r.OnProblem(at, err)
}

// file takes in the records of one file, and does what came together whenever that is enough. What isn't about this file ends
// the run.
func (r *Run) file(ctx context.Context, name string, end context.CancelCauseFunc) error {
	f, err := r.Open(ctx, name)
	if err != nil {
		return err
	}
	defer f.Close()
	for found, err := range records(counted{f, &r.read}, name) {
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			r.problem(found.Place, err)
			continue
		}
		r.take(found)
		if len(r.known) < r.batch {
			continue
		}
		if err := r.flush(ctx); err != nil {
			end(err)
			return nil
		}
	}
	return nil
}

// counted counts what is read.
type counted struct {
	io.Reader
	read *int64
}

// Read implements io.Reader.
func (c counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	*c.read += int64(n)
	return n, err
}

func (r *Run) take(found record) {
	r.counts.records.Add(1)
	pair, ours, _ := pairOf(found.key)
	if !ours {
		r.counts.skipped.Add(1)
		return
	}
	if _, again := r.known[found.key]; again {
		return
	}
	r.known[found.key] = struct{}{}
	w := r.work[pair]
	if w == nil {
		w = &work{Pair: pair}
		r.work[pair] = w
	}
	w.records = append(w.records, found)
}
