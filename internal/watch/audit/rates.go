package audit

import (
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the zones, for systems that have none

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// rate is a limit over time.
type rate struct {
	Asset    string   `is:"id"`
	Per      string   `is:"per"`
	Zone     string   `is:"zone"`
	Quantity *big.Int `is:"limit"`
}

const (
	ratesMax      = 100 // of an account
	assetRatesMax = 4   // of an asset of it
)

// rates are those of an account, in the order of their assets and names.
type rates []rate

func (all *rates) read(r *reader, name string, v types.AttributeValue) (ok bool) {
	ofAsset := 0
	return r.list(name, v, "rates", 1, ratesMax, func(one *reader) {
		var next, last rate
		if n := len(*all); n > 0 {
			last = (*all)[n-1]
		}
		one.fill(&next)
		if ofAsset++; next.Asset != last.Asset {
			ofAsset = 1
		}
		switch before := last.Asset + " " + last.name(); {
		case one.broken:
		case next.Quantity.Sign() == 0:
			one.fault(WrongValue, "Quantity", "an amount above 0")
		case ofAsset > assetRatesMax || last.Asset != "" && next.Asset+" "+next.name() <= before:
			one.fault(WrongValue, "Asset", "at most 4 rates of an asset, in the order of assets and names")
		}
		*all = append(*all, next)
	})
}

// name is what legs and guards call the rate.
func (r rate) name() string { return r.Per + "@" + r.Zone }

func isPer(per string) bool { return slices.Contains([]string{"day", "week", "month"}, per) }

// isZone reports whether a text can be the name of a time zone.
func isZone(s string) bool {
	for part := range strings.SplitSeq(s, "/") {
		if part == "" || part[0] < 'A' || part[0] > 'Z' ||
			strings.Trim(part, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-") != "" {
			return false
		}
	}
	return len(s) <= zoneChars
}

const zoneChars = 64

// isCounted reports whether a text has the names of the rates that count a leg.
func isCounted(s string) bool {
	names := strings.Split(s, " ")
	for i, name := range names {
		per, zone, _ := strings.Cut(name, "@")
		if !isPer(per) || !isZone(zone) || i > 0 && names[i-1] >= name {
			return false
		}
	}
	return len(names) <= assetRatesMax
}

// counting is what a leg says of rates. Those that count it are of the account when it was posted.
type counting struct {
	Counted string `is:"counted?"` // their names, with spaces between
}

// checkCounted reports a leg that no rate can count, if it says that one does. Rates count only debits that are posted
// or held now, and that take nothing back.
func (all legs) checkCounted(r *reader, isCounted bool) {
	for _, l := range all {
		if l.Counted != "" && !r.broken && (!isCounted || l.Quantity.Sign() >= 0) {
			r.fault(WrongValue, fieldLegs, "rates that count only debits, none of which is backdated, a reversal or "+
				"the end of a hold")
			return
		}
	}
}

// span is what counts in the newest day, week or month in which a rate counted something.
type span struct {
	slot int64 // its first day as a number, such as 20261128; 202611 for a month
	used *big.Int
}

// usage has what postings say of the rates of a pair. Postings are added in the order of their keys, which is that of
// time for all that is counted.
type usage struct {
	windows map[string]span   // by the names of the rates
	open    map[string][]held // the debits of counted holds that have not ended, by the hold
}

// held is a debit that a hold reserves.
type held struct {
	counted string
	at      time.Time
}

func (u usage) copy() usage {
	copied := usage{maps.Clone(u.windows), maps.Clone(u.open)} // what is behind them is replaced, never changed
	return copied
}

// add adds a posting.
func (u *usage) add(p posting) {
	at, _ := instantOf(p.ID)
	switch {
	case p.Counted != "":
		if u.windows == nil {
			u.windows, u.open = make(map[string]span), make(map[string][]held)
		}
		debit := new(big.Int).Neg(p.Quantity)
		if p.Phase == placed {
			debit.Neg(p.Pending)
			u.open[p.Transaction] = append(slices.Clip(u.open[p.Transaction]), held{p.Counted, at})
		}
		u.count(p.Counted, at, debit, true)
	case p.endsHold() && p.Pending.Sign() > 0 && len(u.open[p.Transaction]) > 0:
		of := u.open[p.Transaction]
		if u.open[p.Transaction] = of[1:]; len(of) == 1 {
			delete(u.open, p.Transaction)
		}
		back := new(big.Int).Add(p.Pending, p.Quantity)
		u.count(of[0].counted, of[0].at, back.Neg(back), false)
	}
}

// count adds an amount to the windows of some rates that an instant is in. Only a debit opens newer ones.
func (u *usage) count(names string, at time.Time, amount *big.Int, opens bool) {
	for name := range strings.FieldsSeq(names) {
		slot, ok := slotOf(name, at)
		w, isOpen := u.windows[name]
		switch {
		case !ok:
		case isOpen && w.slot == slot:
			u.windows[name] = span{slot, new(big.Int).Add(w.used, amount)}
		case opens && slot > w.slot:
			u.windows[name] = span{slot, amount}
		}
	}
}

// slotOf returns the number of the day, week or month with an instant. ok is false if the zone is not known here.
func slotOf(name string, at time.Time) (slot int64, ok bool) {
	per, zone, _ := strings.Cut(name, "@")
	in, err := time.LoadLocation(zone)
	if err != nil || !isZone(zone) {
		return 0, false
	}
	day := newestDay(at, in)
	switch per {
	case "month":
		return int64(day.Year())*100 + int64(day.Month()), true
	case "week":
		for day.Weekday() != time.Monday {
			day = day.AddDate(0, 0, -1)
		}
	}
	return int64(day.Year())*10_000 + int64(day.Month())*100 + int64(day.Day()), true
}

// newestDay returns the newest day that a calendar of a zone has shown up to an instant, as its midnight in UTC. It is
// not always the one that it shows: clocks that are put back across midnight show the day before again.
func newestDay(at time.Time, in *time.Location) (newest time.Time) {
	const since = 26 * time.Hour // no clock is put back by more
	shown := func(at time.Time) {
		y, m, d := at.In(in).Date()
		if day := time.Date(y, m, d, 0, 0, 0, 0, time.UTC); day.After(newest) {
			newest = day
		}
	}
	shown(at)
	_, now := at.In(in).Zone()
	if _, before := at.Add(-since).In(in).Zone(); before > now { // it was put back; zones do so at whole minutes
		for last := at.Truncate(time.Minute).Add(-1); at.Sub(last) < since; last = last.Add(-time.Minute) {
			shown(last)
		}
	}
	return newest
}
