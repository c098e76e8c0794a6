// Package forward delivers the events of the journal to a receiver outside the ledger. Each event is delivered at least
// once, and none is lost.
//
// A Forwarder reads the journal after its cursor, delivers, and only then stores the cursor, which passes no event that
// is not delivered: the journal is the queue, and there is no dead letter. What the receiver took behind such an event
// is remembered, so that the next round does not send it again. A crash between the delivery and the cursor, and a
// cursor that is set back, deliver events again, with the same id. The end of a hold may arrive before its hold.
package forward

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"syscall"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/durable"
	"ledger.example/internal/table"
)

// Cursor is how far a receiver got in the journal.
type Cursor struct {
	After string    `json:"after,omitempty"` // the position that reading continues after; "" for none
	From  time.Time `json:"from,omitzero"`   // where reading begins without After; zero: at the journal's beginning
	At    time.Time `json:"at,omitzero"`     // the latest time of recording of a delivered event; zero: not known
}

// Margin is how long before a time forwarding begins that is to have all events recorded since then. It is more than
// the difference between the clocks of commands, listers and forwarders: an event is listed at most so long before it
// was recorded.
const Margin = time.Minute

// ErrMoved means that another forwarder, or an operator, moved the cursor since it was loaded.
var ErrMoved = errors.New("the cursor was moved by another process")

// Keeper keeps the cursor of one receiver. One Forwarder uses it.
type Keeper interface {
	// Load returns the cursor, the zero one if none was stored.
	Load(ctx context.Context) (Cursor, error)
	// Store stores the cursor, if it is as this Keeper loaded or stored it last. Error: ErrMoved, nothing was stored.
	Store(ctx context.Context, c Cursor) error
}

// Target delivers events to a receiver, and returns for each whether the receiver took it. Those that taken does not
// reach were not taken. err says why not all were. It ends early, without an error, when ctx ends, but it does not
// break off a delivery that it began.
type Target func(ctx context.Context, all []client.JournalEntry) (taken []bool, err error)

// Forwarder delivers the journal to one receiver. It runs once.
type Forwarder struct {
	Read    func(ctx context.Context, c Cursor) (client.JournalPage, error) // the next page after a cursor
	Keep    Keeper
	Deliver Target
	Wants   func(client.JournalEntry) (bool, error) // which events are delivered; nil: all
	Log     *slog.Logger

	// done has the ids of the events behind the cursor that need no delivery, at most those of one page: the receiver
	// took them, or they are not wanted.
	done map[string]bool
}

// Round is the result of one page.
type Round struct {
	Delivered int           // events that the receiver took
	More      bool          // the cursor moved, and the next page may have events
	Lag       time.Duration // how long ago the oldest event was recorded that is not delivered; 0: all are
	Failed    int           // rounds in a row that failed, with this one, since the receiver took an event
	Err       error         // why it failed
}

// Run delivers until pause returns an error, which it returns. pause is called after each round: it waits, or ends the
// run. Error: also ErrMoved, and one of loading the cursor.
func (f *Forwarder) Run(ctx context.Context, pause func(ctx context.Context, r Round) error) error {
	f.done = make(map[string]bool)
	c, err := f.Keep.Load(ctx)
	for failed := 0; err == nil; {
		var r Round
		c, r = f.round(ctx, c)
		if r.Err == nil || r.Delivered > 0 {
			failed = 0
		}
		if r.Err != nil {
			failed++
		}
		r.Failed = failed
		switch {
		case errors.Is(r.Err, ErrMoved):
			return r.Err
		case r.Err != nil && ctx.Err() == nil:
			f.Log.WarnContext(ctx, "events are not delivered", "delivered", r.Delivered, "behind", r.Lag.String(),
				"failed", failed, "error", r.Err)
		case r.Delivered > 0:
			f.Log.InfoContext(ctx, "events delivered", "delivered", r.Delivered, "behind", r.Lag.String())
		}
		err = pause(ctx, r)
	}
	return err
}

// round reads a page, delivers it, and stores the cursor before the first event that is not delivered. It returns the
// cursor to go on with.
func (f *Forwarder) round(ctx context.Context, c Cursor) (Cursor, Round) {
	page, err := f.Read(ctx, c)
	if err != nil {
		return c, Round{Err: err}
	}
	r, next := Round{}, c
	r.Delivered, r.Err = f.deliver(ctx, page.Data)
	passed := slices.IndexFunc(page.Data, func(e client.JournalEntry) bool { return !f.done[e.ID] })
	if passed < 0 {
		passed = len(page.Data)
	}
	if passed > 0 {
		last := page.Data[passed-1]
		next = Cursor{After: last.Cursor, At: c.At}
		if at := timeOf(last); at.After(next.At) {
			next.At = at // the last one may be old: a rebuild lists what was missing
		}
		r.Lag = time.Since(timeOf(last))
	}
	if passed < len(page.Data) {
		r.Lag = time.Since(timeOf(page.Data[passed]))
	} else if next.After = page.NextCursor; next.After == c.After {
		r.Lag = 0
	}
	if r.More = next.After != c.After; r.More {
		if err := f.Keep.Store(context.WithoutCancel(ctx), next); err != nil {
			r.More, r.Err = false, errors.Join(r.Err, err)
			return c, r
		}
		f.forget(page.Data[passed:])
	}
	return next, r
}

