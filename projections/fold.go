package projections

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// ErrOrder is returned when a posting is added to a fold that ends at or after it: the fold may count it already.
var ErrOrder = errors.New("posting is not after the fold")

// Fold is the sum of the postings of one pair up to and including Through. The zero Fold is that of no postings.
type Fold struct {
	Through     events.KSUID
	Credits     events.Amount // sum of the positive quantities, at most 38 digits
	Debits      events.Amount // sum of the negative quantities' magnitudes
	Expenditure events.Amount // sum of the signed costs
	Count       int64         // number of postings

	// Holds is the number of postings that place or end a hold. It never decreases. An item with holds has another
	// type, and the type is in an index: each change of it would cost an index write.
	Holds int64
	// Pending amounts are those of open holds. In a stretch that has the end of a hold but not its placing, they are
	// negative.
	PendingDebits  events.Amount
	PendingCredits events.Amount
	Returned       events.Amount // total that ended holds gave back of their debits; never decreases
}

// Posting is the part of a posting that a fold counts.
type Posting struct {
	ID events.KSUID
	events.Figures
}

// Funds is the total ever received, by credits and from ended holds. Spent exceeds it by the account's limit at most.
func (f Fold) Funds() (events.Amount, error) { return f.Credits.Add(f.Returned) }

// Spent is the total ever spent or held. It equals the account's guard when no command is in flight.
func (f Fold) Spent() (events.Amount, error) {
	held, err := f.PendingDebits.Add(f.Returned)
	if err != nil {
		return events.Amount{}, err
	}
	return f.Debits.Add(held)
}

// Quantity is credits less debits.
func (f Fold) Quantity() events.Amount {
	// Neither is negative, so their difference has no more digits than the longer.
	quantity, _ := f.Credits.Sub(f.Debits)
	return quantity
}

// Add returns f with p counted. All sums of postings are made by Add. Errors: events.ErrOverflow; ErrOrder when p is
// not after f.Through.
func (f Fold) Add(p Posting) (Fold, error) {
	if p.ID <= f.Through {
		return Fold{}, ErrOrder
	}
	var err error
	if p.Quantity.Sign() < 0 {
		f.Debits, err = f.Debits.Sub(p.Quantity)
	} else {
		f.Credits, err = f.Credits.Add(p.Quantity)
	}
	if err != nil {
		return Fold{}, err
	}
	if f.Expenditure, err = f.Expenditure.Add(p.Cost); err != nil {
		return Fold{}, err
	}
	if p.Phase != "" {
		if f, err = f.addPending(p); err != nil {
			return Fold{}, err
		}
	}
	if f.Count == math.MaxInt64 {
		return Fold{}, events.ErrOverflow
	}
	f.Through = p.ID
	f.Count++
	return f, nil
}

// addPending counts the pending amounts of a posting of a hold.
func (f Fold) addPending(p Posting) (Fold, error) {
	f.Holds++ // at most Count
	isDebit := p.Pending.Sign() < 0
	if p.Phase.Ends() {
		isDebit = p.Pending.Sign() > 0
	}
	var err error
	if !isDebit {
		f.PendingCredits, err = f.PendingCredits.Add(p.Pending)
		return f, err
	}
	if f.PendingDebits, err = f.PendingDebits.Sub(p.Pending); err != nil || p.Phase == events.PhasePlaced {
		return f, err
	}
	returned, err := p.Pending.Add(p.Quantity) // the part of the hold that was not spent
	if err != nil {
		return f, err
	}
	f.Returned, err = f.Returned.Add(returned)
	return f, err
}

// amounts are the sums in f, in a fixed order.
func (f *Fold) amounts() [6]*events.Amount {
	return [...]*events.Amount{
		&f.Credits, &f.Debits, &f.Expenditure, &f.PendingDebits, &f.PendingCredits, &f.Returned,
	}
}

// Plus returns the sum of f and d, with f's Through. Error: events.ErrOverflow.
func (f Fold) Plus(d Fold) (sum Fold, err error) {
	sum = f
	added := d.amounts()
	for i, to := range sum.amounts() {
		if *to, err = to.Add(*added[i]); err != nil {
			return Fold{}, err
		}
	}
	sum.Count, sum.Holds = f.Count+d.Count, f.Holds+d.Holds
	if d.Count > 0 && sum.Count < f.Count || d.Count < 0 && sum.Count > f.Count {
		return Fold{}, events.ErrOverflow
	}
	return sum, nil
}

