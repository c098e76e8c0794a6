package digest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/watch/proof"
	"ledger.example/projections"
)

// maxFindings is the number of findings that a check keeps.
const maxFindings = 100

// Report is the result of a check.
type Report struct {
	Entries  int64 // computed again
	Notes    int
	Findings []string // at most maxFindings
	More     int64    // further ones
}

func (r *Report) find(format string, args ...any) {
	if len(r.Findings) == maxFindings {
		r.More++
		return
	}
	r.Findings = append(r.Findings, fmt.Sprintf(format, args...))
}

// Check computes the whole tree again from the events in the table, and compares it with all notes, and with the stored
// leaves, which name what was altered. Without those it names only the notes that do not hold.
func Check(ctx context.Context, c Config) (r Report, err error) {
	d, err := open(c)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	if len(d.notes) == 0 {
		return r, d.errNoNote()
	}
	if _, err := d.identify(ctx, c); err != nil {
		return r, err
	}
	for _, path := range d.lost {
		r.find("%s: its journal was lost by a restore", path)
	}
	r.Notes = len(d.notes)
	_, err = d.judge(ctx, c, &r)
	return r, err
}

// judge computes the tree again. It reports which notes the table fulfills, and into r what differs: first the events,
// as each event that differs makes every later note fail.
func (d *dir) judge(ctx context.Context, c Config, r *Report) (holds []bool, err error) {
	var tree proof.Tree
	var missed, changed, moved, notes Report
	sealed := sealedLeaves{dir: d}
	isThere := make([]bool, len(d.notes))
	holds = make([]bool, len(d.notes))
	err = c.walk(ctx, "", func(id table.Key, canonical []byte, missing error) error {
		leaf := tlog.RecordHash(canonical)
		switch is, err := sealed.has(tree.Size, leaf); {
		case missing != nil:
			leaf = tlog.Hash{} // no event has it
			missed.find("entry %d: event %s is missing or cannot be read", tree.Size, id.ID())
		case err != nil:
			return err
		case is == altered:
			changed.find("entry %d: event %s is not what was sealed", tree.Size, id.ID())
		case is == elsewhere:
			moved.find("entry %d: event %s was sealed at another place", tree.Size, id.ID())
		}
		tree.Add(leaf)
		return nil
	}, func(id events.KSUID) error {
		for i, n := range d.notes {
			if n.Page != string(id) {
				continue
			}
			isThere[i], holds[i] = true, n.Size == tree.Size && n.Root == tree.Root()
			switch {
			case n.Size != tree.Size:
				notes.find("%s: the journal has %d entries up to page %s, not %d: entries or pages were added or "+
					"removed", d.noteFile(n.Size), tree.Size, n.Page, n.Size)
			case !holds[i]:
				notes.find("%s: the entries are not those of the note", d.noteFile(n.Size))
			}
		}
		return nil
	})
	for i, n := range d.notes {
		if err == nil && !isThere[i] {
			notes.find("%s: page %s of the journal is missing", d.noteFile(n.Size), n.Page)
		}
	}
	if isAsSealed := !slices.Contains(holds, false); isAsSealed && len(changed.Findings)+len(moved.Findings) > 0 {
		changed, moved = Report{}, Report{}
		notes.find("%s: it was altered. Delete it, and run `ledger digest` again", d.file.Name())
	}
	for _, some := range []Report{missed, changed, moved, notes} {
		for _, f := range some.Findings {
			r.find("%s", f)
		}
		r.More += some.More
	}
	r.Entries = tree.Size
	return holds, err
}

// sealedLeaves compares leaves with those that were sealed.
type sealedLeaves struct {
	*dir
	all map[tlog.Hash]bool // read at the first difference
}

// How a leaf differs from the sealed ones. It does not if none is known at its place.
const (
	asSealed  = iota
	altered   // it was not sealed
	elsewhere // it was sealed at another place
)

