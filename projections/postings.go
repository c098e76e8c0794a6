package projections

import (
	"context"
	"fmt"
	"iter"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// postingsPage is the maximum number of postings in one page: about 1.5 MB of memory. Ordinary postings stay below the
// 1 MB at which DynamoDB ends a page.
const postingsPage = 1000

// figures are the attributes of a posting's figures, and those that their checksum covers.
var figures = append(events.FigureFields(), store.AttrSK, store.AttrType, store.AttrForm, store.AttrChecksum)

// Postings yields the postings of k after `after` and through `through` ("": to the end), in order. It holds at most one
// page of them in memory. The first error ends it.
func (v *Views) Postings(ctx context.Context, k events.Pair, after, through events.KSUID) iter.Seq2[Posting, error] {
	q := v.postings(k, after, through)
	q.Limit, q.Attributes = postingsPage, figures
	pages := readPages(ctx, v.table, q, func(item store.Item) (Posting, error) { return decodePosting(k, item) })
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

func (v *Views) postings(k events.Pair, after, through events.KSUID) store.Query {
	return v.within(k.Account, store.Posting.All(k.Asset).After(string(after)).Through(string(through)))
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
	for page, err := range store.Pages(ctx, v.table, q) {
		if err != nil {
			return 0, err
		}
		count += int64(page.Count)
	}
	return count, nil
}

// decodePosting decodes the part of a posting of k that a fold counts. It verifies the checksum.
func decodePosting(k events.Pair, item store.Item) (p Posting, err error) {
	key := store.Key{PK: store.Account.PK(k.Account), SK: store.TextOf(item[store.AttrSK])}
	_, asset, id, ok := store.Posting.Parse(key)
	if p.ID, err = events.ParseKSUID(id); !ok || asset != k.Asset || err != nil {
		return p, fmt.Errorf("%w: %s %s is not a posting of %s", store.ErrMalformedItem, key.PK, key.SK, k.Asset)
	}
	r := store.Read(item)
	form := r.Integer(store.AttrForm)
	if r.Err() != nil {
		return p, at(key, r.Err())
	}
	p.Figures, err = events.DecodeFigures(events.StoredPosting{
		Name: store.TextOf(item[store.AttrType]), Version: int(form), Checksum: store.TextOf(item[store.AttrChecksum]),
		Account: k.Account, Asset: k.Asset, ID: id,
	}, func(name string, t events.FieldType) string { return store.FieldText(item[name], t) })
	return p, at(key, err)
}
