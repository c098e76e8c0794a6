package main

import (
	"context"
	"encoding/json"

	"ledger.example/client"
)

// pager is a list of the API, or a part of one.
type pager[T any] interface {
	// Page is that of client.Listing.
	Page(ctx context.Context, cursor string, limit int) (client.Reply[client.List[T]], error)
}

// filtered is the part of a list that has what is asked for. The API has no such list, so all of the list is read.
type filtered[T any] struct {
	all pager[T]
	has func(T) bool
}

// Page reads as many items as a page has. If more than limit of them are found, it reads the page again, up to the last
// one that is returned, so that the cursor is behind that one.
func (f filtered[T]) Page(ctx context.Context, cursor string, limit int) (client.Reply[client.List[T]], error) {
	for most := client.PageLimit; ; {
		r, err := f.all.Page(ctx, cursor, most)
		if err != nil {
			return r, err
		}
		var raw client.List[json.RawMessage]
		if err := json.Unmarshal(r.Raw, &raw); err != nil {
			return r, err
		}
		found := client.List[T]{NextCursor: r.Value.NextCursor, Data: []T{}}
		kept, last := []json.RawMessage{}, 0
		for i, item := range r.Value.Data {
			if f.has(item) {
				found.Data, kept = append(found.Data, item), append(kept, raw.Data[i])
				if len(kept) == limit {
					last = i + 1
				}
			}
		}
		if len(kept) > limit && last < most {
			most = last
			continue
		}
		r.Value, raw.Data = found, kept
		r.Raw, err = json.Marshal(raw)
		return r, err
	}
}
