package projections

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// A View declares one kind of numbered projection: items that each show the newest of some numbered events. The
// projector, redrive, a rebuild and a dry run derive what they do from the declaration. Balances are no views: they
// have a fold of their own, in segments.
type View struct {
	Name   string // plural, for messages
	Figure string // under which rebuild and redrive count its targets; "": Name

	// Form is the stored form. Its Counter is the number of the event that an item shows, which no write lowers.
	Form[any]

	// Event is the kind of the events, with all kinds whose SKs begin alike. They are projected because of it: the
	// projector's filter in template.yaml is generated from the views.
	Event *table.Pattern
	// Of returns what such an event touches: the target whose Fold reads it, and the number that the target's items
	// must then have. The zero target is none. ok is false if the key is malformed; Touched checks the ids in the
	// target.
	Of func(Record) (t Target, number int64, ok bool)
	// Fold reads the events of a target, strongly consistent, and returns the items that they make. With the Views of a
	// Projector it leaves out what a Lister writes, because it is in a list that many share: a throttled list must not
	// delay a balance. Errors: those of Views; table.ErrAbsent if there are no events.
	Fold func(ctx context.Context, v *Views, t Target, seen Seen) ([]Row, error)

	// A rebuild reads the keys of an account's events, and folds the targets that they touch. Then it looks for other
	// items of the account in Items. OfGroups: also for each group.
	Items    table.Range
	OfGroups bool
	// Owner returns the target of a stored item, which may be only a key. ok is false if the key is malformed.
	Owner func(table.Item) (t Target, ok bool)
	// None returns the value of an item without an event. If Orphan is not "", it says why such an item is a stray, and
	// only a rebuild that drops what is missing writes None.
	None   func(table.Key) any
	Orphan string
}

// Declared are all views. declare adds to it while the package is initialized.
var Declared []*View

// declare makes a view one of those that are projected, rebuilt and redriven.
func declare(v *View) *View {
	v.Figure = cmp.Or(v.Figure, v.Name)
	Declared = append(Declared, v)
	return v
}

// Figures are the figures under which views are counted, each once.
func Figures() (names []string) {
	for _, v := range Declared {
		if !slices.Contains(names, v.Figure) {
			names = append(names, v.Figure)
		}
	}
	return names
}

// IsProjected reports whether the projector reads events with this SK: postings, and those of views.
func IsProjected(sk string) bool {
	return table.Posting.Is(sk) || slices.ContainsFunc(Declared, func(v *View) bool { return v.Event.Is(sk) })
}

// Touched returns what a record touches of v, and the number, as Of does. The zero Target is none. ok is false if the
// event is of v and its key is malformed.
func (v *View) Touched(r Record) (t Target, number int64, ok bool) {
	if !v.Event.Is(r.SK) {
		return t, 0, true
	}
	t, number, ok = v.Of(r)
	for _, id := range []string{t.Account, t.Group, t.User} {
		ok = ok && (id == "" || events.ValidID(id))
	}
	switch {
	case !ok:
		return Target{}, 0, false
	case t != Target{}:
		t.View = v
	}
	return t, number, true
}

// A Row is one item of a view as its events say.
type Row struct {
	Target           // under which a rebuild reports it
	Value  any       // View.Item makes it an item
	At     time.Time // of the newest event that it shows
}

// Seen bounds the numbers of the events whose records touched a target. Zero: no record did.
type Seen struct{ Lowest, Highest int64 }

func (s *Seen) add(number int64) {
	if s.Lowest == 0 || number < s.Lowest {
		s.Lowest = number
	}
	s.Highest = max(s.Highest, number)
}

// entriesAtOnce is how many items of one target are written in parallel.
const entriesAtOnce = 8

