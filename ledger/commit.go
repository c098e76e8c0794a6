package ledger

import (
	"fmt"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// commit is written in one transaction of the store: all or nothing. Its conditions: every event and posting is absent,
// and every debit passes its guard.
type commit struct {
	requests []*request               // that it carries out
	events   []events.Event           // under keys that make them unique: headers, ends of holds, numbers of reversals
	postings []events.PostingRecorded // of all headers and ends
	limits   []limit                  // one for each limited account and asset that is debited, distinct
	period   *events.PeriodClosed     // the newest, if it was read
}

// add adds the event of a request with its postings.
func (c *commit) add(e events.Event, postings []events.PostingRecorded) {
	c.events = append(c.events, e)
	if c.postings == nil {
		c.postings = postings
	} else {
		c.postings = append(c.postings, postings...)
	}
}

// writes returns the writes of the commit, in the order of its fields.
func (c commit) writes() []store.Write {
	size := len(c.events) + len(c.postings) + len(c.limits)
	all, maker := make([]store.Write, 0, size), store.NewItemEncoder(size)
	for _, e := range c.events {
		all = append(all, putAbsent(maker, e))
	}
	for i := range c.postings {
		all = append(all, putAbsent(maker, &c.postings[i]))
	}
	for i := range c.limits {
		all = append(all, c.limits[i].spend(maker))
	}
	return all
}

// putAbsent returns the put of an event on the condition that its key is absent.
func putAbsent(m *store.ItemEncoder, e events.Event) store.Write {
	return store.Write{Item: m.Event(e), If: store.IfAbsent, ReturnOld: true}
}

// storedEvent decodes the event that was stored under the key of another. It is nil if the store did not return it.
func storedEvent(put store.Reason) (stored events.Event, err error) {
	if put.Old == nil {
		return nil, nil
	}
	if stored, err = store.DecodeEvent(put.Old); err != nil {
		return nil, fmt.Errorf("stored event: %w", err)
	}
	return stored, nil
}

// refusals returns the guards that refused the commit, as they were then, in the order of limits. An existing posting
// is no refusal: either its event exists, too, or its KSUID was minted twice.
func (c commit) refusals(why *store.Cancelled) (refused []guard, err error) {
	for i, reason := range why.Reasons[len(c.events)+len(c.postings):] {
		if reason.Is != store.CauseCondition {
			continue
		}
		g := guard{pair: c.limits[i].pair}
		if reason.Old != nil {
			if g, err = readGuard(g.pair, reason.Old); err != nil {
				return nil, err
			}
		}
		refused = append(refused, g)
	}
	return refused, nil
}

// A comparison with an absent attribute is false. So no debit passes a guard that is absent or has no version.
const (
	addGross    = "ADD #spent :gross"
	withinBound = "#form = :form AND #change = :change AND #spent <= :bound"
)

// The names in the expressions of guards.
var (
	spendNames   = map[string]string{"#form": store.AttrForm, "#change": store.AttrChange, "#spent": store.AttrSpent}
	versionNames = map[string]string{"#form": store.AttrForm, "#change": store.AttrChange}
)

// spend returns the update of the guard of a limit. It adds gross to the amount spent, on the condition that the guard
// exists, has the form that is known here and the account's version, and that the amount spent so far is at most bound.
// So a negative bound never passes. It is sent nevertheless, because the refusal returns the amount spent.
func (l *limit) spend(m *store.ItemEncoder) store.Write {
	return store.Write{
		Key:    store.Spend.Key(l.pair.Account, l.pair.Asset),
		Update: addGross,
		If:     withinBound,
		Names:  spendNames,
		Values: store.Item{
			":gross":  m.Amount(l.gross),
			":bound":  m.Amount(l.bound()),
			":change": m.Amount(events.NewAmount(l.account.Version)),
			":form":   m.Amount(events.NewAmount(events.Form)),
		},
		ReturnOld: true,
	}
}
