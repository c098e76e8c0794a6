// Package redrive refolds and lists what dead letters name. Dead letters are stream records that the projector or the
// lister could not process. Lambda stores them in the bucket that is the on-failure destination of its event source
// mapping, and the pump stores them in a file.
//
// Only the key of a record is used. It names a posting or a grant, and so a balance or a membership, which the
// projector's own code brings up to date from the table; or it names a header or the end of a hold, which the lister's
// own code lists. So it is safe to redrive any number of times, and no matter which of the two had the record.
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

	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/repair"
)

const (
	// maxKeys is how many distinct keys are held at once, some 10 MB. A target whose keys come in two such batches is
	// done twice.
	maxKeys = 50_000
	// accountsAtOnce is how many accounts are done at the same time. Targets of one account meet in its summary.
	accountsAtOnce = 8
	// listedAtOnce is how many records are listed at a time: a page of the journal.
	listedAtOnce = 100
)

// Stdin is the name that stands for standard input.
const Stdin = "-"

// ErrNotInTable says that records name items that are not there.
var ErrNotInTable = errors.New("not in the table: is it the right one? If so, they were deleted, and `ledger " +
	"verify` says of what")

// Views is the store as refolds need it, and as the rebuild of a lost balance does.
type Views interface {
	projections.ProjectorViews
	repair.Views

	// Present returns the set of those of distinct keys whose items are in the table, by strongly consistent reads.
	Present(ctx context.Context, keys []table.Key) (map[table.Key]bool, error)
}

// Config says what to redrive with.
type Config struct {
	Views Views
	// List lists what records name, at most listedAtOnce, as projections.Lister does.
	List func(ctx context.Context, batch []projections.Record) (failed string, err error)
	// Open opens a file; its name may be Stdin.
	Open   func(ctx context.Context, name string) (io.ReadCloser, error)
	DryRun bool // nothing is written; the counts are those of what would be done
	// OnProblem is called for all that is not done, OnRefold for each balance that is behind; never by two goroutines
	// at once.
	OnProblem func(Place, error)
	OnRefold  func(projections.Target)
}

// Counts is the progress of a run.
type Counts struct {
	Files       int64 // opened and read
	Records     int64 // read, also repeated ones
	Skipped     int64 // records of what is not projected
	Balances    int64 // that records were for: refolded, counted or failed
	Refolded    int64 // had missed some of their postings
	Counted     int64 // had counted all of them before
	Memberships int64 // brought up to their newest grant
	Listed      int64 // transactions, and ends of holds, that were listed
	Failed      int64 // problems
}

// Run is one run over some files.
type Run struct {
	config  Config
	maxKeys int
	known   map[table.Key]bool // of the batch
	pending map[projections.Target][]record

	mu     sync.Mutex // also held while OnProblem and OnRefold are called
	counts Counts
}

// New returns a run that has not begun.
func New(c Config) *Run {
	return &Run{
		config: c, maxKeys: maxKeys, known: make(map[table.Key]bool),
		pending: make(map[projections.Target][]record),
	}
}

// Counts may be called at any time, by any goroutine.
func (r *Run) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts
}

// Files returns the files that names stand for: themselves, and what is below those that are directories. Error: a
// name that is not there. Whatever else cannot be read is named when its turn comes.
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

// Run redrives files. What cannot be read or done is counted and goes to OnProblem, and the rest goes on. Error: that
// of ctx, or why the table cannot be used at all.
func (r *Run) Run(ctx context.Context, files []string) error {
	for _, name := range files {
		if err := r.file(ctx, name); err != nil {
			return err
		}
	}
	return r.flush(ctx)
}

// file takes in the records of one file, and flushes whenever there are enough. Error: one that ends the run.
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
		r.take(found)
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

func (r *Run) take(found record) {
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

// flush does all that was taken in. Error: one that ends the run.
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
					if err := r.do(runCtx, target, some); err != nil {
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

// do brings one target up to date. Error: one that ends the run, as every other target would meet it.
func (r *Run) do(ctx context.Context, target projections.Target, records []record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	keys := make([]table.Key, len(records))
	for i, found := range records {
		keys[i] = found.key
	}
	present, err := r.config.Views.Present(ctx, keys)
	if err != nil {
		return fmt.Errorf("look up what the records name: %w", err)
	}
	wrote := false
	if target.Lists {
		err = r.list(ctx, present)
	} else {
		wrote, err = r.refold(ctx, target, idsOf(present))
	}
	switch absent := slices.IndexFunc(keys, func(k table.Key) bool { return !present[k] }); {
	case err != nil && (ctx.Err() != nil || ddb.IsTableWide(err)):
		return fmt.Errorf("%s: %w", target, err)
	case err != nil:
		r.problem(records[0].place, fmt.Errorf("%s: %w", target, err))
	case absent >= 0: // those that are there were done
		r.problem(records[absent].place, fmt.Errorf("%s: %d of its %d records are %w", target, len(keys)-len(present),
			len(keys), ErrNotInTable))
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
