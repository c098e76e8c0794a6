package digest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"golang.org/x/mod/sumdb/tlog"

	"ledger.example/events"
	"ledger.example/internal/proof"
	"ledger.example/internal/store"
	"ledger.example/projections"
)

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
	var tree proof.Tree
	lines := json.NewEncoder(to)
	lines.SetEscapeHTML(false)
	err = c.walk(ctx, "", func(_ store.Key, canonical []byte, err error) error {
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
func Prove(ctx context.Context, c Config, event store.Key) (p proof.Inclusion, err error) {
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
	if p.Index, err = c.indexOf(ctx, event, n.Size); err != nil {
		return p, err
	}
	item, _, err := c.Table.Get(ctx, event, store.Strong)
	if err != nil {
		return p, err
	}
	if e, err := store.DecodeEvent(item); err == nil {
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
