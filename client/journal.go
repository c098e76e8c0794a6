package client

import (
	"context"
	"iter"
	"net/url"
	"strconv"
	"time"
)

// JournalEntry is something that happened.
type JournalEntry struct {
	Event       string      `json:"event"`       // StatusPosted, StatusHeld, or how a hold ended
	At          string      `json:"at"`          // when it was recorded; RFC 3339
	Cursor      string      `json:"cursor"`      // what follows is read after it
	Transaction Transaction `json:"transaction"` // as it was then
}

// JournalPage is what follows in the journal, if anything does yet.
type JournalPage struct {
	Data       []JournalEntry `json:"data"`
	NextCursor string         `json:"next_cursor"` // keep it: what follows is read after it
}

// JournalFrom says where to begin to read the journal. Its zero value is the journal's beginning.
type JournalFrom struct {
	After string    // the cursor of an entry or a page; "": none
	Time  time.Time // else what was listed then or later
}

// JournalPage reads at most limit entries of the journal (1 to PageLimit). A page may be short.
func (c *Client) JournalPage(ctx context.Context, from JournalFrom, limit int) (Reply[JournalPage], error) {
	q := spanOf(from.Time, time.Time{})
	q.Set("limit", strconv.Itoa(limit))
	if from.After != "" {
		q = url.Values{"limit": q["limit"], "after": {from.After}}
	}
	return get[JournalPage](ctx, c, q, "journal")
}

// Journal goes through all that the journal has now, in the order in which it was recorded, and ends where nothing
// follows yet: some 20 seconds ago. Whoever keeps the cursor of the last entry and goes on after it misses nothing, and
// may see an entry twice. An error ends it.
func (c *Client) Journal(ctx context.Context, from JournalFrom) iter.Seq2[JournalEntry, error] {
	return func(yield func(JournalEntry, error) bool) {
		for from := from; ; { // each loop begins anew
			r, err := c.JournalPage(ctx, from, PageLimit)
			if err != nil {
				yield(JournalEntry{}, err)
				return
			}
			for _, e := range r.Value.Data {
				if !yield(e, nil) {
					return
				}
			}
			if r.Value.NextCursor == from.After {
				return
			}
			from.After = r.Value.NextCursor
		}
	}
}
