package events

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Rate is a limit over time: the debits of an asset in one day, week or month of a zone sum up to at most Quantity.
// Counted are those that are posted or held now, but not reversals, and nothing that is backdated.
type Rate struct {
	Asset    string `stored:"id"`
	Per      Per    `stored:"per"`
	Zone     string `stored:"zone"`   // by its name in the IANA Time Zone Database
	Quantity Amount `stored:"amount"` // minor units, above zero, of at most PostedDigits digits
}

// Per is the stretch of time of a Rate.
type Per string

// The stretches. A week begins on Monday.
const (
	PerDay   Per = "day"
	PerWeek  Per = "week"
	PerMonth Per = "month"
)

// Name returns what tells the rate from others of its asset: "day@Europe/Berlin".
func (r Rate) Name() string { return string(r.Per) + "@" + r.Zone }

// compareRates orders the rates of an account. Two that differ in their quantities only are equal.
func compareRates(a, b Rate) int {
	return cmp.Or(strings.Compare(a.Asset, b.Asset), strings.Compare(a.Name(), b.Name()))
}

// SortRates puts the rates of an account in the order in which they are stored: by asset, then by name.
func SortRates(rates []Rate) { slices.SortFunc(rates, compareRates) }

// CountedBy returns Leg.Counted of a debit of an asset that all rates of the asset count. rates must be sorted.
func CountedBy(rates []Rate, asset string) string {
	var names []string
	for _, r := range rates {
		if r.Asset == asset {
			names = append(names, r.Name())
		}
	}
	return strings.Join(names, " ")
}

// CountedNames returns the names of the rates that counted a leg.
func (l Leg) CountedNames() []string { return strings.Fields(l.Counted) }

// ParseRateName returns the parts of a rate's name.
func ParseRateName(name string) (per Per, zone string, ok bool) {
	before, zone, ok := strings.Cut(name, "@")
	per = Per(before)
	return per, zone, ok && slices.Contains([]Per{PerDay, PerWeek, PerMonth}, per) && ValidZone(zone)
}

// ValidZone reports whether s can be the name of a time zone. Whether there is such a zone depends on the zone data of
// the day, and stored events do not.
func ValidZone(s string) bool {
	isUpper := func(s string) bool { return s != "" && 'A' <= s[0] && s[0] <= 'Z' }
	isOther := func(c rune) bool {
		return (c > 0x7f || !isAlphanumeric(byte(c))) && c != '_' && c != '+' && c != '-' && c != '/'
	}
	parts := strings.Split(s, "/")
	return len(s) <= ZoneChars && !strings.ContainsFunc(s, isOther) &&
		!slices.ContainsFunc(parts, func(p string) bool { return !isUpper(p) })
}

// validCounted reports whether s is a value of Leg.Counted.
func validCounted(s string) bool {
	names := strings.Split(s, " ")
	for i, name := range names {
		if _, _, ok := ParseRateName(name); !ok || i > 0 && names[i-1] >= name {
			return false
		}
	}
	return len(names) <= AssetRatesMax
}

// checkRates checks the rates of an account: their order, that each is above zero, how many an asset has, and that the
// account has a limit of its own. Debits of an unlimited account pass no guard, so nothing could count them exactly.
func checkRates(rates []Rate, o Overdraft) (field, rule string) {
	ofAsset := 0
	for i, r := range rates {
		at := fmt.Sprintf("Rates[%d]", i)
		if ofAsset++; i == 0 || rates[i-1].Asset != r.Asset {
			ofAsset = 1
		}
		switch {
		case o.Unlimited:
			return "Rates", "are those of an account without a limit"
		case i > 0 && compareRates(rates[i-1], r) >= 0:
			return at, ruleIncrease
		case ofAsset > AssetRatesMax, r.Quantity.Sign() <= 0:
			return at, ruleRange
		}
	}
	return "", ""
}

// checkCounted checks that only debits of a transaction that is posted or held now are counted.
func (t TransactionPosted) checkCounted() (field, rule string) {
	for i, leg := range t.Legs {
		if leg.Counted != "" && (leg.Quantity.Sign() >= 0 || t.IsBackdated() || t.Reverses != "") {
			return fmt.Sprintf("Legs[%d].Counted", i), ruleCounted
		}
	}
	return "", ""
}

const ruleCounted = "is of a leg that no limit over time counts"
