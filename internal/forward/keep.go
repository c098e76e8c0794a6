package forward

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"ledger.example/events"
	"ledger.example/internal/durable"
	"ledger.example/internal/store"
)

// Filter is which events a receiver gets. The zero value is all.
type Filter struct {
	Type    string `json:"type,omitempty"`
	Account string `json:"account,omitempty"`
}

// File keeps a cursor in a file, which belongs to one filter. One process has it open.
type File struct {
	path   string
	filter Filter
	lock   *os.File
}

// OpenFile opens the file of a cursor until the process ends, or Close. The file need not exist. A second file, with
// the suffix .lock, is locked. Errors say what to do.
func OpenFile(path string, filter Filter) (*File, error) {
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the user names the file
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another process forwards with %s: stop it, or take another file", path),
			lock.Close())
	}
	return &File{path, filter, lock}, nil
}

// Close lets another process use the file.
func (f *File) Close() error { return f.lock.Close() }

// kept is the content of a file.
type kept struct {
	Filter
	Cursor
}

// Load implements Keeper. Error: the file is not a cursor, or that of another filter.
func (f *File) Load(context.Context) (c Cursor, err error) {
	text, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	var k kept
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&k); err != nil {
		return c, fmt.Errorf("%s is not the cursor of a receiver: give another file: %w", f.path, err)
	}
	if k.Filter != f.filter {
		return c, fmt.Errorf("%s is the cursor of other events (type %q, account %q): give the same filters, or "+
			"another file", f.path, k.Type, k.Account)
	}
	return k.Cursor, nil
}

// Store implements Keeper.
func (f *File) Store(_ context.Context, c Cursor) error {
	text, err := json.Marshal(kept{f.filter, c})
	if err != nil {
		return err
	}
	return durable.WriteFile(f.path, f.path+".new", append(text, '\n'), 0o600)
}

// Item keeps the cursor of a target in the table. It is not safe for concurrent use.
type Item struct {
	table   store.Table
	target  string
	version int64 // of the stored cursor; 0: there is none
}

// NewItem returns the keeper of a target's cursor. target is an id.
func NewItem(t store.Table, target string) *Item { return &Item{table: t, target: target} }

// Load implements Keeper. Errors: those of store.Table, and store.ErrMalformedItem.
func (k *Item) Load(ctx context.Context) (c Cursor, err error) {
	item, _, err := k.table.Get(ctx, store.Forwarded.Key(k.target), store.Strong)
	if err != nil || item == nil {
		return c, err
	}
	r := store.Open(item, store.Forwarded.Type)
	c.After, k.version = r.Text(store.AttrAfter), r.Integer(store.AttrVersion)
	if item[store.AttrAt] != nil {
		if c.At, err = events.ParseTime(r.Text(store.AttrAt)); err != nil {
			r.Fail(store.AttrAt, err.Error())
		}
	}
	return c, r.Err()
}

// Store implements Keeper. c.From is not stored.
func (k *Item) Store(ctx context.Context, c Cursor) error {
	item := store.Begin(store.Forwarded.Key(k.target), store.Forwarded.Type)
	item[store.AttrAfter], item[store.AttrVersion] = store.String(c.After), store.Integer(k.version+1)
	if !c.At.IsZero() {
		item[store.AttrAt] = store.String(events.FormatTime(c.At))
	}
	w := store.Write{Item: item, If: store.IfAbsent}
	if k.version > 0 {
		w.If, w.Names = "#version = :version", map[string]string{"#version": store.AttrVersion}
		w.Values = store.Item{":version": store.Integer(k.version)}
	}
	_, err := k.table.Write(ctx, w)
	if _, refused := errors.AsType[*store.Refused](err); refused {
		return ErrMoved
	}
	if err == nil {
		k.version++
	}
	return err
}
