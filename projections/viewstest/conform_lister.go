package viewstest

import (
	"strings"
	"time"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// listed tests the ports of a Lister. Puts of entries replace stored ones, puts of pages do not. Both return the
// store's clock.
func (c *conformance) listed() {
	hold := Held("h-1", 1)
	hold.Metadata = map[string]string{"order": "#1"}
	ended := Ended(hold, events.OutcomeCaptured, 5, 2)
	_, err := c.Event(c.ctx, ddb.EventKey(hold))
	c.is("absent event", err, store.ErrAbsent)
	c.must(c.seed.Put(c.ctx, hold, ended))
	for _, e := range []events.Event{hold, ended} {
		got, err := c.Event(c.ctx, ddb.EventKey(e))
		c.must(err)
		Same(c.T, "event", got, e)
	}

	clock, err := c.Clock(c.ctx)
	c.must(err)
	timed := func(at time.Time, err error) {
		c.Helper()
		c.must(err)
		if at.Before(clock.Add(-time.Second)) || clock.IsZero() {
			c.Errorf("the store's clock shows %v, after %v", at, clock)
		}
	}
	is := func(k table.Key, want ddb.Item) {
		c.Helper()
		got, _, err := ddb.Get(c.ctx, c.seed.Client, c.seed.Table, k, true)
		c.must(err)
		for name, value := range ddb.Key(k) {
			want[name] = value
		}
		Same(c.T, k.PK, got, want)
	}
	entry := projections.ListedEntry{ID: hold.Legs[0].ID, Transaction: hold.ID, Held: true}
	byTime := table.Listed.Key(string(entry.ID), entry.Transaction)
	long := strings.Repeat("\U0001D11E", events.MetadataValueChars)
	for _, value := range []string{"#1", "", long} {
		byValue := table.Key{PK: table.ListedMetadata.PK("order", value), SK: byTime.SK}
		for _, void := range []bool{true, false} {
			entry.Void = void
			item := ddb.Begin(byTime, table.Listed.Type)
			item[table.AttrHeld] = ddb.Flag(true)
			if void {
				item[table.AttrVoid] = ddb.Flag(true)
			}
			timed(c.WriteListed(c.ctx, byTime, entry))
			timed(c.WriteListed(c.ctx, byValue, entry))
			is(byTime, item)
			is(byValue, item)
		}
	}

	page := projections.JournalPage{ID: id(9), Entries: []projections.JournalEntry{
		{Event: projections.JournalHeld, At: hold.Recorded(), Transaction: hold.ID},
	}}
	timed(c.WriteJournal(c.ctx, page))
	_, err = c.WriteJournal(c.ctx, projections.JournalPage{ID: page.ID})
	c.is("second page with the same KSUID", err, store.ErrConflict)
}
