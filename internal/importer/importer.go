// Package importer sends a file of commands to the API, one in each line. It sends many at once, some of them together,
// but each only after the earlier lines that it depends on.
package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"ledger.example/client"
)

const (
	// windowBytes bounds the lines that are read and not finished; minLineWeight what one of them counts at least, for
	// its own bookkeeping. Together: at most 4,096 lines, and 32 MiB.
	windowBytes   = 32 << 20
	minLineWeight = 8 << 10
	// policiesMax bounds how many accounts' policies are cached.
	policiesMax = 100_000
)

// Ledger is what an import needs of the API. It retries by itself while an outcome is unknown, as *client.Client does.
type Ledger interface {
	Send(ctx context.Context, cmd client.Command) (client.Written, error)
	Account(ctx context.Context, id string) (client.Reply[client.Account], error)
}

// Config says how to import.
type Config struct {
	Ledger    Ledger
	Batches   Batches       // nil: each line is sent for itself
	Clients   int           // requests under way at once, at least 1
	OnFailure func(Failure) // called for every bad line; never by two goroutines at once
	Failures  int64         // ends the import when so many lines have failed; 0: never
}

// Import is one run over one file.
type Import struct {
	config   Config
	schedule *schedule
	window   *semaphore.Weighted
	bytes    int64           // of the window
	together atomic.Int64    // how many lines are sent together at most
	batches  chan struct{}   // has room for those that are under way
	policies map[string]bool // account to unlimited; the reading goroutine's

	backdates atomic.Bool // a line has an effective date

	mu       sync.Mutex // also held while OnFailure is called
	counts   Counts
	aside    []*job // see putAside
	caughtUp bool   // no line is put aside any more
}

// New returns an import that has not run yet.
func New(c Config) *Import { return newImport(c, windowBytes) }

func newImport(c Config, windowBytes int64) *Import {
	i := &Import{
		config:   c,
		schedule: newSchedule(windowBytes / minLineWeight),
		window:   semaphore.NewWeighted(windowBytes),
		bytes:    windowBytes,
		policies: make(map[string]bool),
		batches:  make(chan struct{}, max(c.Clients/batchClients, 1)),
	}
	i.together.Store(1)
	if c.Batches != nil {
		i.together.Store(batchFirst)
	}
	return i
}

// Counts is the progress of an import. Blank lines don't count.
type Counts struct {
	New      int64 // written by this run
	Replayed int64 // written before
	Failed   int64
	CutOff   int64 // sent, without an answer: another run finds out what became of them
	Bytes    int64 // of the file, finished
}

// Lines is how many lines are finished.
func (c Counts) Lines() int64 { return c.New + c.Replayed + c.Failed }

// Failure is one bad line.
type Failure struct {
	Line int // from 1
	Kind client.Kind
	ID   string // "" when the line could not be read so far
	Err  error
}

// ErrFailures is the cause of an end because many lines failed.
var ErrFailures = errors.New("too many bad lines")

// Counts may be called at any time, by any goroutine.
func (i *Import) Counts() Counts {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.counts
}

// Run imports the file, once. It returns early when ctx ends, when the file cannot be read on, when the ledger gives a
// line no answer of its own (the error of Send: no other line would fare better), and when as many lines failed as
// Failures says (ErrFailures). Lines that were sent are finished first, unless ctx ends: then they are cut off.
func (i *Import) Run(ctx context.Context, file io.Reader) error {
	reading, end := context.WithCancelCause(ctx)
	defer end(nil)
	var workers sync.WaitGroup
	for range max(i.config.Clients, 1) {
		workers.Go(func() {
			for j := i.schedule.take(); j != nil; j = i.schedule.take() {
				if err := i.work(ctx, reading, j); err != nil {
					end(err)
				}
			}
		})
	}
	err := i.read(reading, file)
	if errors.Is(err, ErrFailures) {
		end(err)
	}
	// The workers finish all that was read, tried or not, so the whole window comes back.
	_ = i.window.Acquire(context.WithoutCancel(ctx), i.bytes)
	i.retryAside(reading)
	i.schedule.close()
	workers.Wait()
	if err == nil {
		err = context.Cause(reading)
	}
	return err
}

// read schedules every line.
func (i *Import) read(ctx context.Context, file io.Reader) error {
	changes := false // the line before was a change
	for l, err := range lines(file) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("the file cannot be read: %w", err)
		}
		c, err := parse(l.text)
		if err != nil {
			if err := i.fail(Failure{Line: l.number, Err: err}, l.bytes); err != nil {
				return err
			}
			continue
		}
		j := &job{number: l.number, bytes: l.bytes, weight: max(int64(len(l.text)), minLineWeight), command: c}
		// Changes come after all that is before them: what an account may do changes with them.
		weight := j.weight
		if j.Kind == client.KindChange && !changes {
			weight = i.bytes
		}
		if i.window.Acquire(ctx, weight) != nil {
			return context.Cause(ctx)
		}
		if weight > j.weight {
			i.retryAside(ctx)
		}
		i.window.Release(weight - j.weight)
		if j.backdated {
			i.backdates.Store(true)
		}
		changes = j.Kind == client.KindChange
		holds, waitsFor := i.keys(ctx, j.command)
		i.schedule.add(j, holds, waitsFor)
	}
	return nil
}

