package console

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/days"
	"ledger.example/internal/desk/trial"
)

const (
	// closingPages is how many pages of holds, and of transactions, the preview of a closing looks through.
	closingPages = 20
	// closingShown is the most open holds that it shows.
	closingShown = 5
)

// periodsPage is the page of the closings of the books, newest first.
type periodsPage struct {
	Here     pageURL
	Now      string // through when the books are closed
	IsClosed bool
	Closings []closing
	Next     *string
}

// closing is a line of the list of closings.
type closing struct {
	client.Period
	Through string
	IsOpen  bool // it opened what was closed before
}

// periods lists who closed the books, when and why.
func (v *visit) periods() (page, error) {
	data := periodsPage{Here: pageURL{v.r.URL}}
	r := v.reading()
	var list client.List[client.Period]
	var before []client.Period // what the last closing of the page changed
	r.Go(func() error {
		reply, err := v.api.Periods().Page(r.ctx, v.query.Get("cursor"), listLimit)
		if list = reply.Value; err != nil || list.NextCursor == nil {
			return err
		}
		next, err := v.api.Periods().Page(r.ctx, *list.NextCursor, 1)
		before = next.Value.Data
		return err
	})
	var newest client.Period
	r.Go(func() (err error) {
		newest, err = v.newestPeriod(r.ctx)
		return err
	})
	if err := r.Wait(); err != nil {
		return page{}, err
	}
	all := slices.Concat(list.Data, before)
	for i, p := range list.Data {
		isOpen := i+1 < len(all) && timeOf(p.ClosedBefore).Before(timeOf(all[i+1].ClosedBefore))
		data.Closings = append(data.Closings, closing{p, v.through(timeOf(p.ClosedBefore)), isOpen})
	}
	data.Next, data.Now, data.IsClosed = list.NextCursor, v.booksText(newest), isClosed(newest)
	return page{name: "periods", Title: "Closing the books", Data: &data}, nil
}

// newestPeriod returns the newest closing, which counts. It has the number 0 if there is none.
func (v *visit) newestPeriod(ctx context.Context) (client.Period, error) {
	newest, err := v.api.Periods().Page(ctx, "", 1)
	if err != nil || len(newest.Value.Data) == 0 {
		return client.Period{}, err
	}
	return newest.Value.Data[0], nil
}

// isClosed reports whether anything is closed after a closing: opening the books from their beginning closes nothing.
func isClosed(p client.Period) bool { return timeOf(p.ClosedBefore).After(events.Epoch()) }

// booksText says through when the books are closed.
func (v *visit) booksText(newest client.Period) string {
	if !isClosed(newest) {
		return "No period of the books is closed."
	}
	return "The books are closed " + v.through(timeOf(newest.ClosedBefore)) + "."
}

// books is booksText, "" for a caller who may not know it.
func (v *visit) books(ctx context.Context) (string, error) {
	newest, err := v.newestPeriod(ctx)
	if refusal(err).Status == http.StatusForbidden {
		return "", nil
	}
	return v.booksText(newest), err
}

// through says up to when books are closed that are closed before a time: with a day if it ends then in the zone of the
// visit, else with the time.
func (v *visit) through(before time.Time) string {
	in := v.chosen()
	local := before.In(in.in)
	switch day := days.Of(local); {
	case !before.After(events.Epoch()):
		return "not at all"
	case day.Begin(in.in).Equal(before):
		return "through " + client.LastBefore(local).Format("2 January 2006") + " (" + in.ZoneName() + ")"
	}
	return "before " + local.Format("2 January 2006, 15:04:05.999999") + " (" + in.ZoneName() + ")"
}

// The fields of the forms that close and open the books.
var (
	closingField = field{Name: "number", Label: "Number of the closing", Kind: "fixed"}
	throughField = field{Name: "through", Label: "Close through", Kind: "day", member: "closed_before",
		Hint: "the last day of a period that is over,"}
	openField = field{Name: "from", Label: "Open from", Kind: "day", member: "closed_before",
		Hint: "the first day that takes postings again,"}
	reasonField = field{Name: "reason", Label: "Reason", Hint: "kept with your name and the time"}
)

// booksAction returns a form that closes or opens the books.
func booksAction(title, verb, note string, day field) action {
	return action{Title: title, Verb: verb, Note: note, Fields: []field{closingField, day, reasonField},
		send: (*visit).closeBooks, look: (*visit).lookAtBooks}
}

// closedBefore returns the time before which the form closes the books.
func (f *form) closedBefore() (time.Time, error) {
	label, text := openField.Label, f.value(openField.Name)
	isClosing := f.value(throughField.Name) != ""
	if isClosing {
		label, text = throughField.Label, f.value(throughField.Name)
	}
	day, err := f.day(label, text)
	if err != nil {
		return time.Time{}, err
	}
	at := day.Begin(f.in)
	if isClosing {
		at = day.End(f.in)
	}
	return within(at, events.Epoch(), latest), nil
}

// loadBooks reads through when the books are closed, and gives a new form the next number: so it closes once, however
// often it is sent.
func (v *visit) loadBooks(f *form) (err error) {
	if f.newest, err = v.newestPeriod(v.ctx); err != nil {
		return err
	}
	f.Note += " " + v.booksText(f.newest)
	if of := f.field(closingField.Name); of.Value == "" {
		of.Value = strconv.FormatInt(f.newest.Number+1, 10)
	}
	return nil
}

