// Package redrive processes dead letters: stream records that the projector or the lister could not process. Lambda
// stores them in the bucket that is the on-failure destination of its event source mapping. The pump stores them in a
// file.
//
// Redrive uses only the key of a record. If the key names a posting, a grant or a change of groups, it updates the
// balance, membership or places from the table with the projector's code. If the key names a header or the end of a
// hold, it lists the transaction with the lister's code. So redrive is idempotent, and it does not matter which of the
// two consumers had the record.
package redrive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"ledger.example/internal/store"
	"ledger.example/projections"
)

const (
	// maxKeys is the maximum number of distinct keys in a batch, about 10 MB. A target with keys in two batches is
	// processed twice.
	maxKeys = 50_000
	// accountsAtOnce is how many accounts are processed in parallel. Targets of one account share its summary.
	accountsAtOnce = 8
	// listedAtOnce is how many records are listed at a time: those of one page of the journal.
	listedAtOnce = 100
)

// Stdin is the file name of standard input.
const Stdin = "-"

// ErrNotInTable is reported for records whose items do not exist.
var ErrNotInTable = errors.New("not in the table: check that it is the right one. If it is, the items were deleted, " +
	"and `ledger verify` names them")

// Config configures a run.
type Config struct {
	Table store.Table
	// List lists transactions like projections.Lister.List. A batch has at most listedAtOnce records.
	List func(ctx context.Context, batch []projections.Record) (failed string, err error)
	// Open opens a file; its name may be Stdin.
	Open   func(ctx context.Context, name string) (io.ReadCloser, error)
	DryRun bool // write nothing; the counts are those of a real run
	// OnProblem is called for each failure, OnRefold for each balance that was behind. The calls are not concurrent.
	OnProblem func(Place, error)
	OnRefold  func(projections.Target)
}

// Counts is the progress of a run.
type Counts struct {
	Files       int64 // opened and read
	Records     int64 // read, including repeated ones
	Skipped     int64 // records of items that are not projected
	Balances    int64 // that records were for: refolded, counted or failed
	Refolded    int64 // balances that lacked some of their postings
	Counted     int64 // balances that counted all of them already
	Memberships int64 // updated from their newest grant
	Listed      int64 // transactions and ends of holds that were listed
	Failed      int64 // calls of OnProblem
}

// Run is one run over some files.
type Run struct {
	config  Config
	maxKeys int
	known   map[store.Key]bool // keys of the batch
	pending map[projections.Target][]record

	mu     sync.Mutex // also held while OnProblem and OnRefold are called
	counts Counts
}

// New returns a run that has not begun.
func New(c Config) *Run {
	return &Run{
		config: c, maxKeys: maxKeys, known: make(map[store.Key]bool),
		pending: make(map[projections.Target][]record),
	}
}

// Counts returns the progress. It may be called at any time.
func (r *Run) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts
}

// Files expands names: a directory becomes the files below it. Error: a name does not exist. Other errors are reported
// when a file is opened.
func Files(names []string) (files []string, err error) {
	for _, name := range names {
		if info, err := os.Stat(name); name == Stdin || err == nil && !info.IsDir() {
			files = append(files, name)
			continue
		} else if err != nil {
			return nil, err
		}
		_ = fs.WalkDir(os.DirFS(name), ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				files = append(files, filepath.Join(name, path))
			}
			return nil
		})
	}
	return files, nil
}

// Run redrives files. A file or record that fails is counted and reported to OnProblem, and Run continues. Error: that
// of ctx, or one that affects the entire table.
func (r *Run) Run(ctx context.Context, files []string) error {
	for _, name := range files {
		if err := r.file(ctx, name); err != nil {
			return err
		}
	}
	return r.flush(ctx)
}

// file adds the records of one file to the batch, and flushes when the batch is full. Error: one that ends the run.
func (r *Run) file(ctx context.Context, name string) error {
	f, err := r.config.Open(ctx, name)
	if err != nil {
		r.problem(Place{File: name}, err)
		return nil
	}
	defer f.Close()
	for found, err := range records(f, name) {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			r.problem(found.place, err)
			continue
		}
		r.add(found)
		if len(r.known) < r.maxKeys {
			continue
		}
		if err := r.flush(ctx); err != nil {
			return err
		}
	}
	r.count(func(c *Counts) { c.Files++ })
	return nil
}

func (r *Run) count(change func(*Counts)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.counts)
}

func (r *Run) problem(at Place, err error) {
	r.count(func(c *Counts) {
		c.Failed++
		r.config.OnProblem(at, err)
	})
}

func (r *Run) add(found record) {
	projected := found.target != projections.Target{}
	r.count(func(c *Counts) {
		c.Records++
		if !projected {
			c.Skipped++
		}
	})
	if projected && !r.known[found.key] {
		r.known[found.key] = true
		r.pending[found.target] = append(r.pending[found.target], found)
	}
}

// flush processes the batch. Error: one that ends the run.
func (r *Run) flush(ctx context.Context) error {
	byAccount := make(map[string][]projections.Target)
	for target := range r.pending {
		byAccount[target.Account] = append(byAccount[target.Account], target)
	}
	running, runCtx := errgroup.WithContext(ctx)
	running.SetLimit(accountsAtOnce)
	for _, targets := range byAccount {
		running.Go(func() error {
			for _, target := range targets {
				records, atOnce := r.pending[target], len(r.pending[target])
				if target.Lists {
					atOnce = listedAtOnce
				}
				for some := range slices.Chunk(records, atOnce) {
					if err := r.process(runCtx, target, some); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	err := running.Wait()
	clear(r.known)
	clear(r.pending)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// process updates one target. Error: one that ends the run, as it affects all targets.
func (r *Run) process(ctx context.Context, target projections.Target, records []record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	keys := make([]store.Key, len(records))
	for i, found := range records {
		keys[i] = found.key
	}
	present, err := r.present(ctx, keys)
	if err != nil {
		return fmt.Errorf("look up the items of the records: %w", err)
	}
	wrote := false
	if target.Lists {
		err = r.list(ctx, present)
	} else {
		wrote, err = r.refold(ctx, target, idsOf(present))
	}
	switch absent := slices.IndexFunc(keys, func(k store.Key) bool { return !present[k] }); {
	case err != nil && (ctx.Err() != nil || store.IsTableWide(err)):
		return fmt.Errorf("%s: %w", target, err)
	case err != nil:
		r.problem(records[0].place, fmt.Errorf("%s: %w", target, err))
	case absent >= 0: // the records whose items exist were processed
		r.problem(records[absent].place, fmt.Errorf("%s: items of %d of its %d records are %w", target,
			len(keys)-len(present), len(keys), ErrNotInTable))
	}
	done := err == nil && len(present) > 0
	r.count(func(c *Counts) {
		switch {
		case target.Lists && done:
			c.Listed += int64(len(present))
		case target.Asset != "":
			c.Balances++
			if done && wrote {
				c.Refolded++
				r.config.OnRefold(target)
			} else if done {
				c.Counted++
			}
		case done:
			c.Memberships++
		}
	})
	return nil
}