// keys says which earlier lines a command depends on, and by what later ones may depend on it.
func (i *Import) keys(ctx context.Context, c command) (holds, waitsFor []key) {
	for _, asset := range c.assets {
		waitsFor = append(waitsFor, key{ofAsset, asset})
	}
	switch c.Kind {
	case client.KindAsset:
		return []key{{ofAsset, c.ID}}, waitsFor
	case client.KindAccount:
		i.cache(c.ID, c.unlimited)
		return []key{{ofAccount, c.ID}}, waitsFor
	case client.KindChange:
		return []key{{ofAccount, c.ID}}, waitsFor
	}
	holds = []key{{ofTransaction, c.ID}}
	for _, account := range c.accounts {
		waitsFor = append(waitsFor, key{ofAccount, account})
		if !i.unlimited(ctx, account) {
			holds = append(holds, key{ofSpending, account})
		}
	}
	return holds, waitsFor
}

// unlimited reports whether an account may owe without limit, so that the order of its transactions makes no
// difference. An account that the file didn't open counts as limited, until a second transaction would have to wait
// for it: only then is it worth a request.
func (i *Import) unlimited(ctx context.Context, account string) bool {
	unlimited, known := i.policies[account]
	if known || !i.schedule.held(key{ofSpending, account}) {
		return unlimited
	}
	r, err := i.config.Ledger.Account(ctx, account)
	unlimited = err == nil && r.Value.Overdraft.Unlimited
	i.cache(account, unlimited)
	return unlimited
}

// cache keeps the first policy of an account: a later line that opens it otherwise is refused.
func (i *Import) cache(account string, unlimited bool) {
	if _, known := i.policies[account]; known {
		return
	}
	if len(i.policies) >= policiesMax {
		clear(i.policies)
	}
	i.policies[account] = unlimited
}

// work sends a job, and others together with it, unless reading has ended. When ctx ends, they are cut off. Errors:
// ErrFailures, and those of a line that got no answer. After an error no other job is tried. Of lines that got no
// answer together, the first one is reported, and the others are cut off.
func (i *Import) work(ctx, reading context.Context, first *job) (err error) {
	jobs := []*job{first}
	if first.mayBeSentTogether() && i.together.Load() > 1 {
		i.batches <- struct{}{}
		defer func() { <-i.batches }()
		jobs = i.schedule.more(first, int(i.together.Load()))
	}
	defer func() {
		for _, j := range jobs {
			i.schedule.finish(j)
			i.window.Release(j.weight)
		}
	}()
	if reading.Err() != nil {
		return nil
	}
	hasAnswers := true
	for n, o := range i.send(ctx, jobs) {
		j := jobs[n]
		switch isAnswer := isAnswer(o.Err); {
		case o.Err == nil && o.Written.New:
			i.count(j.bytes, func(c *Counts) { c.New++ })
		case o.Err == nil:
			i.count(j.bytes, func(c *Counts) { c.Replayed++ })
		case ctx.Err() != nil, !isAnswer && !hasAnswers:
			i.count(0, func(c *Counts) { c.CutOff++ })
		case i.putAside(j, o.Err):
		default:
			tooMany := i.fail(Failure{Line: j.number, Kind: j.Kind, ID: j.ID, Err: o.Err}, j.bytes)
			if !isAnswer {
				hasAnswers, err = false, o.Err
			}
			err = cmp.Or(err, tooMany)
		}
	}
	return err
}

// count changes the counts by a line of so many bytes.
func (i *Import) count(bytes int64, change func(*Counts)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.counts.Bytes += bytes
	change(&i.counts)
}

// isAnswer reports whether err is the ledger's own answer to a command, not its inability to give one.
func isAnswer(err error) bool {
	_, isUnknown := errors.AsType[*client.UnknownError](err)
	answer, ok := errors.AsType[*client.Error](err)
	return ok && !isUnknown && answer.Status < http.StatusInternalServerError
}

// fail counts and reports a bad line. Error: ErrFailures, when there are as many as end the import.
func (i *Import) fail(f Failure, bytes int64) (err error) {
	i.count(bytes, func(c *Counts) {
		c.Failed++
		i.config.OnFailure(f)
		if i.config.Failures > 0 && c.Failed >= i.config.Failures {
			err = ErrFailures
		}
	})
	return err
}
