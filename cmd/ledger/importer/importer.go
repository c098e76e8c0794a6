// Package importer sends a file of commands, one a line, to the API: many at once, each after the earlier ones that it
// depends on.
package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"ledger.example/cmd/ledger/client"
)

const (
	// windowBytes bounds the lines that are read and not finished; minLineWeight what one of them counts at least, for its
	// own bookkeeping. Together: at most 4,096 lines, and 32 MiB.
	windowBytes   = 32 << 20
	minLineWeight = 8 << 10
	// policiesMax bounds how many accounts are remembered as limited or not.
	policiesMax = 100_000
)

// Ledger is what an import needs of the API. It asks again by itself while an outcome is unknown; *client.Client does.
type Ledger interface {
	Send(ctx context.Context, cmd client.Command) (client.Written, error)
	Account(ctx context.Context, id string) (client.Reply[client.Account], error)
}

// Config says how to import.
type Config struct {
	Ledger    Ledger
	Clients   int           // commands under way at once, at least 1
	Silence   time.Duration // ends the import when nothing was answered for so long; longer than Ledger asks again for
	OnFailure func(Failure) // told of every bad line; never called by two goroutines at once
}

// Import is one run over one file.
type Import struct {
	Config
	schedule *schedule
	window   *semaphore.Weighted
	bytes    int64           // of the window
	policies map[string]bool // account to unlimited; the reading goroutine's

	start     time.Time
	answered  atomic.Int64 // when the ledger last answered, in nanoseconds since start
	added     atomic.Int64
	replayed  atomic.Int64
	failed    atomic.Int64
	bytesDone atomic.Int64
	reporting sync.Mutex // held while OnFailure is told
}

// New returns an import that has not run yet.
func New(c Config) *Import { return newImport(c, windowBytes) }

func newImport(c Config, windowBytes int64) *Import {
	return &Import{
		Config:   c,
		schedule: newSchedule(windowBytes / minLineWeight),
		window:   semaphore.NewWeighted(windowBytes),
		bytes:    windowBytes,
		policies: make(map[string]bool),
		start:    time.Now(),
	}
}

// Counts is how far an import is. Blank lines don't count.
type Counts struct {
	New      int64 // written by this run
	Replayed int64 // written before
	Failed   int64
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

// ErrSilent is the cause of an end because the ledger no longer answers.
var ErrSilent = errors.New("the ledger no longer answers")

// Counts may be called at any time, by any goroutine.
func (i *Import) Counts() Counts {
	return Counts{New: i.added.Load(), Replayed: i.replayed.Load(), Failed: i.failed.Load(), Bytes: i.bytesDone.Load()}
}

// Silent is how long ago the ledger last answered, or the run began.
func (i *Import) Silent() time.Duration {
	return time.Since(i.start) - time.Duration(i.answered.Load())
}

// Run imports the file, once. It returns early when ctx ends, when the file cannot be read on, when the ledger is silent
// (ErrSilent), and when the caller is not let in (*client.DeniedError): no other line would fare better. Bad lines are
// counted and don't end it.
func (i *Import) Run(ctx context.Context, file io.Reader) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var workers sync.WaitGroup
	for range max(i.Clients, 1) {
		workers.Go(func() {
			for j := range i.schedule.ready {
				if err := i.work(ctx, j); err != nil {
					end(err)
				}
			}
		})
	}
	err := i.read(ctx, newLines(file))
	// The workers finish all that was read, tried or not, so the whole window comes back.
	_ = i.window.Acquire(context.WithoutCancel(ctx), i.bytes)
	close(i.schedule.ready)
	workers.Wait()
	if err == nil {
		err = context.Cause(ctx)
	}
	return err
}

// read schedules every line.
func (i *Import) read(ctx context.Context, file *lines) error {
	for {
		l, err := file.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("the file cannot be read: %w", err)
		}
		var c command
		if err = l.err; err == nil {
			c, err = parse(l.text)
		}
		if err != nil {
			i.fail(Failure{Line: l.number, Err: err}, l.bytes)
			continue
		}
		j := &job{number: l.number, bytes: l.bytes, weight: max(int64(len(l.text)), minLineWeight), command: c}
		if i.window.Acquire(ctx, j.weight) != nil {
			return context.Cause(ctx)
		}
		holds, waitsFor := i.keys(ctx, j.command)
		i.schedule.add(j, holds, waitsFor)
	}
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
		i.remember(c.ID, c.unlimited)
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

// unlimited tells whether an account may owe without limit, so that the order of its transactions makes no difference. An
// account that the file didn't open counts as limited, until a second transaction would have to wait for it: only then is
// it worth a request.
func (i *Import) unlimited(ctx context.Context, account string) bool {
	unlimited, known := i.policies[account]
	if known || !i.schedule.held(key{ofSpending, account}) {
		return unlimited
	}
	r, err := i.Ledger.Account(ctx, account)
	unlimited = err == nil && r.Value.Unlimited()
	i.remember(account, unlimited)
	return unlimited
}

// remember keeps the first policy of an account: a later line that opens it otherwise is refused.
func (i *Import) remember(account string, unlimited bool) {
	if _, known := i.policies[account]; known {
		return
	}
	if len(i.policies) >= policiesMax {
		clear(i.policies)
	}
	i.policies[account] = unlimited
}

// work sends one job, unless the import has ended. Errors: ErrSilent and *client.DeniedError, after which no other job is
// worth a try.
func (i *Import) work(ctx context.Context, j *job) error {
	defer i.window.Release(j.weight)
	defer i.schedule.finish(j)
	if ctx.Err() != nil {
		return nil
	}
	w, err := i.Ledger.Send(ctx, j.Command)
	if err != nil && ctx.Err() != nil {
		return nil // cut off: the next run finds out what became of it
	}
	if err == nil || refused(err) {
		i.answered.Store(int64(time.Since(i.start)))
	}
	if err != nil {
		i.fail(Failure{Line: j.number, Kind: j.Kind, ID: j.ID, Err: err}, j.bytes)
		var denied *client.DeniedError
		if errors.As(err, &denied) {
			return denied
		}
		if silence := i.Silent(); silence >= i.Silence {
			return fmt.Errorf("%w: nothing for %s", ErrSilent, silence.Round(time.Second))
		}
		return nil
	}
	if w.New {
		i.added.Add(1)
	} else {
		i.replayed.Add(1)
	}
	i.bytesDone.Add(j.bytes)
	return nil
}

// refused tells whether err is the ledger's own answer to a command, not its inability to give one.
func refused(err error) bool {
	var unknown *client.UnknownError
	var answer *client.Error
	return !errors.As(err, &unknown) && errors.As(err, &answer) && answer.Status < http.StatusInternalServerError
}

func (i *Import) fail(f Failure, bytes int64) {
	i.failed.Add(1)
	i.bytesDone.Add(bytes)
	i.reporting.Lock()
	defer i.reporting.Unlock()
	i.OnFailure(f)
}
