package console

import (
	"strings"
	"sync"
	"time"

	"ledger.example/client"
	"ledger.example/internal/trial"
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

type trialKey struct{ user, prefix, group, day, zone string }

// trialResult is a trial balance.
type trialResult struct {
	trial.Balance
	IsPart     bool // there are more than directoryMost accounts
	Unbalanced bool
}

// trialBalance shows the debits, credits and balances of accounts by asset, now or at the end of a day.
func (v *visit) trialBalance() (page, error) {
	key := trialKey{v.user, strings.TrimSpace(v.query.Get("prefix")), strings.TrimSpace(v.query.Get("group")),
		strings.TrimSpace(v.query.Get("to")), strings.TrimSpace(v.query.Get(zoneParam))}
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

// readTrial reads a trial balance at a time, the zero time for now. The next pages of a list are of the same one.
func (v *visit) readTrial(key trialKey, at time.Time) (trialResult, error) {
	t := &v.trials
	t.mu.Lock()
	isKept := t.of == key && time.Since(t.read) < trialFresh && v.query.Has("cursor")
	last := t.last
	t.mu.Unlock()
	if isKept {
		return last, nil
	}
	q := trial.Query{Prefix: key.prefix, Group: key.group, At: at}
	if q.Group != "" {
		q.Prefix = ""
	}
	if now := time.Now(); at.IsZero() || at.After(now) {
		q.At, q.Strong = now, true
	} else {
		q.At = client.LastBefore(at)
	}
	var result trialResult
	var accounts []string
	for id, err := range trial.Accounts(v.ctx, v.api, q) {
		if err != nil {
			return result, err
		}
		if result.IsPart = len(accounts) == directoryMost; result.IsPart {
			break
		}
		accounts = append(accounts, id)
	}
	var err error
	if result.Balance, err = trial.Read(v.ctx, v.api, q, accounts, func() {}); err != nil {
		return result, err
	}
	_, result.Unbalanced = result.Balance.Unbalanced(q)
	result.Unbalanced = result.Unbalanced && !result.IsPart
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of, t.read, t.last = key, time.Now(), result
	return result, nil
}
