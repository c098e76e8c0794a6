package digest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// identify returns an error if the table is of another ledger than the notes. It reports whether the journal has the
// page of the newest note, true without notes.
//
// A ledger is known by its content, as a restore gives its table another name, and as two tables may have one name. Its
// journal has the page of the newest note or, restored to before that, the first entry that was sealed. If the hashes
// are lost, or the first page too, the page of any note will do: KSUIDs of pages are random.
func (d *dir) identify(ctx context.Context, c Config) (hasNewest bool, err error) {
	if len(d.notes) == 0 {
		return true, nil
	}
	lanes, err := table.ReadLanes(ctx, c.Table, time.Now())
	if err != nil {
		return false, err
	}
	keyOf := func(page string) table.Key { return table.Journal.Key(lanes.OfPage(events.KSUID(page)), page) }
	page, _, err := c.Table.Get(ctx, keyOf(d.newest().Page), table.Strong)
	if err != nil || page != nil {
		return page != nil, err
	}
	if is, err := d.beginsAsSealed(ctx, c); err != nil || is {
		return false, err
	}
	keys := make([]table.Key, len(d.notes))
	for i, n := range d.notes {
		keys[i] = keyOf(n.Page)
	}
	pages, _, err := c.Table.BatchGet(ctx, keys, table.Strong)
	if err == nil && len(pages) == 0 {
		err = fmt.Errorf("%s is the directory of another ledger: the table has neither its first entry nor the page "+
			"of a note. Give its own directory. If it is this one, its journal was deleted or replaced, or restored "+
			"to before the first note: keep it, and begin in another one", d.path)
	}
	return false, err
}

// beginsAsSealed reports whether the first entry of the journal is the one that was sealed, as far as it is known.
func (d *dir) beginsAsSealed(ctx context.Context, c Config) (bool, error) {
	sealed, err := d.leaf(0)
	if err != nil {
		return false, err
	}
	first := tlog.Hash{}
	err = c.walk(ctx, "", func(_ table.Key, canonical []byte, _ error) error {
		first = tlog.RecordHash(canonical)
		return errEnd
	}, func(events.KSUID) error { return nil })
	if err != nil && !errors.Is(err, errEnd) {
		return false, err
	}
	return first == sealed && first != tlog.Hash{}, nil
}
