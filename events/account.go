package events

import (
	"bytes"
	"encoding/json"
	"time"
)

const accountOpened = "AccountOpened"

// AccountOpened: a holder was named. Never changed.
type AccountOpened struct {
	ID        string    // see ValidID; set by the caller
	Name      string    // 0 to NameChars characters
	Profile   string    // a JSON object in compact form of at most ProfileBytes bytes; "{}" when none was given
	Overdraft Overdraft // how far below zero its balances may go
	Actor     string    // who opened it, 1 to ActorChars characters
	At        time.Time // UTC, whole microseconds; set by the command
}

// Overdraft is an account's policy: not at all (the zero value), unlimited, or an amount for each asset.
type Overdraft struct {
	Unlimited bool
	Limits    map[string]Amount // asset to amount, not negative, of at most PostedDigits digits; nil unless given. An asset absent here has limit 0
}

const (
	emptyProfile       = "{}"        // stored as absence
	unlimitedOverdraft = "unlimited" // the stored form of the policy; limits are stored as a map of numbers
)

// EventName implements Event.
func (AccountOpened) EventName() (string, int) { return accountOpened, 1 }

func (e AccountOpened) write(f Form) {
	f.Text(fieldID, e.ID)
	writeText(f, fieldName, e.Name)
	if e.Profile != emptyProfile {
		writeText(f, fieldProfile, e.Profile)
	}
	if e.Overdraft.Unlimited {
		f.Text(fieldOverdraft, unlimitedOverdraft)
	} else if len(e.Overdraft.Limits) > 0 {
		f.BeginMap(fieldOverdraft, len(e.Overdraft.Limits))
		for asset, limit := range e.Overdraft.Limits {
			f.Number(asset, limit)
		}
		f.End()
	}
	f.Text(fieldActor, e.Actor)
	f.Text(fieldAt, FormatTime(e.At))
}

func decodeAccountOpened(f Fields) (AccountOpened, error) {
	r := reader{stored: f}
	e := AccountOpened{
		ID:        r.id(fieldID),
		Name:      r.optionalText(fieldName, NameChars),
		Profile:   r.profile(fieldProfile),
		Overdraft: r.overdraft(fieldOverdraft),
		Actor:     r.text(fieldActor, ActorChars),
		At:        r.time(fieldAt),
	}
	return e, r.finishEvent(accountOpened)
}

func (r *reader) profile(field string) string {
	if _, ok := r.stored[field]; !ok {
		return emptyProfile
	}
	profile := take[string](r, field)
	var compact bytes.Buffer
	switch {
	case len(profile) > ProfileBytes:
		r.fail(field, ruleRange)
	case profile == emptyProfile:
		r.fail(field, ruleEmpty)
	case !validText(profile, 2, ProfileBytes), profile[0] != '{', json.Compact(&compact, []byte(profile)) != nil, compact.String() != profile:
		r.fail(field, ruleProfile)
	}
	return profile
}

func (r *reader) overdraft(field string) Overdraft {
	switch r.stored[field].(type) {
	case nil: // absent
		return Overdraft{}
	case string:
		if take[string](r, field) != unlimitedOverdraft {
			r.fail(field, ruleUnknown)
		}
		return Overdraft{Unlimited: true}
	}
	stored := take[Fields](r, field)
	switch {
	case len(stored) == 0:
		r.fail(field, ruleEmpty)
	case len(stored) > OverdraftAssets:
		r.fail(field, ruleRange)
		return Overdraft{}
	}
	limits := make(map[string]Amount, len(stored))
	for asset, v := range stored {
		number, ok := v.(Number)
		limit, err := ParseAmount(string(number), PostedDigits)
		switch {
		case !ValidID(asset):
			r.fail(field, ruleID)
		case !ok:
			r.fail(field, ruleType)
		case err != nil, limit.Sign() < 0:
			r.fail(field, ruleRange)
		}
		limits[asset] = limit
	}
	return Overdraft{Limits: limits}
}
