package rebuild

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// allViews rebuilds the items that owner, an account or a group, has in any view. drop is Scope.DropMissing. Error:
// that of ctx, or of listing keys.
func (b *Rebuilder) allViews(ctx, uncanceled context.Context, owner projections.Target, drop bool,
	report func(Report),
) error {
	for _, view := range projections.Declared {
		if owner.View = view; owner.Account == "" && !view.OfGroups {
			continue
		}
		if err := b.view(ctx, uncanceled, owner, drop, report); err != nil {
			return err
		}
	}
	return nil
}

// view rebuilds the items of one view: first those that events make, then the others that are stored.
func (b *Rebuilder) view(ctx, uncanceled context.Context, owner projections.Target, drop bool,
	report func(Report),
) error {
	targets, strays, err := b.targets(uncanceled, owner)
	if err != nil {
		return err
	}
	judged := make(map[table.Key]bool)
	for _, t := range targets {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, r := range b.target(uncanceled, t, judged) {
			report(r)
		}
	}
	stored, err := b.keys(uncanceled, owner, owner.View.Items)
	if err != nil {
		return err
	}
	for _, key := range stored {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch t, ok := owner.View.Owner(table.KeyItem(key)); {
		case judged[key]:
		case !ok:
			strays = append(strays, malformed(key))
		default:
			t.View = owner.View
			report(b.Item(uncanceled, Report{Target: t}, owner.View, key, nil, drop))
		}
	}
	if len(strays) > 0 {
		owner.View = nil
		report(Report{Target: owner, Strays: strays})
	}
	return nil
}

func malformed(key table.Key) Stray { return Stray{Key: key, Why: "the id in its key is malformed"} }

// targets returns the targets that owner's events touch, each once. Those of postings are the holds that were recorded
// while the balances were rebuilt. Keys of events that are malformed are strays.
func (b *Rebuilder) targets(ctx context.Context, owner projections.Target) (
	targets []projections.Target, strays []Stray, err error,
) {
	var records []projections.Record
	if owner.View.Event == table.Posting.Pattern {
		for _, hold := range slices.Sorted(maps.Keys(b.holds)) {
			figures := &events.Figures{Hold: hold}
			records = append(records, projections.Record{SK: table.Posting.Prefix(), Figures: figures})
		}
	} else {
		keys, err := b.keys(ctx, owner, owner.View.Event.All())
		if err != nil {
			return nil, nil, err
		}
		for _, key := range keys {
			records = append(records, projections.Record{PK: key.PK, SK: key.SK})
		}
	}
	known := make(map[projections.Target]bool)
	for _, r := range records {
		t, _, ok := owner.View.Touched(r)
		if !ok {
			strays = append(strays, malformed(r.Key()))
		}
		if !ok || t == (projections.Target{}) {
			continue
		}
		if t.Account == "" && t.Group == "" {
			t.Account = owner.Account // it has items of several accounts
		}
		if !known[t] {
			known[t] = true
			targets = append(targets, t)
		}
	}
	return targets, strays, nil
}

// keys lists the keys of owner's items in a range.
func (b *Rebuilder) keys(ctx context.Context, owner projections.Target, within table.Range) (
	keys []table.Key, err error,
) {
	q := table.Query{
		Partition: table.Account.PK(owner.Account), Within: within, Consistency: table.Strong, Attributes: keysOnly,
	}
	if owner.Group != "" {
		q.Partition = table.Group.PK(owner.Group)
	}
	for item, err := range table.All(ctx, b.Retried(), q) {
		if err != nil {
			return nil, fmt.Errorf("list keys of %s: %w", q.Partition, err)
		}
		keys = append(keys, table.ItemKey(item))
	}
	return keys, nil
}

// target rebuilds the items that the events of t make, and adds their keys to judged. Items with the same
// projections.Row.Target share a report.
func (b *Rebuilder) target(ctx context.Context, t projections.Target, judged map[table.Key]bool) (reports []Report) {
	var rows []projections.Row
	err := b.Retry(ctx, func() (err error) {
		rows, err = t.View.Fold(ctx, b.views, t, projections.Seen{})
		return err
	})
	if err != nil {
		return []Report{{Target: t, Err: fmt.Errorf("read events: %w", err)}}
	}
	for i, row := range rows {
		key := table.ItemKey(t.View.Item(row.Value))
		judged[key] = true
		if i == 0 || row.Target != rows[i-1].Target {
			reports = append(reports, Report{Target: row.Target})
		}
		if of := &reports[len(reports)-1]; of.Err == nil {
			found := b.Item(ctx, Report{}, t.View, key, &row, false)
			of.Differences, of.Strays = append(of.Differences, found.Differences...), append(of.Strays, found.Strays...)
			of.Err = found.Err
		}
	}
	return reports
}

