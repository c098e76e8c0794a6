// Package redrive processes dead letters: stream records that the projector or the lister could not process. Lambda
// stores them in the bucket that is the on-failure destination of its event source mapping. The pump stores them in a
// file.
//
// Redrive uses only the key of a record. It reads the item of that key. Events of the journal go to the lister, and
// events with other projections to the projector. So redrive is idempotent, and it does not matter which of the two had
// the record.
package redrive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
)

const (
	// maxKeys is the maximum number of distinct keys in a batch. Their items take about 20 MB. A target with keys in
	// two batches is processed twice.
	maxKeys = 10_000
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
	Table table.Table
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
	Files    int64            // opened and read
	Records  int64            // read, including repeated ones
	Skipped  int64            // records of items that are not projected
	Balances int64            // that records were for: refolded, counted or failed
	Refolded int64            // balances that lacked some of their postings
	Counted  int64            // balances that counted all of them already
	Views    map[string]int64 // targets of views that were updated, by projections.View.Figure
	Listed   int64            // events that were listed
	Failed   int64            // calls of OnProblem
}

// Run is one run over some files.
type Run struct {
	config  Config
	maxKeys int
	known   map[table.Key]bool // keys of the batch
	pending map[projections.Target][]record

	mu     sync.Mutex // also held while OnProblem and OnRefold are called
	counts Counts
}

// New returns a run that has not begun.
func New(c Config) *Run {
	return &Run{
		config: c, maxKeys: maxKeys, known: make(map[table.Key]bool),
		pending: make(map[projections.Target][]record), counts: Counts{Views: make(map[string]int64)},
	}
}

// Counts returns the progress. It may be called at any time.
func (r *Run) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := r.counts
	counts.Views = maps.Clone(counts.Views)
	return counts
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
	items, _, err := r.config.Table.BatchGet(ctx, slices.Collect(maps.Keys(r.known)), table.Strong)
	if err != nil {
		return fmt.Errorf("look up the items of the records: %w", err)
	}
	stored := make(map[table.Key]table.Item, len(items))
	for _, item := range items {
		stored[table.ItemKey(item)] = item
	}
	var projected, listed part
	for target, records := range r.pending {
		if target.Asset != "" {
			r.count(func(c *Counts) { c.Balances++ })
		}
		var absent []Place
		for _, found := range records {
			switch item := stored[found.key]; {
			case item == nil:
				absent = append(absent, found.place)
			default:
				if table.IsJournaled(found.key.SK) {
					if err := readable(item); err == nil {
						listed.add(found.place, item)
					} else {
						r.problem(found.place, fmt.Errorf("lists and journal: %w", err))
					}
				}
				if !target.Lists {
					projected.add(found.place, item)
				}
			}
		}
		if len(absent) > 0 { // the other records are processed
			r.problem(absent[0], fmt.Errorf("%s: items of %d of its %d records are %w", target, len(absent),
				len(records), ErrNotInTable))
		}
	}
	clear(r.known)
	clear(r.pending)
	if err := r.project(ctx, projected); err != nil {
		return err
	}
	return r.list(ctx, listed)
}

// readable returns an error unless an item is the event of its key. A lister would only log it.
func readable(item table.Item) error {
	e, err := table.DecodeEvent(item)
	if key := table.ItemKey(item); err == nil && table.EventKey(e) != key {
		err = fmt.Errorf("%w: the %s has another key", table.ErrMalformedItem, e.EventName())
	}
	return err
}

// part is the part of a batch for one consumer.
type part struct {
	records []projections.Record
	places  []Place // of the records
}

func (p *part) add(at Place, item table.Item) {
	record := projections.RecordOf(item)
	record.SequenceNumber = at.String()
	p.records, p.places = append(p.records, record), append(p.places, at)
}

// project passes records to a projector. Error: one that ends the run, as it affects all targets.
func (r *Run) project(ctx context.Context, p part) error {
	overlay, quiet := r.config.Table, slog.New(slog.DiscardHandler)
	if r.config.DryRun {
		overlay = table.NewOverlay(overlay)
	}
	projector := projections.NewProjector(overlay, nil, quiet)
	projector.RepairWith(rebuild.NewRebuilder(overlay, nil, quiet))
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	projector.Apply(ctx, p.records, func(t projections.Target, first int, wasBehind bool, err error) {
		switch {
		case err != nil && (ctx.Err() != nil || table.IsTableWide(err)):
			stop(fmt.Errorf("%s: %w", t, err))
		case err != nil:
			r.problem(p.places[first], fmt.Errorf("%s: %w", t, err))
		case wasBehind:
			r.count(func(c *Counts) {
				c.Refolded++
				r.config.OnRefold(t)
			})
		case t.Asset != "":
			r.count(func(c *Counts) { c.Counted++ })
		default:
			r.count(func(c *Counts) { c.Views[t.View.Figure]++ })
		}
	})
	return context.Cause(ctx)
}

// list passes records to the lister. Error: one that ends the run.
func (r *Run) list(ctx context.Context, p part) error {
	for i := 0; i < len(p.records); i += listedAtOnce {
		some, failed, err := p.records[i:min(i+listedAtOnce, len(p.records))], "", ctx.Err()
		if !r.config.DryRun && err == nil {
			failed, err = r.config.List(ctx, some)
		}
		switch {
		case err != nil && (ctx.Err() != nil || table.IsTableWide(err)):
			return fmt.Errorf("lists and journal: %w", err)
		case failed != "":
			r.problem(p.places[i], fmt.Errorf("lists and journal: %s could not be listed", failed))
		case err != nil:
			r.problem(p.places[i], fmt.Errorf("lists and journal: %w", err))
		default:
			r.count(func(c *Counts) { c.Listed += int64(len(some)) })
		}
	}
	return nil
}