// Refresh writes the items of t.View for a target. An item never replaces one with a higher number, so late and
// repeated calls are safe, and a slow writer cannot undo a later event. Errors: those of the Fold and of Views;
// table.ErrConflict after too many conflicts.
func (p *Projector) Refresh(ctx context.Context, t Target, seen Seen) error {
	return p.retryOnConflict(ctx, func() error {
		rows, err := t.View.Fold(ctx, p.views, t, seen)
		if err != nil {
			return fmt.Errorf("read events of %s: %w", t, err)
		}
		var values []any
		for _, row := range rows {
			values = append(values, row.Value)
		}
		if err := p.views.Show(ctx, t.View, values...); err != nil {
			return fmt.Errorf("write %s: %w", t, err)
		}
		return nil
	})
}

// Show writes the items of values of a view, one request for each. If an item with the same or a higher number is
// stored, it writes nothing and returns nil.
func (v *Views) Show(ctx context.Context, view *View, values ...any) error {
	running, ctx := errgroup.WithContext(ctx)
	running.SetLimit(entriesAtOnce)
	for _, value := range values {
		w := view.put(value)
		running.Go(func() error {
			_, err := v.table.Write(ctx, w)
			if _, refused := errors.AsType[*table.Refused](err); refused {
				return nil // the stored item is as new or newer
			}
			return err
		})
	}
	return running.Wait()
}

// put returns the write of a value's item, on the condition that no item with the same or a higher number is stored.
func (v *View) put(value any) table.Write {
	w := table.Write{Item: v.Item(value)}
	if v.Counter != "" {
		w.If, w.Names = table.IfAbsent+" OR #number < :number", map[string]string{"#number": v.Counter}
		w.Values = table.Item{":number": w.Item[v.Counter]}
	}
	return w
}

// Target names what a stream record affects: the balance of an account in an asset, items of a View, or the lists of
// transactions and of open holds with the journal.
type Target struct {
	View                              *View // nil: a balance or the lists
	Account, Group, Asset, User, Hold string
	Tag                               string // a metadata key, of an account in a list
	Lists                             bool   // a Lister writes these and the journal, a Projector all others
}

// String is "jane USD", "jane, member u-17", "group desk, member u-17", "jane, its groups", "hold h-1" or "lists and
// journal".
func (t Target) String() string {
	switch {
	case t.Lists:
		return "lists and journal"
	case t.Hold != "":
		return "hold " + t.Hold
	case t.Group != "" && t.User != "":
		return "group " + t.Group + ", member " + t.User
	case t.User != "":
		return t.Account + ", member " + t.User
	case t.View != nil:
		return t.Account + ", its " + t.View.Name
	}
	return t.Account + " " + t.Asset
}

// lane returns the key that serializes work: targets with the same lane are processed one after another.
func (t Target) lane() string {
	switch {
	case t.Hold != "":
		return "#" + t.Hold // # and % never begin the id of an account
	case t.Account == "":
		return "%" + t.Group
	}
	return t.Account
}

// TargetOf returns the first target of the event with a key, and the lists if it has no other; the journal may list an
// event with another target, too. It is the zero Target if the event is not projected. ok is false if it is projected
// and its key is malformed; then at most Lists is set. The target is never a hold: no key contains a hold's id, but the
// figures of the postings that place or end the hold do.
func TargetOf(k table.Key) (t Target, ok bool) {
	ok = eachTarget(Record{PK: k.PK, SK: k.SK}, func(found Target, _ int64) {
		if t == (Target{}) {
			t = found
		}
	})
	if ok && t == (Target{}) && table.IsJournaled(k.SK) {
		return Target{Lists: true}, table.IsEventKey(k)
	}
	return t, ok
}

// eachTarget calls touch for each balance and each target of a view that the event of a record touches, with the number
// that View.Touched gives. It returns false if the event is projected and its key is malformed.
func eachTarget(r Record, touch func(t Target, number int64)) (ok bool) {
	if table.Posting.Is(r.SK) {
		account, asset, id, ok := table.Posting.Parse(r.Key())
		if _, err := events.ParseKSUID(id); !ok || err != nil || !events.ValidID(asset) || !events.ValidID(account) {
			return false
		}
		touch(Target{Account: account, Asset: asset}, 0)
	}
	for _, view := range Declared {
		switch t, number, ok := view.Touched(r); {
		case !ok:
			return false
		case t != Target{}:
			touch(t, number)
		}
	}
	return true
}
