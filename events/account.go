package events

import (
	"bytes"
	"encoding/json"
	"time"
	"unicode/utf8"
)

const (
	accountOpened  = "AccountOpened"
	accountChanged = "AccountChanged"
)

// AccountOpened: an account was opened. Later changes of the account are AccountChanged events.
type AccountOpened struct {
	ID        string    // see ValidID; set by the caller
	Name      string    // 0 to NameChars characters
	Profile   string    // a JSON object in compact form of at most ProfileBytes bytes; "{}" by default
	Overdraft Overdraft // how far below zero its balances may go
	Actor     string    // who opened it, 1 to ActorChars characters
	At        time.Time // UTC, whole microseconds; set by the command
}

// AccountChanged: an account was changed. It has the complete new state of the account.
type AccountChanged struct {
	ID        string // of the account
	Number    int64  // the account's version: 2, 3 … ChangesMax; its opening is 1
	Name      string // as in AccountOpened, like Profile and Overdraft
	Profile   string
	Overdraft Overdraft // unlimited if and only if the opening's is
	State     AccountState
	Closing   bool              // the first step of closing it: only the state was changed, to StateFrozen
	Highest   map[string]Amount // by asset, the highest earlier limit, if above Overdraft's; may be nil
	Actor     string            // who changed it, 1 to ActorChars characters
	At        time.Time         // UTC, whole microseconds; set by the command. Order is that of Number, not of At
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

// unlimitedOverdraft is the stored form of the policy. Limits are stored as a map of numbers.
const unlimitedOverdraft = "unlimited"

// EventName implements Event.
func (AccountOpened) EventName() string { return accountOpened }

func (e AccountOpened) write(f FieldEncoder) { e.fields(&coder{out: f}) }

func (e *AccountOpened) fields(c *coder) {
	text(c, "Actor", &e.Actor, actor)
	c.time("At", &e.At)
	text(c, "ID", &e.ID, requiredID)
	text(c, "Name", &e.Name, accountName)
	c.overdraft("Overdraft", &e.Overdraft)
	text(c, "Profile", &e.Profile, profile)
}

// EventName implements Event.
func (AccountChanged) EventName() string { return accountChanged }

func (e AccountChanged) write(f FieldEncoder) { e.fields(&coder{out: f}) }

func (e *AccountChanged) fields(c *coder) {
	text(c, "Actor", &e.Actor, actor)
	c.time("At", &e.At)
	c.flag("Closing", &e.Closing)
	c.limits("Highest", &e.Highest, HighestLimits)
	text(c, "ID", &e.ID, requiredID)
	text(c, "Name", &e.Name, accountName)
	integer(c, "Number", &e.Number, 2, ChangesMax)
	c.overdraft("Overdraft", &e.Overdraft)
	text(c, "Profile", &e.Profile, profile)
	text(c, "State", &e.State, accountState)
	if c.out == nil && e.Closing && e.State != StateFrozen {
		c.fail("Closing", ruleState)
	}
}

var accountState = oneOf(StateOpen, StateFrozen, StateClosed)

var (
	accountName = optionalText(NameChars)
	profile     = textRule{
		broken: "is not a JSON object in compact form", valid: validProfile, optional: true, absent: "{}",
	}
)

// validProfile reports whether s is the stored form of a profile. "{}" is not: it is absent instead.
func validProfile(s string) bool {
	var compact bytes.Buffer
	return len(s) > len("{}") && len(s) <= ProfileBytes && utf8.ValidString(s) && s[0] == '{' &&
		json.Compact(&compact, []byte(s)) == nil && compact.String() == s
}

// overdraft codes a policy, which is absent if it allows no overdraft.
func (c *coder) overdraft(field string, o *Overdraft) {
	_, isText := c.stored[field].(string)
	switch {
	case c.out != nil && o.Unlimited:
		c.out.Text(field, unlimitedOverdraft)
	case isText:
		o.Unlimited = true
		if take[string](c, field) != unlimitedOverdraft {
			c.fail(field, ruleUnknown)
		}
	default:
		c.limits(field, &o.Limits, OverdraftAssets)
	}
}

// limits codes at most most amounts by asset, which are absent if there are none.
func (c *coder) limits(field string, limits *map[string]Amount, most int) {
	switch {
	case c.out != nil && len(*limits) > 0:
		c.out.BeginMap(field, len(*limits))
		var room [OverdraftAssets]string
		for _, asset := range sortedNames(room[:0], *limits) {
			c.out.Number(asset, (*limits)[asset])
		}
		c.out.End()
	case c.out == nil && c.has(field):
		stored := c.takeMap(field, most)
		*limits = make(map[string]Amount, len(stored))
		for asset, v := range stored {
			number, ok := v.(Number)
			limit, err := ParseAmount(string(number), PostedDigits)
			switch {
			case !ValidID(asset):
				c.fail(field, ruleID)
			case !ok:
				c.fail(field, ruleType)
			case err != nil, limit.Sign() < 0:
				c.fail(field, ruleRange)
			}
			(*limits)[asset] = limit
		}
	}
}
