// Package importer sends a file of commands to the API, one command on each line. It sends them concurrently and in
// batches, but each line only after the earlier lines that it depends on.
package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"ledger.example/client"
)

const (
	// windowBytes bounds the lines that are read but not finished. Each counts at least minLineWeight, which covers its
	// job. So there are at most 4,096 such lines, with 32 MiB.
	windowBytes   = 32 << 20
	minLineWeight = 8 << 10
	// policiesMax bounds how many accounts' policies are cached, and of how many transactions the accounts.
	policiesMax = 100_000
)

// Ledger is the API, as the importer needs it. Send retries while an outcome is unknown, as *client.Client does.
type Ledger interface {
	Send(ctx context.Context, cmd client.Command) (client.Written, error)
	Account(ctx context.Context, id string) (client.Reply[client.Account], error)
}

// Config configures an import.
type Config struct {
	Ledger    Ledger
	Batches   Batches       // nil: no batches
	Clients   int           // concurrent requests, at least 1
	OnFailure func(Failure) // called for every bad line, and the first change that is not tried; calls never overlap
	Failures  int64         // number of failed lines that ends the import; 0: no limit
	// Posted looks up a transaction whose id is used, and says whether the ledger has it already, perhaps with another
	// text. nil: such a line is bad. Calls may overlap.
	Posted func(context.Context, client.Command) (isPosted, isOtherText bool, err error)
	// OnOtherText is called for every line that Posted finds with another text. Calls never overlap.
	OnOtherText func(line int, id string)
}

// Import is the import of one file.
type Import struct {
	config    Config
	schedule  *schedule
	window    *semaphore.Weighted
	bytes     int64           // of the window
	batchSize atomic.Int64    // maximum number of lines in a batch
	batches   chan struct{}   // bounds the batches in flight
	policies  map[string]bool // account to unlimited; used only by read

	posted map[string][]string // transaction of the file to its accounts; used only by read

	backdates atomic.Bool // a line has an effective time
	unknowns  atomic.Bool // a line is of a transaction of an earlier file

	mu       sync.Mutex // also held while OnFailure is called
	counts   Counts
	deferred []*job // see deferRetry
	final    bool   // no more lines are deferred
}

// New returns an import, which Run starts.
func New(c Config) *Import { return newImport(c, windowBytes) }

func newImport(c Config, windowBytes int64) *Import {
	i := &Import{
		config:   c,
		schedule: newSchedule(windowBytes / minLineWeight),
		window:   semaphore.NewWeighted(windowBytes),
		bytes:    windowBytes,
		policies: make(map[string]bool),
		posted:   make(map[string][]string),
		batches:  make(chan struct{}, max(c.Clients/batchClients, 1)),
	}
	i.batchSize.Store(1)
	if c.Batches != nil {
		i.batchSize.Store(batchFirst)
	}
	return i
}

// Counts is the progress of an import. Blank lines are not counted.
type Counts struct {
	New      int64 // written by this run
	Replayed int64 // written before
	Failed   int64
	Other    int64 // written before with another text, which stays
	CutOff   int64 // sent, but without an answer; another run learns their outcome
	NotTried int64 // changes of accounts after a failed line
	Bytes    int64 // of the finished lines
}

// Lines returns the number of finished lines.
func (c Counts) Lines() int64 { return c.New + c.Replayed + c.Other + c.Failed + c.NotTried }

// Failure is one bad line.
type Failure struct {
	Line int // from 1
	Kind client.Kind
	ID   string // "" if the line could not be parsed
	Err  error
}

// ErrFailures means that the import ended because Config.Failures lines failed.
var ErrFailures = errors.New("too many bad lines")

// Counts returns the progress. It is safe for concurrent use.
func (i *Import) Counts() Counts {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.counts
}

// Run imports the file. It may be called once. It returns early when ctx ends, when the file cannot be read, when a
// line gets no answer from the ledger (the error of Send, which other lines would get too), and when Config.Failures
// lines have failed (ErrFailures). Lines in flight are finished first, except when ctx ends: then they are cut off.
func (i *Import) Run(ctx context.Context, file io.Reader) error {
	reading, end := context.WithCancelCause(ctx)
	defer end(nil)
	var workers sync.WaitGroup
	for range max(i.config.Clients, 1) {
		workers.Go(func() {
			for j := i.schedule.take(); j != nil; j = i.schedule.take() {
				jobs, err := i.work(ctx, reading, j)
				if err != nil {
					end(err)
				}
				for _, j := range jobs {
					i.schedule.finish(j)
					i.window.Release(j.weight)
				}
			}
		})
	}
	err := i.read(reading, file)
	if errors.Is(err, ErrFailures) {
		end(err)
	}
	// The workers finish all lines that were read, so the whole window becomes free.
	_ = i.window.Acquire(context.WithoutCancel(ctx), i.bytes)
	i.retryDeferred(reading)
	i.schedule.close()
	workers.Wait()
	if err == nil {
		err = context.Cause(reading)
	}
	return err
}

