package export

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"ledger.example/client"
	"ledger.example/events"
)

const (
	// pagesAhead is the number of pages of the journal that are read ahead.
	pagesAhead = 2
	// waitingMax is how many transactions wait for earlier ones of the same instant. The requests of an atomic batch
	// have one instant, and the journal may have them in any order, some pages apart.
	waitingMax = 1000
)

func (e *exporter) run(ctx context.Context) error {
	if err := e.define(ctx); err != nil {
		return err
	}
	for page, err := range e.pages(ctx) {
		if err != nil {
			return err
		}
		for _, entry := range page.Data {
			if err := e.entry(ctx, entry); err != nil {
				return err
			}
		}
		e.result.Cursor = page.NextCursor
	}
	if err := e.write(ctx, 0); err != nil {
		return err
	}
	for _, hold := range slices.SortedFunc(maps.Values(e.open), func(a, b client.Transaction) int {
		return cmp.Or(cmp.Compare(a.PostedAt, b.PostedAt), cmp.Compare(a.ID, b.ID))
	}) {
		if err := e.unposted(ctx, hold); err != nil {
			return err
		}
	}
	return e.format.end(ctx)
}

// define writes all assets, each after its currency, and all accounts.
func (e *exporter) define(ctx context.Context) error {
	for a, err := range e.Ledger.Assets {
		if err != nil {
			return err
		}
		e.assets[a.ID] = a
	}
	for _, id := range slices.Sorted(maps.Keys(e.assets)) {
		if err := e.defineAsset(ctx, id); err != nil {
			return err
		}
	}
	var page []client.Account
	for a, err := range e.Ledger.Accounts {
		if err != nil {
			return err
		}
		e.accounts.isNew(a.ID)
		if page = append(page, a); len(page) == client.PageLimit {
			if err := e.format.account(ctx, page); err != nil {
				return err
			}
			page = nil
		}
	}
	return e.format.account(ctx, page)
}

// defineAsset writes an asset after its currency, unless it is written. It reads assets that were registered after
// define read their list.
func (e *exporter) defineAsset(ctx context.Context, id string) error {
	if e.defined[id] {
		return nil
	}
	e.defined[id] = true
	if _, known := e.assets[id]; !known {
		r, err := e.Ledger.Asset(ctx, id)
		if err != nil {
			return err
		}
		e.assets[id] = r.Value
	}
	if currency := e.assets[id].Currency; currency != "" {
		if err := e.defineAsset(ctx, currency); err != nil {
			return err
		}
	}
	return e.format.asset(e.assets[id])
}

// pages yields the pages of the journal. It reads pagesAhead pages ahead.
func (e *exporter) pages(ctx context.Context) iter.Seq2[client.JournalPage, error] {
	type read struct {
		page client.JournalPage
		err  error
	}
	return func(yield func(client.JournalPage, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		pages := make(chan read, pagesAhead)
		go func() {
			defer close(pages)
			for after := e.From; ; {
				page, err := e.Ledger.Journal(ctx, after)
				select {
				case pages <- read{page, err}:
				case <-ctx.Done():
					return
				}
				if err != nil || len(page.Data) == 0 && page.NextCursor == after {
					return
				}
				after = page.NextCursor
			}
		}()
		for r := range pages {
			if !yield(r.page, r.err) || r.err != nil {
				return
			}
		}
	}
}

// entry takes an entry of the journal.
func (e *exporter) entry(ctx context.Context, entry client.JournalEntry) error {
	t, ok, err := entry.Transaction()
	switch {
	case err != nil:
		return err
	case !ok:
		return e.definition(ctx, entry)
	case e.posted.has(t.ID):
		return nil
	case entry.Type == events.TypeHeld:
		e.open[t.ID] = t
		return nil
	}
	delete(e.open, t.ID)
	if entry.Type == events.TypePosted || entry.Type == events.TypeCaptured {
		return e.take(ctx, t)
	}
	e.posted.isNew(t.ID)
	return e.unposted(ctx, t)
}

// definition takes an entry that is of no transaction. It writes an asset or an account that did not exist when define
// read the lists.
func (e *exporter) definition(ctx context.Context, entry client.JournalEntry) error {
	var made struct{ ID string }
	if err := json.Unmarshal(entry.Data, &made); err != nil {
		return err
	}
	switch entry.Type {
	case events.TypeAssetRegistered:
		return e.defineAsset(ctx, made.ID)
	case events.TypeAccountOpened:
		return e.defineAccount(ctx, made.ID)
	case events.TypePeriodClosed:
		e.note("closed periods are not exported")
	}
	return e.format.other(entry)
}

// unposted writes a hold that posted nothing.
func (e *exporter) unposted(ctx context.Context, t client.Transaction) error {
	if err := e.defineLate(ctx, t.Postings); err != nil {
		return err
	}
	return e.format.hold(t)
}

// take takes the postings of a transaction, or of the capture of a hold, after those of the transaction that it
// reverses: the journal may have a reversal first.
func (e *exporter) take(ctx context.Context, t client.Transaction) (err error) {
	if t.Reverses != "" && e.From == "" && !e.posted.has(t.Reverses) {
		r, err := e.Ledger.Transaction(ctx, t.Reverses)
		if err == nil {
			delete(e.open, t.Reverses)
			err = e.take(ctx, r.Value)
		}
		if err != nil {
			return err
		}
	}
	e.posted.isNew(t.ID)
	p := posted{Transaction: t}
	at := t.PostedAt
	if t.Status == client.StatusCaptured {
		at = t.EndedAt
		e.note("captured holds are exported as transactions at their capture, without the amounts held")
	}
	if p.at, err = time.Parse(time.RFC3339Nano, at); err != nil {
		return fmt.Errorf("transaction %q: %w", t.ID, err)
	}
	p.first, p.legs = t.AsPosted()[0].ID, movements(t.AsPosted())
	for i := range e.waiting { // those of one instant are in the order of their KSUIDs
		if q := &e.waiting[i]; q.at.Equal(p.at) && p.first < q.first {
			*q, p = p, *q
		}
	}
	e.waiting = append(e.waiting, p)
	return e.write(ctx, waitingMax)
}

// movements returns the postings that are not zero.
func movements(postings []client.Posting) (legs []client.Posting) {
	for _, leg := range postings {
		if !leg.Quantity.IsZero() || !leg.Cost.IsZero() {
			legs = append(legs, leg)
		}
	}
	return legs
}

// write writes waiting transactions until at most the given number is left.
func (e *exporter) write(ctx context.Context, left int) error {
	for ; len(e.waiting) > left; e.waiting = e.waiting[1:] {
		p := e.waiting[0]
		if err := e.defineLate(ctx, p.legs); err != nil {
			return err
		}
		e.result.Transactions++
		e.result.Postings += int64(len(p.legs))
		if err := e.format.transaction(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// defineLate writes the accounts and the assets of legs that did not exist when define read the lists.
func (e *exporter) defineLate(ctx context.Context, legs []client.Posting) error {
	for _, leg := range legs {
		if err := e.defineAsset(ctx, leg.Asset); err != nil {
			return err
		}
		if err := e.defineAccount(ctx, leg.Account); err != nil {
			return err
		}
	}
	return nil
}

// defineAccount writes an account, unless it is written.
func (e *exporter) defineAccount(ctx context.Context, id string) error {
	if !e.accounts.isNew(id) {
		return nil
	}
	r, err := e.Ledger.Account(ctx, id)
	if err != nil {
		return err
	}
	return e.format.account(ctx, []client.Account{r.Value})
}