// renumbered returns the form without its number: it gets the next one when it is opened.
func (f *form) renumbered() *form {
	again := *f
	again.Fields = slices.Clone(f.Fields)
	again.field(closingField.Name).Value = ""
	return &again
}

// closeBooks sends a form that closes or opens the books.
func (v *visit) closeBooks(f *form) (string, error) {
	before, err := f.closedBefore()
	if err != nil {
		return "", err
	}
	number, err := strconv.ParseInt(f.value(closingField.Name), 10, 64)
	if err != nil {
		return "", fmt.Errorf("%s: must be a number", closingField.Label)
	}
	_, _, err = v.api.ClosePeriod(v.ctx, number, before, f.value(reasonField.Name))
	return Path + "periods", err
}

// booksLook is what a closing of the books would do, and what is still open before it.
type booksLook struct {
	Title     string // through when the books are closed then
	IsClosing bool
	Settled   bool
	Lag       string
	Holds     firstN[client.Transaction]
	Open      string // the number of open holds
	Backdated string // the number of backdated transactions
	URLs      struct{ Backdated, Trial template.URL }
}

// lookAtBooks fills in the preview of a closing. It refuses one that does the contrary of its form.
func (v *visit) lookAtBooks(f *form) error {
	before, err := f.closedBefore()
	if err != nil {
		return err
	}
	isClosing := f.value(throughField.Name) != ""
	look := booksLook{Title: "The books will be closed " + v.through(before), IsClosing: isClosing}
	is, wrong := timeOf(f.newest.ClosedBefore), ""
	switch isNew := f.value(closingField.Name) != strconv.FormatInt(f.newest.Number, 10); {
	case !isNew:
	case look.IsClosing && !before.After(is):
		wrong = throughField.Label + ": the books are closed that far already"
	case !look.IsClosing && !before.Before(is):
		wrong = openField.Label + ": this day is open already"
	}
	if wrong != "" {
		return problem{http.StatusUnprocessableEntity, wrong}
	}
	if f.Books = &look; look.IsClosing {
		return v.lookAtOpen(f, before)
	}
	return nil
}

// lookAtOpen reads what is still open before a time.
func (v *visit) lookAtOpen(f *form, before time.Time) error {
	look, last := f.Books, client.LastBefore(before)
	clock, err := trial.NewClock(v.ctx, v.api, trial.Query{})
	if err != nil {
		return err
	}
	m, err := clock.Take(v.ctx, last)
	if err != nil {
		return err
	}
	if m.IsNow {
		return problem{http.StatusUnprocessableEntity, throughField.Label + ": this day is not over"}
	}
	look.Settled = m.Settled
	from := timeOf(f.newest.ClosedBefore)
	q := client.TransactionsQuery{To: before}
	link := url.Values{"dated": {backdated}, "to": {days.Of(last.In(f.in)).String()}}
	if isClosed(f.newest) {
		first := days.Of(from.In(f.in))
		q.From = first.Begin(f.in)
		link.Set("from", first.String())
	}
	look.URLs.Backdated = template.URL(Path + "transactions?" + link.Encode()) // every part of it is escaped
	look.URLs.Trial = template.URL(Path + "trial-balance?" + url.Values{"to": link["to"]}.Encode())
	r := v.reading()
	r.Go(func() error {
		newest, err := v.newestTransactions(r.ctx, newestShown)
		if err == nil {
			look.Lag = v.lagText(r.ctx, newest)
		}
		return err
	})
	r.Go(func() error {
		all, err := firstPages(r.ctx, v.api.OpenHolds(), func(t client.Transaction) bool {
			return t.Status == client.StatusHeld && timeOf(t.PostedAt).Before(before)
		})
		look.Holds, look.Open = firstOf(all.Data, closingShown), v.atLeast(all, "hold")
		return err
	})
	r.Go(func() error {
		all, err := firstPages(r.ctx, v.api.Transactions(q), isBackdated)
		look.Backdated = v.atLeast(all, "backdated transaction")
		return err
	})
	if err := r.Wait(); err != nil {
		return err
	}
	return v.loadAll(look.Holds.First)
}

// firstPages returns what passes of the first closingPages pages of a list. It has a cursor if there are more.
func firstPages[T any](ctx context.Context, of client.Listing[T], pass func(T) bool) (all client.List[T], err error) {
	for range closingPages {
		cursor := ""
		if all.NextCursor != nil {
			cursor = *all.NextCursor
		}
		reply, err := of.Page(ctx, cursor, client.PageLimit)
		if err != nil {
			return all, err
		}
		all.NextCursor = reply.Value.NextCursor
		for _, one := range reply.Value.Data {
			if pass(one) {
				all.Data = append(all.Data, one)
			}
		}
		if all.NextCursor == nil {
			break
		}
	}
	return all, nil
}

// atLeast formats the number of items that were found: "at least n" if only the first pages were looked at.
func (v *visit) atLeast(all client.List[client.Transaction], what string) string {
	text := counted(v, client.List[client.Transaction]{Data: all.Data}, what)
	if all.NextCursor != nil {
		return "at least " + text
	}
	return text
}

// backdated is the choice of the list of transactions for those with an effective date of their own.
const backdated = "backdated"

func isBackdated(t client.Transaction) bool { return cmp.Or(t.RecordedAt, t.PostedAt) != t.PostedAt }
