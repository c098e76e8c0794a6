package console

import (
	"cmp"
	"context"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ledger.example/client"
	"ledger.example/internal/desk/trial"
	"ledger.example/internal/spreadsheet"
)

const (
	// trialLines is the number of lines of a page of a trial balance, and the most sums that it shows.
	trialLines = 10_000
	// trialFresh is how long a trial balance is kept for its next pages and its CSV. It can take seconds to read.
	trialFresh = time.Minute
	// trialPart is how many lines are sent at once.
	trialPart = 500
)

// trials has the trial balance that was read last. It is safe for concurrent use.
type trials struct {
	mu   sync.Mutex
	of   trialKey
	read time.Time
	last trialResult
}

type trialKey struct{ user, prefix, group, day, at, zone string }

// trialResult is a trial balance.
type trialResult struct {
	trial.Balance
	IsNow      bool // as of the present, which is never settled
	Unbalanced bool
}

// HasSums reports whether the page shows the sums: they are not those of a moment in which postings still come in.
func (t trialResult) HasSums() bool { return !t.Unbalanced || t.Settled }

// trialNow is the value of the parameter at for a trial balance as of now.
const trialNow = "now"

// trialPage is the page of a trial balance. The result follows late.
type trialPage struct {
	Here               pageURL
	CSV                template.URL
	Prefix, Group, Day string
	Shown              []trial.Line
	Next               *string
	Sums               firstN[trial.Line]
	Books              string // through when they are closed
	zone
	trialResult
}

// trialBalance shows the debits, credits and balances of all accounts by asset: at the newest settled time, at the end
// of a day, or now. The page says how far the reading is, and is sent in parts.
func (v *visit) trialBalance() (page, error) {
	key, until, err := v.trialKey()
	if err != nil {
		return page{}, err
	}
	data := trialPage{Here: pageURL{v.r.URL}, Prefix: key.prefix, Group: key.group, Day: key.day, zone: until.zone}
	data.CSV = template.URL(Path + "trial-balance.csv?" + v.r.URL.Query().Encode()) // every part of it is escaped
	p := page{name: "trial", Title: "Trial balance", Data: &data}
	p.rest = func(s *stream) (err error) {
		if data.trialResult, err = v.readTrial(key, until.to, s.reports("accounts were read")); err != nil {
			return err
		}
		if data.Books, err = v.books(v.ctx); err != nil {
			return err
		}
		lines, err := pagesIn(data.Data)(v.ctx, v.query.Get("cursor"), trialLines)
		data.Next, data.Sums = lines.NextCursor, firstOf(data.Totals, trialLines)
		if err = cmp.Or(err, v.loadTrial(data.Balance)); err == nil {
			err = s.show("trial head", &data)
		}
		for part := range slices.Chunk(lines.Data, trialPart) {
			if data.Shown = part; err == nil {
				err = s.show("trial lines", &data)
			}
			if err == nil && len(lines.Data) > trialPart {
				err = s.flush()
			}
		}
		if err == nil {
			err = s.show("trial foot", &data)
		}
		return err
	}
	return p, nil
}

// trialKey reads which trial balance is asked for, and the days that end it. Error: a problem.
func (v *visit) trialKey() (trialKey, period, error) {
	given := func(name string) string { return strings.TrimSpace(v.query.Get(name)) }
	key := trialKey{v.user, given("prefix"), given("group"), given("to"), given("at"), given(zoneParam)}
	until, err := v.period()
	if err == nil && key.at != "" && (key.at != trialNow || key.day != "") {
		err = problem{http.StatusBadRequest, `At: must be "now", without a day, or absent`}
	}
	return key, until, err
}

// loadTrial loads the scales of the assets of a trial balance.
func (v *visit) loadTrial(t trial.Balance) error {
	var assets []string
	for _, total := range t.Totals {
		assets = append(assets, total.Asset)
	}
	return v.units.Load(v.ctx, assets...)
}

// trialCSV answers with a trial balance as CSV.
func (v *visit) trialCSV() (page, error) {
	key, until, err := v.trialKey()
	if err != nil {
		return page{}, err
	}
	t, err := v.readTrial(key, until.to, func(int, int) error { return nil })
	if err = cmp.Or(err, v.loadTrial(t.Balance)); err != nil {
		return page{}, err
	}
	if !t.HasSums() {
		t.Totals = nil
	}
	of := []string{"trial-balance", key.group, key.prefix, cmp.Or(key.day, timeOf(t.At).Format("2006-01-02T150405Z"))}
	v.attach(strings.Join(slices.DeleteFunc(of, func(part string) bool { return part == "" }), "-")+".csv", csvType)
	return page{}, spreadsheet.Write(v.w, t.Rows(v.Console.units), spreadsheet.Safe)
}

// readTrial reads a trial balance before the end of a day, or at the time of a key if the end is zero. The next pages
// of a list, and its CSV, are of the same one. One that is not zero is read once more: postings may have come in
// between.
func (v *visit) readTrial(key trialKey, end time.Time, report func(done, of int) error) (trialResult, error) {
	t := &v.trials
	t.mu.Lock()
	isMore := v.query.Has("cursor") || strings.HasSuffix(v.r.URL.Path, ".csv")
	isKept := t.of == key && time.Since(t.read) < trialFresh && isMore
	last := t.last
	t.mu.Unlock()
	if isKept {
		return last, nil
	}
	var result trialResult
	q, err := v.trialQuery(key, end, &result)
	if err == nil {
		err = v.sumUp(q, &result, report)
	}
	if result.Unbalanced && err == nil {
		q.Strong = true
		err = v.sumUp(q, &result, report)
	}
	if err != nil {
		return result, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of, t.read, t.last = key, time.Now(), result
	return result, nil
}

// trialQuery returns the query of a trial balance, with its time by the ledger's clock.
func (v *visit) trialQuery(key trialKey, end time.Time, result *trialResult) (trial.Query, error) {
	q := trial.Query{Prefix: key.prefix, Group: key.group, Strong: true}
	if q.Group != "" {
		q.Prefix = ""
	}
	clock, err := trial.NewClock(v.ctx, v.api, q)
	if err != nil {
		return q, err
	}
	if end.IsZero() && key.at != trialNow {
		q.At, err = clock.NewestSettled(v.ctx)
		return q, err
	}
	if !end.IsZero() {
		end = client.LastBefore(end)
	}
	m, err := clock.Take(v.ctx, end)
	q.At, q.Strong, result.IsNow = m.At, m.IsNow, m.IsNow
	return q, err
}

// sumUp reads the balances of all accounts of a trial balance.
func (v *visit) sumUp(q trial.Query, result *trialResult, report func(done, of int) error) (err error) {
	var accounts []string
	for id, err := range trial.Accounts(v.ctx, v.api, q) {
		if err != nil {
			return err
		}
		accounts = append(accounts, id)
	}
	ctx, cancel := context.WithCancel(v.ctx)
	defer cancel()
	var done atomic.Int64
	ended := make(chan struct{})
	go func() { // reports are made here, one after the other
		result.Balance, err = trial.Read(ctx, v.api, q, accounts, func() { done.Add(1) })
		close(ended)
	}()
	for tick := time.NewTicker(progressEvery); ; {
		select {
		case <-tick.C:
			if report(int(done.Load()), len(accounts)) != nil {
				cancel() // nobody reads it
			}
			continue
		case <-ended:
		}
		tick.Stop()
		_, result.Unbalanced = result.Balance.Unbalanced(q)
		return err
	}
}
