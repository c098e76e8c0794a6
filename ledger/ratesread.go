package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/days"
	"ledger.example/internal/table"
)

// RuleZone says what the zone of a rate must be.
var RuleZone = days.ErrZone.Error()

// IsZone reports whether a name is that of a zone that rates may have.
func IsZone(name string) bool {
	_, err := days.Zone(name)
	return err == nil && events.ValidZone(name)
}

// UsedRate is a rate of an account, and what its debits have used in the day, week or month that it is now.
type UsedRate struct {
	events.Rate
	Used, Available events.Amount // minor units; Available is not negative
	OpensAt         time.Time     // when the next day, week or month begins, in UTC
}

// Position is where the rate is in the list of its account: see Rates.
func (u UsedRate) Position() string { return u.Asset + "#" + u.Name() }

// Rates returns at most limit rates of an account in the order in which they are stored, after the position of one, ""
// for the first. more reports whether there are others. What is used includes every debit that was acknowledged before
// the call: the account is read first, and then its guards, both strongly consistent. Errors: CodeAccountNotFound, and
// those of the store.
func (l *Ledger) Rates(ctx context.Context, account, after string, limit int) (used []UsedRate, more bool, _ error) {
	of, err := l.Account(ctx, account)
	if err != nil {
		return nil, false, err
	}
	all := of.Rates[following(of.Rates, after):]
	if more = len(all) > limit; more {
		all = all[:limit]
	}
	guards, err := l.guardsOf(ctx, account, all)
	if err != nil {
		return nil, false, err
	}
	now := l.now()
	for _, rate := range all {
		use, ok := newRateUse(rate, now)
		if !ok {
			return nil, false, unknownZoneError(rate.Zone)
		}
		state := guards[rate.Asset].rates[rate.Name()]
		use.slot = max(use.slot, state.slot) // another clock may be ahead
		u := UsedRate{Rate: rate, Used: state.usedIn(use.slot), OpensAt: use.next()}
		u.Available = use.left(u.Used)
		used = append(used, u)
	}
	return used, more, nil
}

// following returns the index of the first rate after a position. The rate there may be gone.
func following(rates []events.Rate, position string) int {
	at := slices.IndexFunc(rates, func(r events.Rate) bool { return UsedRate{Rate: r}.Position() > position })
	if at < 0 {
		return len(rates)
	}
	return at
}

// guardsOf reads the guards of an account in the assets of rates, strongly consistent, with retries. A missing one has
// counted nothing. Its error is an *Error.
func (l *Ledger) guardsOf(ctx context.Context, account string, rates []events.Rate) (map[string]guard, error) {
	var keys []table.Key
	for i, r := range rates {
		if i == 0 || rates[i-1].Asset != r.Asset {
			keys = append(keys, table.Spend.Key(account, r.Asset))
		}
	}
	guards := make(map[string]guard, len(keys))
	if len(keys) == 0 {
		return guards, nil
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	err := l.read(ctx, func(ctx context.Context) (time.Time, error) {
		items, at, err := l.table.BatchGet(ctx, keys, table.Strong)
		for _, item := range items {
			var key table.Key
			if key, err = table.KeyOf(item); err == nil {
				_, asset, _ := table.Spend.Parse(key)
				guards[asset], err = readGuard(events.Pair{Account: account, Asset: asset}, item)
			}
			if err != nil {
				break
			}
		}
		if err != nil {
			return time.Time{}, fmt.Errorf("read the guards of rates: %w", err)
		}
		return at, nil
	})
	if err != nil {
		return nil, asError(err)
	}
	return guards, nil
}