// has compares the leaf of an entry.
func (s *sealedLeaves) has(index int64, leaf tlog.Hash) (int, error) {
	before, err := s.leaf(index)
	if before == leaf || before == (tlog.Hash{}) || err != nil {
		return asSealed, err
	}
	if s.all == nil {
		s.all = make(map[tlog.Hash]bool)
		for i := range s.newest().Size {
			if before, err = s.leaf(i); err != nil {
				return asSealed, err
			}
			s.all[before] = true
		}
	}
	if s.all[leaf] {
		return elsewhere, nil
	}
	return altered, nil
}

// leaf returns the stored leaf of an entry, a zero one if there is none.
func (d *dir) leaf(index int64) (tlog.Hash, error) {
	if index >= d.stored {
		return tlog.Hash{}, nil
	}
	found, err := proof.HashFile{ReaderAt: d.file}.ReadHashes([]int64{tlog.StoredHashIndex(0, index)})
	if err != nil {
		return tlog.Hash{}, err
	}
	return found[0], nil
}

// Entries writes the entries of the newest note for the verifier: a JSON line each. Error: also entries that are not
// those of the note.
func Entries(ctx context.Context, c Config, to io.Writer) (n proof.Note, err error) {
	d, err := open(c)
	if err != nil {
		return n, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	n = d.newest().Note
	if n.Size == 0 {
		return n, d.errNoNote()
	}
	if _, err := d.identify(ctx, c); err != nil {
		return n, err
	}
	var tree proof.Tree
	lines := json.NewEncoder(to)
	lines.SetEscapeHTML(false)
	err = c.walk(ctx, "", func(_ table.Key, canonical []byte, err error) error {
		if err != nil {
			return err
		}
		tree.Add(tlog.RecordHash(canonical))
		return lines.Encode(struct {
			Index     int64  `json:"index"`
			Canonical string `json:"canonical"`
		}{tree.Size - 1, string(canonical)})
	}, func(id events.KSUID) error {
		if string(id) == n.Page {
			return errEnd
		}
		return nil
	})
	switch {
	case err != nil && !errors.Is(err, errEnd):
		return n, err
	case tree.Size != n.Size || tree.Root() != n.Root:
		return n, fmt.Errorf("the journal is not that of the note of %d entries: %s", n.Size, whatToDo)
	}
	return n, nil
}

// errNoNote is the error of a directory in which nothing has been sealed.
func (d *dir) errNoNote() error {
	return fmt.Errorf("%s has no note yet: run `ledger digest` first", d.path)
}

// Prove returns the proof that an event is in the journal of the newest note, at its first entry.
func Prove(ctx context.Context, c Config, event table.Key) (p proof.Inclusion, err error) {
	d, err := open(c)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	n := d.newest()
	switch {
	case n.Size == 0:
		return p, d.errNoNote()
	case d.stored < n.Size:
		return p, fmt.Errorf("%s lacks hashes: run `ledger digest` again, which reads the whole journal", d.file.Name())
	}
	if _, err := d.identify(ctx, c); err != nil {
		return p, err
	}
	if p.Index, err = c.indexOf(ctx, event, n.Size); err != nil {
		return p, err
	}
	item, _, err := c.Table.Get(ctx, event, table.Strong)
	if err != nil {
		return p, err
	}
	if e, err := table.DecodeEvent(item); err == nil {
		p.Canonical = events.AppendCanonical(nil, e)
	}
	p.Signed = n.signed
	if p.Path, err = tlog.ProveRecord(n.Size, p.Index, proof.HashFile{ReaderAt: d.file}); err != nil {
		return p, err
	}
	if _, err := p.Check(d.public); err != nil {
		return p, fmt.Errorf("event %s is not what was sealed: %s", event.ID(), whatToDo)
	}
	return p, nil
}

// indexOf returns the index of the first entry of an event among the first entries of the journal.
func (c Config) indexOf(ctx context.Context, event table.Key, size int64) (int64, error) {
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
