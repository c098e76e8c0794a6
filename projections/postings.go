package projections

import (
	"context"
	"fmt"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// postingsPage is the maximum number of postings in one page: about 1.5 MB of memory. Ordinary postings stay below the
// 1 MB at which DynamoDB ends a page.
const postingsPage = 1000

// figures are the attributes of a posting's figures, and those that their checksum covers.
var figures = append(events.FigureFields(), store.AttrSK, store.AttrType, store.AttrForm, store.AttrChecksum)

// Postings implements PostingReader.
func (v *Views) Postings(ctx context.Context, k events.Pair, after, through events.KSUID) ([]Posting, bool, error) {
	q := v.within(k.Account, store.Posting.All(k.Asset).After(string(after)).Through(string(through)))
	q.Limit, q.Attributes = postingsPage, figures
	found, more, _, err := decodePage(ctx, v.table, q, func(item store.Item) (Posting, error) {
		return decodePosting(k, item)
	})
	return found, more, err
}

// CountPostings counts the postings of k after `after` and through `through` ("": to the end). It makes one request for
// each megabyte of postings.
func (v *Views) CountPostings(ctx context.Context, k events.Pair, after, through events.KSUID) (int64, error) {
	q := v.within(k.Account, store.Posting.All(k.Asset).After(string(after)).Through(string(through)))
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
