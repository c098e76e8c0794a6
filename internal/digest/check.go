package digest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"ledger.example/events"
	"ledger.example/internal/proof"
	"ledger.example/internal/store"
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

// Check computes the whole tree again from the events in the table, and compares it with the stored leaves, which name
// what was altered, and with all notes.
func Check(ctx context.Context, c Config) (r Report, err error) {
	d, err := openLoaded(c)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	for _, path := range d.lost {
		r.find("%s: its journal was lost by a restore", path)
	}
	r.Notes = len(d.notes)
	known := len(r.Findings)
	holds, err := d.judge(ctx, c, &r)
	if len(r.Findings) > known && !slices.Contains(holds, false) {
		r.Findings, r.More = r.Findings[:known], 0 // the table is what was signed
		r.find("%s: it was altered. Delete it, and run `ledger digest` again", filepath.Join(d.path, fileHashes))
	}
	return r, err
}

// judge computes the tree again in a file of its own. It reports which notes the table fulfills, and into r, unless
// that is nil, what differs.
func (d *dir) judge(ctx context.Context, c Config, r *Report) (holds []bool, err error) {
	file, err := os.CreateTemp(d.path, "check-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	report := r
	if report == nil {
		report = &Report{}
	}
	scratch := &dir{path: d.path, file: file, hashes: &proof.Hashes{File: file}}
	ends := make(map[string]int64) // the number of entries up to a page
	err = c.walk(ctx, "", func(id store.Key, canonical []byte, missing error) error {
		leaf := tlog.RecordHash(canonical)
		index := scratch.hashes.Size
		if missing != nil {
			leaf = tlog.Hash{} // no event has it
			report.find("entry %d: event %s is missing or cannot be read", index, id.ID())
		} else if r != nil && index < d.hashes.Size {
			sealed, err := d.hashes.Leaf(index)
			if err != nil {
				return err
			}
			if sealed != leaf {
				report.find("entry %d: event %s is not what was sealed", index, id.ID())
			}
		}
		return scratch.hashes.Add(leaf)
	}, func(id events.KSUID) error {
		ends[string(id)] = scratch.hashes.Size
		return scratch.flush()
	})
	if err != nil {
		return nil, err
	}
	report.Entries = scratch.hashes.Size
	for _, n := range d.notes {
		end, isThere := ends[n.Page]
		root := tlog.Hash{}
		if n.Size <= scratch.hashes.Size {
			if root, err = scratch.hashes.Root(n.Size); err != nil {
				return nil, err
			}
		}
		note := filepath.Join(d.path, folder, fmt.Sprint(n.Size))
		switch {
		case !isThere:
			report.find("%s: page %s of the journal is missing", note, n.Page)
		case end != n.Size:
			report.find("%s: the journal has %d entries up to page %s, not %d: entries or pages were added or removed",
				note, end, n.Page, n.Size)
		case root != n.Root:
			report.find("%s: the entries are not those of the note", note)
		}
		holds = append(holds, isThere && end == n.Size && root == n.Root)
	}
	return holds, nil
}
