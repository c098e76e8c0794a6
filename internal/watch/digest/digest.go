// Package digest keeps the Merkle tree over a ledger's journal outside its table: in a directory of an auditor. A
// digest reads the journal on from the last note, adds a leaf for each entry, and signs a new note. A check computes
// everything again from the events in the table, and compares it with all notes that were kept. Nothing is written to
// the table.
//
// What a digest covers cannot be altered, removed or reordered unnoticed, not even by somebody who may write to the
// table and computes every checksum anew. Package proof has the notes and the proofs.
package digest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/watch/proof"
)

// notesEvery is the number of entries after which a long run writes a note, so that it can be continued from there.
const notesEvery = 10_000

// Config says which ledger is digested, and where.
type Config struct {
	Table    table.Table
	Dir      string
	Resume   bool             // after a restore of the table: go on from the newest note that still holds
	Now      func() time.Time // nil: time.Now
	Progress func(entries int64)
}

// Result is what a digest found.
type Result struct {
	Note proof.Note // the newest
	New  int64      // entries since the note before
	Lost []Lost     // notes that Resume gave up
}

// Lost is a note that the table does not fulfill any more.
type Lost struct {
	Size int64
	File string // its name in the folder of the notes
}

// whatToDo ends the errors of a journal that is not the one of the notes.
const whatToDo = "run with --check, which names what differs. If the table was restored from a backup, go on with " +
	"--resume"

// errEnd ends a walk early.
var errEnd = errors.New("end")

// Run reads on from the newest note, and signs a new note if there are new entries. It may be interrupted at any point.
// Error: also an entry whose event is missing or cannot be read. Its page is not sealed.
func Run(ctx context.Context, c Config) (r Result, err error) {
	d, err := open(c)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	if err := d.openKey(); err != nil {
		return r, err
	}
	hasNewest, err := d.identify(ctx, c)
	if err != nil {
		return r, err
	}
	if c.Resume {
		hasNewest = true // resume keeps only such notes
		if r.Lost, err = d.resume(ctx, c); err != nil {
			return r, err
		}
	}
	tree, err := d.tree()
	if err != nil {
		return r, err
	}
	before, page := d.newest(), ""
	if tree.Size == before.Size && before.Size > 0 {
		page = before.Page
		if err := d.stands(ctx, c, hasNewest); err != nil {
			return r, err
		}
	}
	if err := d.file.Truncate(tlog.StoredHashCount(tree.Size) * tlog.HashSize); err != nil { // what a crash wrote
		return r, err
	}
	sealed, pending := tree, []byte(nil) // the tree up to the last whole page, and the hashes of the next one
	err = c.walk(ctx, events.KSUID(page), func(_ table.Key, canonical []byte, err error) error {
		if err != nil {
			return err
		}
		for _, hash := range tree.Add(tlog.RecordHash(canonical)) {
			pending = append(pending, hash[:]...)
		}
		return nil
	}, func(id events.KSUID) error {
		if err := d.agrees(sealed.Size, &tree, string(id)); err != nil {
			return err
		}
		if _, err := d.file.WriteAt(pending, tlog.StoredHashCount(sealed.Size)*tlog.HashSize); err != nil {
			return err
		}
		sealed, page, pending = tree, string(id), pending[:0]
		if sealed.Size < d.newest().Size+notesEvery {
			return nil
		}
		return d.note(&sealed, page)
	})
	switch {
	case sealed.Size > d.newest().Size: // also before an error
		err = errors.Join(err, d.note(&sealed, page))
	case err == nil && sealed.Size < before.Size:
		err = fmt.Errorf("the journal has %d entries, and the note of page %s has %d: entries are missing: %s",
			sealed.Size, before.Page, before.Size, whatToDo)
	}
	r.Note, r.New = d.newest().Note, d.newest().Size-before.Size
	return r, err
}

// stands returns an error unless the journal still has the page of the newest note, and begins with what was sealed.
func (d *dir) stands(ctx context.Context, c Config, hasPage bool) error {
	if !hasPage {
		return fmt.Errorf("page %s of the journal, the last one of the note of %d entries, is missing: %s",
			d.newest().Page, d.newest().Size, whatToDo)
	}
	is, err := d.beginsAsSealed(ctx, c)
	if err == nil && !is {
		err = fmt.Errorf("the journal does not begin with what was sealed: %s", whatToDo)
	}
	return err
}

// agrees compares the tree, which has the journal up to a page, with the notes of its size and of that page. before is
// its size without the page: no note ends within one.
func (d *dir) agrees(before int64, tree *proof.Tree, page string) error {
	for _, n := range d.notes {
		if n.Page == page && n.Size != tree.Size || n.Size == tree.Size && n.Root != tree.Root() ||
			before < n.Size && n.Size < tree.Size {
			return fmt.Errorf("the journal up to page %s differs from the note of %d entries: %s", page, n.Size,
				whatToDo)
		}
	}
	return nil
}

// resume reads the journal anew, and sets the notes aside that it does not fulfill.
func (d *dir) resume(ctx context.Context, c Config) (lost []Lost, err error) {
	holds, err := d.judge(ctx, c, &Report{})
	if err != nil {
		return nil, err
	}
	var keep []kept
	for i, n := range d.notes {
		if holds[i] {
			keep = append(keep, n)
			continue
		}
		path, err := d.lostFile(n.Size)
		if err != nil {
			return nil, err
		}
		if err := os.Rename(d.noteFile(n.Size), path); err != nil {
			return nil, err
		}
		lost = append(lost, Lost{n.Size, filepath.Base(path)})
	}
	d.notes = keep
	return lost, d.load()
}

// walk calls leaf for each entry of the journal after a page, with the canonical form of its event or an error, and
// pageEnd after each page. It reads only pages that the journal's trail leaves behind, and skips void ones.
func (c Config) walk(ctx context.Context, after events.KSUID,
	leaf func(id table.Key, canonical []byte, err error) error, pageEnd func(events.KSUID) error,
) error {
	entries := int64(0)
	for page := range c.fetch(ctx, after) {
		if page.err != nil {
			return page.err
		}
		if !page.Void {
			for _, e := range page.Entries {
				form, missing := page.forms[e.Event], error(nil)
				if form == nil {
					missing = fmt.Errorf("page %s: event %s is missing or cannot be read: run `ledger verify`", page.ID,
						e.Event.ID())
				}
				if err := leaf(e.Event, form, missing); err != nil {
					return err
				}
			}
			entries += int64(len(page.Entries))
		}
		if err := pageEnd(page.ID); err != nil {
			return err
		}
		if c.Progress != nil {
			c.Progress(entries)
		}
	}
	return ctx.Err()
}
