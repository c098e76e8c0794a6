package events

import "time"

// AccountOpened: an account was opened. Later changes of the account are AccountChanged events.
type AccountOpened struct {
	ID        string            `stored:"id"`                        // see ValidID; set by the caller
	Name      string            `stored:"name,optional"`             // 0 to NameChars characters
	Profile   string            `stored:"profile,optional,unlisted"` // compact JSON, to ProfileBytes bytes; or "{}"
	Overdraft Overdraft         `stored:"limits,optional"`           // how far below zero its balances may go
	Metadata  map[string]string `stored:"metadata,optional"`         // as of a transaction; never nil in an event
	Rates     []Rate            `stored:"rates,optional"`            // limits over time, as SortRates orders them
	Actor     string            `stored:"actor,unlisted"`            // who opened it, 1 to ActorChars characters
	At        time.Time         `stored:"time"`                      // UTC, whole microseconds; set by the command
}

// AccountChanged: an account was changed. It has the complete new state of the account. Changes are in the order of
// their numbers, not of their times.
//
// With Closing, only the state was changed, to StateFrozen. Highest has, by asset, the highest earlier limit if it is
// above the present one; it may be nil.
type AccountChanged struct {
	ID        string            `stored:"id"`            // of the account
	Number    int64             `stored:"version"`       // the account's version: 2, 3 … ChangesMax; its opening is 1
	Name      string            `stored:"name,optional"` // as in AccountOpened, like Profile and Overdraft
	Profile   string            `stored:"profile,optional"`
	Metadata  map[string]string `stored:"metadata,optional"` // as in AccountOpened
	Tagged    bool              `stored:"flag"`              // this version or an earlier one has metadata
	Overdraft Overdraft         `stored:"limits,optional"`   // unlimited if and only if the opening's is
	Rates     []Rate            `stored:"rates,optional"`
	State     AccountState      `stored:"state"`
	Closing   bool              `stored:"flag"`             // the first step of closing it
	Highest   map[string]Amount `stored:"highest,optional"` // see above
	Actor     string            `stored:"actor"`            // who changed it, 1 to ActorChars characters
	At        time.Time         `stored:"time"`             // UTC, whole microseconds; set by the command
}

// AccountState restricts the postings of an account.
type AccountState string

// The states of an account.
const (
	StateOpen   AccountState = "open"
	StateFrozen AccountState = "frozen" // no debits
	StateClosed AccountState = "closed" // no debits and no credits; final
)

// Overdraft is an account's policy: no overdraft (the zero value), unlimited, or an amount for each asset.
type Overdraft struct {
	Unlimited bool
	// Limits are amounts by asset, not negative, of at most PostedDigits digits; may be nil. The limit of an asset
	// without an entry is 0.
	Limits map[string]Amount
}

// EventName implements Event.
func (AccountOpened) EventName() string { return "AccountOpened" }

func (e AccountOpened) check() (field, rule string) {
	if field, rule := checkMetadata(e.Metadata); rule != "" {
		return field, rule
	}
	if field, rule := checkRates(e.Rates, e.Overdraft); rule != "" {
		return field, rule
	}
	return checkLimits("Overdraft", e.Overdraft.Limits)
}

// EventName implements Event.
func (AccountChanged) EventName() string { return "AccountChanged" }

func (e AccountChanged) check() (field, rule string) {
	if e.Closing && e.State != StateFrozen {
		return "Closing", "does not fit the state"
	}
	if len(e.Metadata) > 0 && !e.Tagged {
		return "Tagged", ruleMissing
	}
	if field, rule := checkMetadata(e.Metadata); rule != "" {
		return field, rule
	}
	if field, rule := checkRates(e.Rates, e.Overdraft); rule != "" {
		return field, rule
	}
	if field, rule := checkLimits("Overdraft", e.Overdraft.Limits); rule != "" {
		return field, rule
	}
	return checkLimits("Highest", e.Highest)
}

// checkLimits checks that no limit is negative.
func checkLimits(field string, limits map[string]Amount) (broken, rule string) {
	for _, limit := range limits {
		if limit.Sign() < 0 {
			return field, ruleRange
		}
	}
	return "", ""
}