// deliver delivers the events of a page that are wanted and not done, and returns how many the receiver took.
func (f *Forwarder) deliver(ctx context.Context, page []client.JournalEntry) (delivered int, err error) {
	var wanted []client.JournalEntry
	asked := make(map[string]bool) // the journal may list an event twice
	for _, e := range page {
		if f.done[e.ID] || asked[e.ID] {
			continue
		}
		is := true
		if f.Wants != nil {
			if is, err = f.Wants(e); err != nil {
				return 0, err
			}
		}
		if is {
			wanted, asked[e.ID] = append(wanted, e), true
		} else {
			f.done[e.ID] = true
		}
	}
	if len(wanted) == 0 {
		return 0, nil
	}
	taken, err := f.Deliver(ctx, wanted)
	for i, is := range taken {
		if is {
			f.done[wanted[i].ID] = true
			delivered++
		}
	}
	return delivered, err
}

// forget keeps of what is done only the events that are still behind the cursor.
func (f *Forwarder) forget(behind []client.JournalEntry) {
	still := make(map[string]bool)
	for _, e := range behind {
		if f.done[e.ID] {
			still[e.ID] = true
		}
	}
	f.done = still
}

func timeOf(e client.JournalEntry) time.Time {
	at, _ := time.Parse(time.RFC3339, e.At)
	return at
}

// ID returns the id of the delivery of an event: the same in every delivery, and without a dot.
func ID(e client.JournalEntry) string {
	sum := sha256.Sum256([]byte(e.ID))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Body returns what a receiver gets: an entry of the journal as JSON. It has no cursor, so that it is the same in every
// delivery.
func Body(e client.JournalEntry) ([]byte, error) {
	return json.Marshal(struct {
		ID        string          `json:"id"`
		Type      string          `json:"type"`
		At        string          `json:"at"`
		Data      json.RawMessage `json:"data"`
		Canonical string          `json:"canonical"`
	}{e.ID, e.Type, e.At, e.Data, e.Canonical})
}

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

// Close lets another process use the file. A process that is being started has a copy of the open file for a moment,
// which would keep the lock.
func (f *File) Close() error {
	return errors.Join(syscall.Flock(int(f.lock.Fd()), syscall.LOCK_UN), f.lock.Close())
}

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
	table   table.Table
	target  string
	version int64 // of the stored cursor; 0: there is none
}

// NewItem returns the keeper of a target's cursor. target is an id.
func NewItem(t table.Table, target string) *Item { return &Item{table: t, target: target} }

// Load implements Keeper. Errors: those of table.Table, and table.ErrMalformedItem.
func (k *Item) Load(ctx context.Context) (c Cursor, err error) {
	item, _, err := k.table.Get(ctx, table.Forwarded.Key(k.target), table.Strong)
	if err != nil || item == nil {
		return c, err
	}
	r := table.Open(item, table.Forwarded.Type)
	c.After, k.version = r.Text(table.AttrAfter), r.Integer(table.AttrVersion)
	if item[table.AttrAt] != nil {
		if c.At, err = events.ParseTime(r.Text(table.AttrAt)); err != nil {
			r.Fail(table.AttrAt, err.Error())
		}
	}
	return c, r.Err()
}

// Store implements Keeper. c.From is not stored.
func (k *Item) Store(ctx context.Context, c Cursor) error {
	item := table.Begin(table.Forwarded.Key(k.target), table.Forwarded.Type)
	item[table.AttrAfter], item[table.AttrVersion] = table.String(c.After), table.Integer(k.version+1)
	if !c.At.IsZero() {
		item[table.AttrAt] = table.String(events.FormatTime(c.At))
	}
	w := table.Write{Item: item, If: table.IfAbsent}
	if k.version > 0 {
		w.If, w.Names = "#version = :version", map[string]string{"#version": table.AttrVersion}
		w.Values = table.Item{":version": table.Integer(k.version)}
	}
	_, err := k.table.Write(ctx, w)
	if _, refused := errors.AsType[*table.Refused](err); refused {
		return ErrMoved
	}
	if err == nil {
		k.version++
	}
	return err
}
