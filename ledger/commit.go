package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// commit is written in one transaction of the store: all or nothing. Its conditions: every event and posting is absent,
// and every debit passes its guard.
type commit struct {
	requests    []*request               // that it carries out
	events      []events.Event           // unique by their keys: headers, ends of holds, numbers of reversals
	postings    []events.PostingRecorded // of all headers and ends
	limits      []*limit                 // one for each limited account and asset that is debited, distinct
	unknownZone string                   // of a rate that must count a debit and cannot: nothing may be written
	minted      time.Time                // right before the KSUIDs of postings; monotonic
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
func (c *commit) writes() []table.Write {
	size := len(c.events) + len(c.postings) + len(c.limits)
	all, maker := make([]table.Write, 0, size), table.NewItemEncoder(size)
	for _, e := range c.events {
		all = append(all, putAbsent(maker, e))
	}
	for i := range c.postings {
		all = append(all, putAbsent(maker, &c.postings[i]))
	}
	for _, l := range c.limits {
		all = append(all, l.spend(maker))
	}
	return all
}

// putAbsent returns the put of an event on the condition that its key is absent.
func putAbsent(m *table.ItemEncoder, e events.Event) table.Write {
	return table.Write{Item: m.Event(e), If: table.IfAbsent, ReturnOld: true}
}

// refusals returns the limits whose guards refused the commit, with these guards as they were then. An existing posting
// is no refusal: either its event exists, too, or its KSUID was minted twice.
func (c *commit) refusals(why *table.Cancelled) (refused []*limit, err error) {
	for i, reason := range why.Reasons[len(c.events)+len(c.postings):] {
		l := c.limits[i]
		switch {
		case reason.Is != table.CauseCondition:
			continue
		case reason.Old == nil:
			l.guard = guard{pair: l.pair}
		default:
			if l.guard, err = readGuard(l.pair, reason.Old); err != nil {
				return nil, err
			}
		}
		l.isRead, l.isExact = true, false
		refused = append(refused, l)
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
	spendNames   = map[string]string{"#form": table.AttrForm, "#change": table.AttrChange, "#spent": table.AttrSpent}
	versionNames = map[string]string{"#form": table.AttrForm, "#change": table.AttrChange}
)

// spend returns the update of the guard of a limit. It adds gross to the amount spent, on the condition that the guard
// exists, has the form that is known here and the account's version, and that the amount spent so far is at most bound.
// So a negative bound never passes. It is sent nevertheless, because the refusal returns the amount spent.
func (l *limit) spend(m *table.ItemEncoder) table.Write {
	if l.rates != nil {
		return l.spendWithRates(m)
	}
	return table.Write{
		Key:    table.Spend.Key(l.pair.Account, l.pair.Asset),
		Update: addGross,
		If:     withinBound,
		Names:  spendNames,
		Values: table.Item{
			":gross":  m.Amount(l.gross),
			":bound":  m.Amount(l.bound()),
			":change": m.Amount(events.NewAmount(l.account.Version)),
			":form":   m.Amount(events.NewAmount(events.Form)),
		},
		ReturnOld: true,
	}
}

// guard is the total that an account has ever spent or held of an asset. Each debit of a limited account updates it.
type guard struct {
	pair    events.Pair
	spent   events.Amount
	version int64                // of the account, as set last; 0 for none, also if the guard does not exist
	rates   map[string]rateState // by name; nil without any
}

// readGuard decodes the guard of a pair.
func readGuard(pair events.Pair, item table.Item) (guard, error) {
	r := table.Open(item, table.Spend.Type)
	g := guard{pair: pair, spent: r.Amount(table.AttrSpent)}
	if r.Has(table.AttrChange) {
		g.version = r.Integer(table.AttrChange)
	}
	if r.Err() == nil {
		g.rates = readRates(r, item)
	}
	if r.Err() != nil {
		return g, fmt.Errorf("guard of %s in %s: %w", pair.Asset, pair.Account, r.Err())
	}
	return g, nil
}

// createGuard writes the guard of a pair, without an account version, unless it exists, with retries.
func (l *Ledger) createGuard(ctx context.Context, pair events.Pair) error {
	item := table.Begin(table.Spend.Key(pair.Account, pair.Asset), table.Spend.Type)
	item[table.AttrSpent] = table.Integer(0)
	return l.retryWrite(ctx, func(ctx context.Context) (time.Time, error) {
		at, err := l.table.Write(ctx, table.Write{Item: item, If: table.IfAbsent})
		if _, exists := errors.AsType[*table.Refused](err); err == nil || exists {
			return at, nil
		}
		return at, fmt.Errorf("create guard: %w", err)
	})
}

const (
	setVersion = "SET #change = :version"
	isOlder    = "#form = :form AND attribute_not_exists(#change) OR #form = :form AND #change < :version"
)

// setGuardVersion sets the account version of a guard, unless the guard has it or a newer one, with retries. It marks
// the guard as existing. Error: also ErrAbsent.
func (l *Ledger) setGuardVersion(ctx context.Context, pair events.Pair, version int64) error {
	w := table.Write{
		Key: table.Spend.Key(pair.Account, pair.Asset), Update: setVersion, If: isOlder, Names: versionNames,
		Values:    table.Item{":version": table.Integer(version), ":form": table.Integer(events.Form)},
		ReturnOld: true,
	}
	err := l.retryWrite(ctx, func(ctx context.Context) (time.Time, error) {
		at, err := l.table.Write(ctx, w)
		if refused, ok := errors.AsType[*table.Refused](err); ok {
			if err = table.ErrAbsent; refused.Old != nil {
				_, err = readGuard(pair, refused.Old)
			}
		}
		if err != nil {
			err = fmt.Errorf("set guard version: %w", err)
		}
		return at, err
	})
	if err == nil {
		l.credits.setUnguarded(pair, false)
	}
	return err
}

// eachGuard calls do for every guard of an account, by asset, one after the other.
func (l *Ledger) eachGuard(ctx context.Context, account string, do func(guard)) error {
	q := table.Query{
		Partition: table.Account.PK(account), Within: table.Spend.All(), Consistency: table.Strong,
	}
	for item, err := range l.items(ctx, q) {
		_, asset, ok := table.Spend.Parse(table.ItemKey(item))
		if err == nil && !ok {
			err = fmt.Errorf("%w: %v", table.ErrMalformedItem, table.ItemKey(item))
		}
		var g guard
		if err == nil {
			g, err = readGuard(events.Pair{Account: account, Asset: asset}, item)
		}
		if err != nil {
			return fmt.Errorf("read guards: %w", err)
		}
		do(g)
	}
	return nil
}
