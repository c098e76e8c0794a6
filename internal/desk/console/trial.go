package console

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"ledger.example/client"
	"ledger.example/internal/desk/trial"
)

const (
	// trialLines is the number of lines of a page of a trial balance, and the most sums that it shows. It is of at most
	// directoryMost accounts.
	trialLines = 50
	// trialFresh is how long a trial balance is kept for its next pages. It can take seconds to read.
	trialFresh = time.Minute
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
	IsPart     bool // there are more than directoryMost accounts
	Unbalanced bool
}

// trialNow is the value of the parameter at for a trial balance as of now.
const trialNow = "now"

// trialBalance shows the debits, credits and balances of accounts by asset: at the newest settled time, at the end of a
// day, or now.
func (v *visit) trialBalance() (page, error) {
	given := func(name string) string { return strings.TrimSpace(v.query.Get(name)) }
	key := trialKey{v.user, given("prefix"), given("group"), given("to"), given("at"), given(zoneParam)}
	data := struct {
		Here               pageURL
		Prefix, Group, Day string
		Shown              []trial.Line
		Next               *string
		Sums               firstN[trial.Line]
		zone
		trialResult
	}{Here: pageURL{v.r.URL}, Prefix: key.prefix, Group: key.group, Day: key.day}
	until, err := v.period()
	data.zone = until.zone
	if err == nil && key.at != "" && (key.at != trialNow || key.day != "") {
		err = problem{http.StatusBadRequest, `At: must be "now", without a day, or absent`}
	}
	if err == nil {
		data.trialResult, err = v.readTrial(key, until.to)
	}
	if err != nil {
		return page{}, err
	}
	lines, err := pagesIn(data.Data)(v.ctx, v.query.Get("cursor"), trialLines)
	data.Shown, data.Next = lines.Data, lines.NextCursor
	data.Sums = firstOf(data.Totals, trialLines)
	var assets []string
	for _, t := range data.Totals {
		assets = append(assets, t.Asset)
	}
	if err == nil {
		err = v.units.Load(v.ctx, assets...)
	}
	return page{name: "trial", Title: "Trial balance", Data: &data}, err
}

// readTrial reads a trial balance before the end of a day, or at the time of a key if the end is zero. The next pages
// of a list are of the same one. One that is not zero is read once more: postings may have come in between.
func (v *visit) readTrial(key trialKey, end time.Time) (trialResult, error) {
	t := &v.trials
	t.mu.Lock()
	isKept := t.of == key && time.Since(t.read) < trialFresh && v.query.Has("cursor")
	last := t.last
	t.mu.Unlock()
	if isKept {
		return last, nil
	}
	var result trialResult
	q, err := v.trialQuery(key, end, &result)
	if err == nil {
		err = v.sumUp(q, &result)
	}
	if result.Unbalanced && err == nil {
		q.Strong = true
		err = v.sumUp(q, &result)
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

// sumUp reads the balances of a trial balance.
func (v *visit) sumUp(q trial.Query, result *trialResult) (err error) {
	var accounts []string
	for id, err := range trial.Accounts(v.ctx, v.api, q) {
		if err != nil {
			return err
		}
		if result.IsPart = len(accounts) == directoryMost; result.IsPart {
			break
		}
		accounts = append(accounts, id)
	}
	if result.Balance, err = trial.Read(v.ctx, v.api, q, accounts, func() {}); err != nil {
		return err
	}
	_, result.Unbalanced = result.Balance.Unbalanced(q)
	result.Unbalanced = result.Unbalanced && !result.IsPart
	return nil
}
