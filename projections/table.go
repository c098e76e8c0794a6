package projections

import (
	"context"
	"iter"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// Views reads and writes projections, and reads the events that they are computed from, as items of a table. Every
// method makes one request to the table, or one for each page, unless it says otherwise. Queries are strongly
// consistent, or eventually if the Views is Eventual; all other reads are strongly consistent. Errors wrap those of
// package table, and are those of table.Table; reads also return ErrMalformedItem and, for events, the errors of
// package events. Their texts do not name the operation: callers add it. A Views is safe for concurrent use.
type Views struct {
	table   table.Table
	lanes   *table.LaneLog // nil in the Views of a Projector: it writes nothing that lies in lanes
	queries table.Consistency
	saw     func([]Posting) // see Watched; may be nil
}

// NewViews returns the views in a table.
func NewViews(t table.Table) *Views {
	return &Views{table: t, lanes: table.NewLaneLog(t, nil), queries: table.Strong}
}

// Eventual returns views of the same table whose queries are eventually consistent, for plain reads of the past.
func (v *Views) Eventual() *Views {
	return &Views{table: v.table, lanes: v.lanes, queries: table.Eventual}
}

// Watched returns views of the same table that call saw for each page of postings that they read for a fold.
func (v *Views) Watched(saw func(page []Posting)) *Views {
	return &Views{table: v.table, lanes: v.lanes, queries: v.queries, saw: saw}
}

// Repairer rebuilds balances that a refold finds lost. Errors are those of Views.
type Repairer interface {
	// IsLost reports whether the item of b was lost. b counts nothing yet or is unfinished. Its item was lost if there
	// are segments that b does not count. ErrConflict: the balance changed in between.
	IsLost(ctx context.Context, b Balance) (bool, error)
	// RebuildLost rebuilds the lost balance of k.
	RebuildLost(ctx context.Context, k events.Pair) error
	// CountSummary recomputes the account's summary and adds it to c. It is for a c that creates a balance, if the
	// stored summary does not count as many balances as are stored: the item of this one may have been lost.
	CountSummary(ctx context.Context, c *Change) error
}

// Balance reads the balance of k. It returns the zero balance if none is stored. It also returns the store's clock in
// whole seconds, zero if unknown.
func (v *Views) Balance(ctx context.Context, k events.Pair) (Balance, time.Time, error) {
	return get(ctx, v.table, table.Balance.Key(k.Account, k.Asset), BalanceForm)
}

// Summary reads an account's summary. It returns the zero summary if none is stored.
func (v *Views) Summary(ctx context.Context, account string) (Summary, error) {
	s, _, err := get(ctx, v.table, table.Summary.Key(account), SummaryForm)
	return s, err
}

// get reads the value of a key, and the store's clock.
func get[T any](ctx context.Context, t table.Table, k table.Key, form Form[T]) (value T, at time.Time, err error) {
	item, at, err := t.Get(ctx, k, table.Strong)
	if err != nil {
		return value, at, err
	}
	value, err = form.decodeOr(k, item)
	return value, at, err
}

// decodeOr decodes an item. If it is nil, the value is empty.
func (f Form[T]) decodeOr(k table.Key, item table.Item) (T, error) {
	if item == nil {
		return f.Bare(k, 0), nil
	}
	return f.Decode(item)
}

// countBalances returns the number of an account's balances that count a posting. It decodes nothing else of them.
func (v *Views) countBalances(ctx context.Context, account string) (n int64, err error) {
	q := v.within(account, table.Balance.All())
	q.Attributes = append([]string{table.AttrHead}, keysOnly...)
	counts := func(item table.Item) (bool, error) { return item[table.AttrHead] != nil, nil }
	for p, err := range readPages(ctx, v.table, q, counts) {
		if err != nil {
			return 0, err
		}
		for _, counts := range p.found {
			if counts {
				n++
			}
		}
	}
	return n, nil
}

// IsClosed reports whether account is closed. It decodes only the state: a fault of the rest is left to the audit.
func (v *Views) IsClosed(ctx context.Context, account string) (bool, error) {
	item, _, err := v.table.Get(ctx, table.Current.Key(account), table.Strong)
	if err != nil || item == nil {
		return false, err
	}
	r := table.Open(item, table.Current.Type)
	return r.Text("State") == string(events.StateClosed), r.Err()
}

// SegmentFrom reads the first segment of k whose Through is at or after id. The segment may begin after id. Error: also
// ErrAbsent.
func (v *Views) SegmentFrom(ctx context.Context, k events.Pair, id events.KSUID) (Segment, error) {
	item, err := table.First(ctx, v.table, v.within(k.Account, table.Segment.All(k.Asset).Since(string(id))))
	if err != nil {
		return Segment{}, err
	}
	return decodeSegment(item)
}

// BalanceWithSegment reads the balance of k and the segment that ends at through in one serializable request. Errors:
// also ErrConflict, and ErrAbsent if no such segment is stored.
func (v *Views) BalanceWithSegment(ctx context.Context, k events.Pair, through events.KSUID) (
	b Balance, s Segment, err error,
) {
	balance, segment := table.Balance.Key(k.Account, k.Asset), table.Segment.Key(k.Account, k.Asset, string(through))
	items, _, err := v.table.Snapshot(ctx, []table.Key{balance, segment})
	if err != nil {
		return b, s, err
	}
	if items[1] == nil {
		return b, s, table.ErrAbsent
	}
	if b, err = BalanceForm.decodeOr(balance, items[0]); err == nil {
		s, err = decodeSegment(items[1])
	}
	return b, s, err
}

// NextAsset returns the first asset after `after` ("": the first of all) in which account has postings. It makes one
// request, and one more for each malformed key that it skips: the projector and the audit report these. It continues
// right after such a key, since well-formed postings of the same asset may follow. Error: also ErrAbsent, if there is
// none.
func (v *Views) NextAsset(ctx context.Context, account, after string) (string, error) {
	q := v.within(account, table.Posting.NextAfter(after))
	q.Attributes = keysOnly
	for {
		item, err := table.First(ctx, v.table, q)
		if err != nil {
			return "", err
		}
		key, err := table.KeyOf(item)
		if err != nil {
			return "", err
		}
		_, asset, id, ok := table.Posting.Parse(key)
		if _, err := events.ParseKSUID(id); ok && err == nil {
			return asset, nil
		}
		q.After = table.KeyItem(key)
	}
}

// newest reads the newest event in a range of a partition, strongly consistent. Error: also ErrAbsent.
func newest[E events.Event](ctx context.Context, v *Views, partition string, within table.Range) (e E, err error) {
	item, err := table.First(ctx, v.table, table.Query{
		Partition: partition, Within: within, Descending: true, Consistency: table.Strong,
	})
	if err != nil {
		return e, err
	}
	return decodeAs[E](item)
}

// keysOnly projects an item to its key.
var keysOnly = []string{table.AttrPK, table.AttrSK}

// within returns a query of r in an account's partition.
func (v *Views) within(account string, r table.Range) table.Query {
	return table.Query{Partition: table.Account.PK(account), Within: r, Consistency: v.queries}
}

// page is a decoded page of a query, and the store's clock when it was read.
type page[T any] struct {
	found []T
	next  table.Item
	at    time.Time
}

// readPage reads and decodes a page of a query, of which only the last may be empty. If the range is empty it makes no
// request, and the clock is zero.
func readPage[T any](ctx context.Context, t table.Table, q table.Query, decode func(table.Item) (T, error)) (
	p page[T], err error,
) {
	if q.Within.Empty() {
		return p, nil
	}
	read, err := table.NextPage(ctx, t, q)
	if err != nil {
		return p, err
	}
	p = page[T]{make([]T, len(read.Items)), read.Next, read.At}
	for i, item := range read.Items {
		if p.found[i], err = decode(item); err != nil {
			return page[T]{}, err
		}
	}
	return p, nil
}

// readPages yields the pages of a query, each as readPage returns it. The first error ends it.
func readPages[T any](ctx context.Context, t table.Table, q table.Query, decode func(table.Item) (T, error),
) iter.Seq2[page[T], error] {
	return func(yield func(page[T], error) bool) {
		for {
			p, err := readPage(ctx, t, q, decode)
			if !yield(p, err) || err != nil || p.next == nil {
				return
			}
			q.After = p.next
		}
	}
}

// batchesAtOnce is how many batches of items are read in parallel.
const batchesAtOnce = 8

// forEach reads the items of keys, a hundred in a request, and then calls add for each. Errors: also those of add.
func forEach(ctx context.Context, t table.Table, keys []table.Key, c table.Consistency,
	add func(key table.Key, item table.Item) error,
) error {
	batches := slices.Collect(slices.Chunk(keys, table.BatchGetKeys))
	read := make([][]table.Item, len(batches))
	running, ctx := errgroup.WithContext(ctx)
	running.SetLimit(batchesAtOnce)
	for i, batch := range batches {
		running.Go(func() (err error) {
			read[i], _, err = t.BatchGet(ctx, batch, c)
			return err
		})
	}
	if err := running.Wait(); err != nil {
		return err
	}
	for _, item := range slices.Concat(read...) {
		key, err := table.KeyOf(item)
		if err != nil {
			return err
		}
		if err := add(key, item); err != nil {
			return err
		}
	}
	return nil
}

// decodeAs decodes an event of one type.
func decodeAs[E events.Event](item table.Item) (E, error) {
	return table.Only[E](table.DecodeEvent(item))
}

// decodeListed decodes an event of one type from the inverse index.
func decodeListed[E events.Event](item table.Item) (E, error) {
	return table.Only[E](table.DecodeListed(item))
}
