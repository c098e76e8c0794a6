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
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"ledger.example/events"
	"ledger.example/internal/proof"
	"ledger.example/internal/store"
	"ledger.example/projections"
)

// notesEvery is the number of entries after which a long run writes a note, so that it can be continued from there.
const notesEvery = 50_000

// Config says which ledger is digested, and where.
type Config struct {
	Table    store.Table
	Origin   string // names the ledger
	Dir      string
	Resume   bool             // after a restore of the table: go on from the newest note that still holds
	Now      func() time.Time // nil: time.Now
	Progress func(entries int64)
}

// Result is what a digest found.
type Result struct {
	Note proof.Note // the newest
	New  int64      // entries since the note before
	Lost []int64    // sizes of the notes that Resume gave up
}

// Run reads on from the newest note, and signs a new note if there are new entries. It may be interrupted at any point.
// Error: also an entry whose event is missing or cannot be read. Its page is not sealed.
func Run(ctx context.Context, c Config) (r Result, err error) {
	d, err := open(c.Dir, c.Origin)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	if c.Resume {
		if r.Lost, err = d.resume(ctx, c); err != nil {
			return r, err
		}
	}
	isWhole, err := d.load()
	if err != nil {
		return r, err
	}
	before, from := d.newest(), d.newest().Page
	if before.Page != "" {
		page, _, err := c.Table.Get(ctx, store.Journal.Key(before.Page), store.Strong)
		if err != nil {
			return r, err
		}
		if page == nil {
			return r, fmt.Errorf("page %s of the journal, the last one of the note of %d entries, is missing: run "+
				"with --check, which names what differs. If the table was restored from a backup, go on with --resume",
				before.Page, before.Size)
		}
	}
	if !isWhole {
		from = ""
	}
	atPage, page := d.hashes.Size, from // the tree up to the last whole page
	err = c.walk(ctx, events.KSUID(from), func(_ store.Key, canonical []byte, err error) error {
		if err != nil {
			return err
		}
		return d.hashes.Add(tlog.RecordHash(canonical))
	}, func(id events.KSUID) error {
		if err := d.agrees(string(id)); err != nil {
			return err
		}
		atPage, page = d.hashes.Size, string(id)
		if err := d.flush(); err != nil || atPage < d.newest().Size+notesEvery {
			return err
		}
		return d.note(page)
	})
	d.hashes.Size, d.hashes.Pending = atPage, nil
	switch {
	case err != nil && atPage > d.newest().Size: // what was read before is sealed
		return r, errors.Join(err, d.note(page))
	case err != nil:
		return r, err
	case d.hashes.Size < before.Size:
		return r, fmt.Errorf("the journal has %d entries, and the note of page %s has %d: entries are missing. Check "+
			"the table with --check. If it was restored from a backup, go on with --resume", d.hashes.Size, before.Page,
			before.Size)
	case d.hashes.Size > d.newest().Size:
		if err := d.note(page); err != nil {
			return r, err
		}
	}
	return Result{Note: d.newest().Note, New: d.newest().Size - before.Size, Lost: r.Lost}, nil
}

// agrees compares the tree, which has the journal up to a page, with the notes of its size and of that page.
func (d *dir) agrees(page string) error {
	for _, n := range d.notes {
		if n.Page != page && n.Size != d.hashes.Size {
			continue
		}
		root, err := d.hashes.Root(min(n.Size, d.hashes.Size))
		if err != nil {
			return err
		}
		if n.Page == page && n.Size != d.hashes.Size || root != n.Root {
			return fmt.Errorf("the journal up to page %s differs from the note of %d entries: run with --check, which "+
				"names what differs. If the table was restored from a backup, go on with --resume", page, n.Size)
		}
	}
	return nil
}