// Item rebuilds the item of key in a view. An item without events becomes View.None, or is a stray. The write is
// conditional on the item being unchanged. An item that shows known, which events made before, is right, and an absent
// one becomes known. nil: none is known, and the target is that of the stored item. For any other item the events are
// read after it, so that a newer one is not taken for wrong.
//
// While a wrong, too high number was stored, a projector may have skipped an event that was made after the rebuild read
// the events. So an item that was wrong is rebuilt a second time. Errors in the report: those of table.Table and of
// View.Fold; table.ErrConflict after too many conflicts.
func (b *Rebuilder) Item(ctx context.Context, report Report, view *projections.View, key table.Key,
	known *projections.Row, drop bool,
) Report {
	before := known // until it does not fit
	attempt := func() error {
		report.Strays = nil
		item, _, err := b.table.Get(ctx, key, table.Strong)
		if err != nil {
			return fmt.Errorf("read projection: %w", err)
		}
		var row projections.Row
		switch {
		case before != nil && item == nil:
			row = *before
		case before != nil && Differs(item, view.Item(before.Value)) == nil:
			return nil
		default:
			row, err = b.row(ctx, view, key, item, known)
		}
		before = nil
		isAbsent := errors.Is(err, table.ErrAbsent)
		switch {
		case isAbsent && item == nil:
			return nil
		case isAbsent:
			row.Value = view.None(key)
		case err != nil:
			return fmt.Errorf("read events: %w", err)
		}
		becomes := view.Item(row.Value)
		if item != nil && Differs(item, becomes) == nil {
			return nil
		}
		d, number, revision, err := compared(view, key, item, row.Value)
		switch {
		case err != nil:
			return err
		case isAbsent && view.Orphan != "" && !drop:
			report.Strays = []Stray{{key, view.Orphan}}
			return nil
		}
		d.Behind = !isAbsent && b.IsYoung(row.At) &&
			(item == nil || number > 0 && number < table.Read(becomes).Integer(view.Counter))
		report.Differences = []Difference{d}
		if _, err := b.table.Write(ctx, revision.Replace(becomes, view.Counter)); err != nil {
			return fmt.Errorf("write projection: %w", err)
		}
		return nil
	}
	report.Err = b.Retry(ctx, attempt)
	if report.Err == nil && len(report.Differences) > 0 && !report.Differences[0].Absent {
		report.Err = b.Retry(ctx, attempt)
	}
	return report
}

// row returns what the events make of the item of key: those of the target of known, or if it is nil of the stored
// item. Error: also table.ErrAbsent.
func (b *Rebuilder) row(ctx context.Context, view *projections.View, key table.Key, item table.Item,
	known *projections.Row,
) (projections.Row, error) {
	if known == nil {
		if item == nil {
			item = table.KeyItem(key)
		}
		t, _ := view.Owner(item)
		known = &projections.Row{Target: t}
	}
	rows, err := view.Fold(ctx, b.views, known.Target, projections.Seen{})
	if err != nil {
		return projections.Row{}, err
	}
	for _, row := range rows {
		if table.ItemKey(view.Item(row.Value)) == key {
			return row, nil
		}
	}
	return projections.Row{}, table.ErrAbsent
}

// compared compares a stored item of a view, nil if it is absent, with its correct value. number is the one that the
// item shows, 0 if it cannot be decoded. Error: table.ErrNewerForm.
func compared(view *projections.View, key table.Key, item table.Item, becomes any) (
	d Difference, number int64, r projections.Revision, err error,
) {
	found, err := Inspect(key, item, view.Form)
	if err != nil {
		return d, 0, r, err
	}
	if _, err := view.Decode(item); err == nil {
		number = projections.NumberOf(item, view.Counter)
	}
	if d = differenceOf(key, found, becomes); item != nil && d.Fault == "" && len(d.Fields) == 0 {
		d.Fault = Differs(item, view.Item(becomes)).Error()
	}
	return d, number, found.Revision, nil
}