// read schedules every line, but no change of an account after a failed line: a frozen or closed account, or a lower
// limit, may refuse what the corrected file still posts.
func (i *Import) read(ctx context.Context, file io.Reader) error {
	changed, afterUnknown := make(map[string]bool), false // by the changes right before a line; of the line before
	failed := int64(0)                                    // before these changes
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
			clear(changed)
			continue
		}
		j := &job{number: l.number, bytes: l.bytes, weight: max(int64(len(l.text)), minLineWeight), command: c}
		isChange, isUnknown := j.Kind == client.KindChange, i.isOfUnknown(c)
		if !isChange || changed[c.ID] || len(changed) >= policiesMax {
			clear(changed)
		}
		isFirst := isChange && len(changed) == 0
		// A change waits for all earlier lines, because it may change what their account may do, but not for those
		// right before it that change other accounts. An end or a reversal of unknown accounts may give any account
		// what later lines spend, and debit any that earlier lines credit.
		weight := j.weight
		if isFirst || isUnknown != afterUnknown {
			weight = i.bytes
		}
		if i.window.Acquire(ctx, weight) != nil {
			return context.Cause(ctx)
		}
		if weight > j.weight {
			i.retryDeferred(ctx)
		}
		i.window.Release(weight - j.weight)
		if isFirst {
			failed = i.Counts().Failed
		}
		if afterUnknown = isUnknown; isChange {
			changed[c.ID] = true
		}
		if isChange && failed > 0 {
			i.window.Release(j.weight)
			i.skip(j, failed)
			continue
		}
		if j.effective != "" {
			i.backdates.Store(true)
		}
		if isUnknown {
			i.unknowns.Store(true)
		}
		holds, waitsFor := i.keys(ctx, j.command)
		i.schedule.add(j, holds, waitsFor)
	}
	return nil
}

// keys returns the keys that a command holds, by which later lines depend on it, and those of the lines that it waits
// for.
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
	case client.KindGroup:
		return []key{{ofGroup, c.ID}}, nil
	case client.KindGrouping:
		return []key{{ofMember, c.ID}}, []key{{ofGroup, c.Of}, {ofAccount, c.ID}}
	case client.KindMember:
		return []key{{ofMember, c.Of + " " + c.ID}}, []key{{ofAccount, c.Of}}
	case client.KindGroupMember:
		return []key{{ofMember, c.Of + " " + c.ID}}, []key{{ofGroup, c.Of}}
	}
	holds = []key{{ofTransaction, c.ID}}
	if c.endsOrReverses() {
		c.accounts = i.posted[c.Of]
		holds = append(holds, key{ofTransaction, c.Of})
	}
	i.remember(c)
	for _, account := range c.accounts {
		waitsFor = append(waitsFor, key{ofAccount, account})
		if c.effective != "" {
			holds = append(holds, key{ofInstant, c.effective + " " + account})
		}
		if !i.unlimited(ctx, account) {
			holds = append(holds, key{ofSpending, account})
		}
	}
	return holds, waitsFor
}

// isOfUnknown reports whether a command ends or reverses a transaction whose accounts are not known, because an earlier
// file posted it.
func (i *Import) isOfUnknown(c command) bool {
	_, known := i.posted[c.Of]
	return c.endsOrReverses() && !known
}

// remember stores the accounts of a transaction, for the lines that end or reverse it. Of several lines with the same
// id, any may be the one that is posted.
func (i *Import) remember(c command) {
	if i.isOfUnknown(c) || c.ID == c.Of {
		return
	}
	if len(i.posted) >= policiesMax {
		clear(i.posted)
	}
	i.posted[c.ID] = append(i.posted[c.ID], c.accounts...)
}

// unlimited reports whether an account's overdraft is unlimited, so that the order of its transactions does not matter.
// An account that the file did not open counts as limited. Only when a second transaction would have to wait for it is
// the ledger asked.
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

// cache stores the first policy of an account. The ledger refuses a later line that opens it differently.
func (i *Import) cache(account string, unlimited bool) {
	if _, known := i.policies[account]; known {
		return
	}
	if len(i.policies) >= policiesMax {
		clear(i.policies)
	}
	i.policies[account] = unlimited
}