// walk calls leaf for each entry of the journal after a page, with the canonical form of its event or an error, and
// pageEnd after each page. It reads only pages that the journal's trail leaves behind, and skips void ones.
func (c Config) walk(ctx context.Context, after events.KSUID,
	leaf func(id store.Key, canonical []byte, err error) error, pageEnd func(events.KSUID) error,
) error {
	entries := int64(0)
	for page, err := range projections.NewJournalReader(c.Table, c.Now).Final(ctx, after) {
		if err != nil {
			return err
		}
		forms := make(map[store.Key][]byte, len(page.Entries))
		if !page.Void {
			if err := c.read(ctx, page, forms); err != nil {
				return err
			}
			for _, e := range page.Entries {
				form, missing := forms[e.Event], error(nil)
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

// read reads the events of a page.
func (c Config) read(ctx context.Context, page projections.JournalPage, forms map[store.Key][]byte) error {
	for _, e := range page.Entries {
		forms[e.Event] = nil
	}
	keys := make([]store.Key, 0, len(forms))
	for k := range forms {
		keys = append(keys, k)
	}
	items, _, err := c.Table.BatchGet(ctx, keys, store.Strong)
	if err != nil {
		return fmt.Errorf("read the events of page %s: %w", page.ID, err)
	}
	for _, item := range items {
		if e, err := store.DecodeEvent(item); err == nil {
			forms[store.ItemKey(item)] = events.AppendCanonical(nil, e)
		}
	}
	return nil
}

// Entries writes the entries of the newest note for the verifier: a JSON line each.
func Entries(ctx context.Context, c Config, to io.Writer) (n proof.Note, err error) {
	d, err := openLoaded(c)
	if err != nil {
		return n, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	n = d.newest().Note
	lines, index := json.NewEncoder(to), int64(0)
	lines.SetEscapeHTML(false)
	err = c.walk(ctx, "", func(_ store.Key, canonical []byte, err error) error {
		if index++; err != nil || index > n.Size {
			return err
		}
		return lines.Encode(struct {
			Index     int64  `json:"index"`
			Canonical string `json:"canonical"`
		}{index - 1, string(canonical)})
	}, func(id events.KSUID) error {
		if string(id) == n.Page {
			return errEnd
		}
		return nil
	})
	if errors.Is(err, errEnd) {
		err = nil
	}
	return n, err
}

// errEnd ends a walk at the newest note.
var errEnd = errors.New("end")

// openLoaded opens a directory that has a note and all its hashes.
func openLoaded(c Config) (*dir, error) {
	d, err := open(c.Dir, c.Origin)
	if err != nil {
		return nil, err
	}
	isWhole, err := d.load()
	switch {
	case err != nil:
	case d.newest().Size == 0:
		err = fmt.Errorf("%s has no note yet: run `ledger digest` first", c.Dir)
	case !isWhole:
		err = fmt.Errorf("%s lacks hashes: run `ledger digest` again, which reads the whole journal",
			filepath.Join(c.Dir, fileHashes))
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// Prove returns the proof that an event is in the journal of the newest note, at its first entry.
func Prove(ctx context.Context, c Config, event store.Key) (p proof.Inclusion, err error) {
	d, err := openLoaded(c)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	n := d.newest()
	index, err := c.indexOf(ctx, event, n.Size)
	if err != nil {
		return p, err
	}
	item, _, err := c.Table.Get(ctx, event, store.Strong)
	if err != nil {
		return p, err
	}
	e, err := store.DecodeEvent(item)
	if err != nil {
		return p, fmt.Errorf("event %s: %w", event.ID(), err)
	}
	p = proof.Inclusion{Canonical: events.AppendCanonical(nil, e), Index: index, Signed: n.signed}
	if p.Path, err = tlog.ProveRecord(n.Size, index, d.hashes); err != nil {
		return p, err
	}
	if _, err := p.Check(d.public); err != nil {
		return p, fmt.Errorf("event %s is not what was sealed: run `ledger digest %s --check`", event.ID(), c.Dir)
	}
	return p, nil
}

// indexOf returns the index of the first entry of an event among the first entries of the journal.
func (c Config) indexOf(ctx context.Context, event store.Key, size int64) (int64, error) {
	index := int64(0)
	for page, err := range projections.NewJournalReader(c.Table, c.Now).Final(ctx, "") {
		if err != nil {
			return 0, err
		}
		for _, e := range page.Entries {
			switch {
			case page.Void:
				continue
			case index < size && e.Event == event:
				return index, nil
			}
			index++
		}
	}
	return 0, fmt.Errorf("the journal of the note of %d entries does not have %s: run `ledger digest` first", size,
		event.ID())
}

// resume reads the journal anew, and sets the notes aside that it does not fulfill.
func (d *dir) resume(ctx context.Context, c Config) (lost []int64, err error) {
	holds, err := d.judge(ctx, c, nil)
	if err != nil {
		return nil, err
	}
	keep := 0
	for i, n := range d.notes {
		if holds[i] {
			d.notes[keep] = n
			keep++
			continue
		}
		lost = append(lost, n.Size)
		path := filepath.Join(d.path, folder, strconv.FormatInt(n.Size, 10))
		if err := os.Rename(path, path+lostSuffix); err != nil {
			return nil, err
		}
	}
	d.notes = d.notes[:keep]
	if len(lost) > 0 { // the hashes beyond may be those of lost entries
		return lost, d.file.Truncate(0)
	}
	return nil, nil
}