// Minus returns what f counts beyond g, with f's Through. Error: events.ErrOverflow.
func (f Fold) Minus(g Fold) (Fold, error) {
	for _, of := range g.amounts() {
		*of = of.Neg()
	}
	g.Count, g.Holds = -g.Count, -g.Holds
	return f.Plus(g)
}

// Earlier returns the earlier of two KSUIDs. "" is a missing one and never the earlier.
func Earlier(a, b events.KSUID) events.KSUID {
	if a == "" || b != "" && b < a {
		return b
	}
	return a
}

// addAll adds postings to f, and also returns the first of them.
func (f Fold) addAll(postings iter.Seq2[Posting, error]) (sum Fold, first events.KSUID, err error) {
	for p, err := range postings {
		if err != nil {
			return Fold{}, "", err
		}
		if f, err = f.Add(p); err != nil {
			return Fold{}, "", fmt.Errorf("fold posting %s: %w", p.ID, err)
		}
		if first == "" {
			first = p.ID
		}
	}
	return f, first, nil
}

// postingsPage is the maximum number of postings in one page: about 1.5 MB of memory. Ordinary postings stay below the
// 1 MB at which DynamoDB ends a page.
const postingsPage = 1000

// figures are the attributes of a posting's figures, and those that their checksum covers.
var figures = append(events.FigureFields(), table.AttrSK, table.AttrType, table.AttrForm, table.AttrChecksum)

// Postings yields the postings of k after `after` and through `through` ("": to the end), in order. It holds one page
// of them in memory. The first error ends it.
func (v *Views) Postings(ctx context.Context, k events.Pair, after, through events.KSUID,
) iter.Seq2[Posting, error] {
	q := v.postings(k, after, through)
	q.Limit, q.Attributes = postingsPage, figures
	pages := readPages(ctx, v.table, q, func(item table.Item) (Posting, error) { return decodePosting(k, item) })
	return func(yield func(Posting, error) bool) {
		for p, err := range pages {
			if err != nil {
				yield(Posting{}, fmt.Errorf("read postings: %w", err))
				return
			}
			if v.saw != nil {
				v.saw(p.found)
			}
			for _, posting := range p.found {
				if !yield(posting, nil) {
					return
				}
			}
		}
	}
}

func (v *Views) postings(k events.Pair, after, through events.KSUID) table.Query {
	return v.within(k.Account, table.Posting.All(k.Asset).After(string(after)).Through(string(through)))
}

// FoldOn adds to f the postings of k after it, through `through` ("": to the end). It also returns the first of these
// postings, "" if there are none. Errors: also those of Fold.Add.
func (v *Views) FoldOn(ctx context.Context, k events.Pair, f Fold, through events.KSUID) (
	sum Fold, first events.KSUID, err error,
) {
	return f.addAll(v.Postings(ctx, k, f.Through, through))
}

// CountPostings counts the postings of k after `after` and through `through` ("": to the end). It makes one request for
// each megabyte of postings.
func (v *Views) CountPostings(ctx context.Context, k events.Pair, after, through events.KSUID) (int64, error) {
	q := v.postings(k, after, through)
	if q.Within.Empty() {
		return 0, nil
	}
	q.CountOnly = true
	count := int64(0)
	for page, err := range table.Pages(ctx, v.table, q) {
		if err != nil {
			return 0, err
		}
		count += int64(page.Count)
	}
	return count, nil
}

// decodePosting decodes the part of a posting of k that a fold counts. It verifies the checksum.
func decodePosting(k events.Pair, item table.Item) (p Posting, err error) {
	key := table.Key{PK: table.Account.PK(k.Account), SK: table.TextOf(item[table.AttrSK])}
	_, asset, id, ok := table.Posting.Parse(key)
	if p.ID, err = events.ParseKSUID(id); !ok || asset != k.Asset || err != nil {
		return p, fmt.Errorf("%w: %s %s is not a posting of %s", table.ErrMalformedItem, key.PK, key.SK, k.Asset)
	}
	r := table.Read(item)
	form := r.Integer(table.AttrForm)
	if r.Err() != nil {
		return p, at(key, r.Err())
	}
	p.Figures, err = events.DecodeFigures(events.StoredPosting{
		Name: table.TextOf(item[table.AttrType]), Version: int(form), Checksum: table.TextOf(item[table.AttrChecksum]),
		Account: k.Account, Asset: k.Asset, ID: id,
	}, func(name string, t events.FieldType) string { return table.FieldText(item[name], t) })
	return p, at(key, err)
}
