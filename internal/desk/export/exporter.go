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

// pagesAhead is the number of pages of the journal that are read ahead.
const pagesAhead = 2

// waitingMax is how many things wait for earlier transactions of the same instant. The requests of an atomic batch have
// one instant, and the journal may have them in any order, some pages apart. Tests set it. With another value, files
// have another fileVersion.
var waitingMax = 1000

// run reads the journal after e.cursor, and writes what it has.
func (e *exporter) run(ctx context.Context) error {
	for page, err := range e.pages(ctx) {
		if err != nil {
			return err
		}
		for _, entry := range page.Data {
			if err := e.entry(ctx, entry); err != nil {
				return err
			}
		}
		e.cursor = page.NextCursor
	}
	if ctx.Err() != nil { // then the pages may have ended early
		return ctx.Err()
	}
	if err := e.settle(); err != nil {
		return err
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

// define writes all assets, each after its currency, and all accounts, as they are now. It is for JSON lines.
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

// defineAsset writes an asset after its currency, unless it is written. It reads assets that are not known: they were
// registered after define read their list, or the journal lists them after their use.
func (e *exporter) defineAsset(ctx context.Context, id string) error {
	if e.defined[id] {
		return nil
	}
	e.defined[id] = true // also while its currency is written
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
	e.definedIn = append(e.definedIn, id)
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
			for after := e.cursor; ; {
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

// definition takes an entry that is of no transaction. An asset or an account waits as a transaction does, so that what
// follows in the file never depends on how far the journal was read.
func (e *exporter) definition(ctx context.Context, entry client.JournalEntry) error {
	switch entry.Type {
	case events.TypeAssetRegistered:
		var a client.Asset
		if err := json.Unmarshal(entry.Data, &a); err != nil || e.defined[a.ID] {
			return err
		}
		e.assets[a.ID] = a
		return e.wait(ctx, waiting{Asset: &a})
	case events.TypeAccountOpened:
		var a client.Account
		if err := json.Unmarshal(entry.Data, &a); err != nil || e.accounts.has(a.ID) {
			return err
		}
		return e.wait(ctx, waiting{Account: &client.Account{ID: a.ID, Name: a.Name}})
	case events.TypePeriodClosed:
		e.note("closed periods are not exported")
	}
	return e.format.other(entry)
}

// wait adds something to what is waiting.
func (e *exporter) wait(ctx context.Context, w waiting) error {
	e.waiting = append(e.waiting, w)
	return e.write(ctx, waitingMax)
}

// unposted writes a hold that posted nothing.
func (e *exporter) unposted(ctx context.Context, t client.Transaction) error {
	if e.Format == Lines { // no other format writes it
		if err := e.defineLate(ctx, t.Postings); err != nil {
			return err
		}
	}
	return e.format.hold(t)
}

// take takes the postings of a transaction, or of the capture of a hold, after those of the transaction that it
// reverses: the journal may have a reversal first.
func (e *exporter) take(ctx context.Context, t client.Transaction) (err error) {
	if t.Reverses != "" && !e.posted.has(t.Reverses) {
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
	if t.Status == client.StatusCaptured {
		e.note("captured holds are exported as transactions at their capture, without the amounts held")
	}
	p, err := postedOf(&t)
	if err != nil {
		return err
	}
	e.waiting = inOrder(e.waiting, p)
	return e.write(ctx, waitingMax)
}

// inOrder adds a transaction to those that wait, before those that follow it: they move to the end, in their order.
func inOrder(all []waiting, p waiting) []waiting {
	first := 0 // of those that move
	for first < len(all) && !all[first].follows(&p) {
		first++
	}
	var stay []waiting
	behind := []waiting{p}
	for i := first; i < len(all); i++ {
		if w := &all[i]; w.followsAny(behind) {
			behind = append(behind, *w)
		} else {
			stay = append(stay, *w)
		}
	}
	return append(append(all[:first], stay...), behind...)
}

// follows reports whether w must be behind a transaction: it reverses it, or has the same instant and a later KSUID. So
// an import gives the transactions of an instant the same order.
func (w *waiting) follows(p *waiting) bool {
	if w.Transaction == nil {
		return false
	}
	isLater := w.posted.at.Equal(p.posted.at) && p.posted.first < w.posted.first
	return isLater || w.Transaction.Reverses == p.Transaction.ID
}

func (w *waiting) followsAny(all []waiting) bool {
	for i := range all {
		if w.follows(&all[i]) {
			return true
		}
	}
	return false
}

// postedOf returns a transaction, or the capture of a hold, to be written.
func postedOf(t *client.Transaction) (waiting, error) {
	at := t.PostedAt
	if t.Status == client.StatusCaptured {
		at = t.EndedAt
	}
	p := posted{Transaction: *t, first: t.AsPosted()[0].ID, legs: movements(t.AsPosted())}
	var err error
	if p.at, err = time.Parse(time.RFC3339Nano, at); err != nil {
		err = fmt.Errorf("transaction %q: %w", t.ID, err)
	}
	return waiting{Transaction: t, posted: p}, err
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

// write writes what is waiting until at most the given number is left.
func (e *exporter) write(ctx context.Context, left int) (err error) {
	for ; len(e.waiting) > left && err == nil; e.waiting = e.waiting[1:] {
		switch w := e.waiting[0]; {
		case w.Asset != nil:
			err = e.defineAsset(ctx, w.Asset.ID)
		case w.Account != nil:
			if e.accounts.isNew(w.Account.ID) {
				err = e.format.account(ctx, []client.Account{*w.Account})
			}
		default:
			err = e.writeTransaction(ctx, w.posted)
		}
	}
	return err
}

func (e *exporter) writeTransaction(ctx context.Context, p posted) error {
	if err := e.defineLate(ctx, p.legs); err != nil {
		return err
	}
	e.result.Transactions++
	e.result.Added++
	e.result.Postings += int64(len(p.legs))
	return e.format.transaction(ctx, p)
}

// defineLate writes the accounts and the assets of legs, unless they are written: they were opened or registered after
// define read the lists, or the journal lists them after their use.
func (e *exporter) defineLate(ctx context.Context, legs []client.Posting) error {
	for _, leg := range legs {
		if err := e.defineAsset(ctx, leg.Asset); err != nil {
			return err
		}
		if !e.accounts.isNew(leg.Account) {
			continue
		}
		a, err := e.Ledger.Opening(ctx, leg.Account)
		if err != nil {
			return err
		}
		if err := e.format.account(ctx, []client.Account{a}); err != nil {
			return err
		}
	}
	return nil
}
