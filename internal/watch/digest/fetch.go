package digest

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// pagesAhead is of how many pages of the journal the events are read at a time.
const pagesAhead = 16

// fetched is a page of the journal with the canonical forms of its events, or an error. Events that are missing or
// cannot be read have none.
type fetched struct {
	projections.JournalPage
	forms map[table.Key][]byte
	err   error
}

// fetch yields the pages after one that the journal's trail leaves behind, in order. It reads the events of some pages
// ahead. After an error, or when ctx ends, it ends.
func (c Config) fetch(ctx context.Context, after events.KSUID) iter.Seq[fetched] {
	return func(yield func(fetched) bool) {
		ctx, cancel := context.WithCancel(ctx)
		queue := make(chan chan fetched, pagesAhead-1)
		var reading sync.WaitGroup
		defer reading.Wait()
		defer cancel()
		reading.Go(func() {
			defer close(queue)
			for page, err := range projections.NewJournalReader(c.Table, c.Now).Final(ctx, after) {
				one := make(chan fetched, 1)
				select {
				case queue <- one:
				case <-ctx.Done():
					return
				}
				reading.Go(func() { one <- c.read(ctx, page, err) })
			}
		})
		for one := range queue {
			if page := <-one; !yield(page) || page.err != nil {
				return
			}
		}
	}
}

// read reads the events of a page, unless there is an error.
func (c Config) read(ctx context.Context, page projections.JournalPage, err error) fetched {
	f := fetched{JournalPage: page, forms: make(map[table.Key][]byte, len(page.Entries)), err: err}
	if err != nil || page.Void {
		return f
	}
	keys := make([]table.Key, 0, len(page.Entries))
	for _, e := range page.Entries {
		if _, isKnown := f.forms[e.Event]; !isKnown {
			f.forms[e.Event], keys = nil, append(keys, e.Event)
		}
	}
	items, _, err := c.Table.BatchGet(ctx, keys, table.Strong)
	if err != nil {
		f.err = fmt.Errorf("read the events of page %s: %w", page.ID, err)
	}
	for _, item := range items {
		if e, err := table.DecodeEvent(item); err == nil {
			f.forms[table.ItemKey(item)] = events.AppendCanonical(nil, e)
		}
	}
	return f
}
