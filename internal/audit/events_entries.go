package audit

import (
	"context"
	"slices"
	"strconv"
	"time"

	"ledger.example/internal/table"
)

// entry is an entry in a list of holds or of transactions: as it is stored, or as its transaction demands it.
type entry struct {
	key         table.Key
	transaction string
	steps       []step // what it shows, the newest last; none: it is absent, or lists nothing
	*listing
}

// step is what an entry shows of one event: that a transaction was posted, that a hold was placed, or how it ended.
type step struct {
	text  string    // what findings show of an entry whose newest step it is
	ksuid string    // of the event's first leg; "" if the event is not known
	at    time.Time // of the event; zero in a stored entry
}

// listing is what the entries of some lists have in common.
type listing struct {
	of                   part
	wrong, behind, alone Code
	wrongIn              string // the attribute that makes an entry wrong; "" for any
}

var (
	ofHolds        = &listing{ofEvents, HoldEntryWrong, HoldEntryBehind, HoldEntryWithoutHold, ""}
	ofTransactions = &listing{ofLists, ListEntryWrong, ListEntryBehind, ListEntryWithoutTransaction, table.AttrHeld}
)

// copies returns the steps of a hold in the list of an account. Its entry has copies of the events, which their
// checksums identify.
func copies(h header, end *outcome) []step {
	all := []step{{"open, header " + h.checksum, h.legs[0].ksuid, h.at}}
	if end != nil {
		all = append(all, step{"ended, header " + h.checksum + ", end " + end.checksum, end.legs[0].ksuid, end.at})
	}
	return all
}

// statusTexts are the texts of the steps of a hold in the list by expiry.
var statusTexts = [...]string{"open", "ended"}

// statuses returns the steps of a hold in the list by expiry.
func statuses(h header, end *outcome) []step {
	all := copies(h, end)
	for i := range all {
		all[i].text = statusTexts[i]
	}
	return all
}

// listedAs returns the one step in a list of transactions.
func listedAs(isHold bool, ksuid string, at time.Time) []step {
	if isHold {
		return []step{{"a hold", ksuid, at}}
	}
	return []step{{"no hold", ksuid, at}}
}

// entries returns the entries that a transaction must have. Of the lists by metadata, those by the given keys count.
func (l life) entries(indexed []string) (all []entry) {
	if !l.exists {
		return nil
	}
	ksuid := l.legs[0].ksuid
	demand := func(k table.Key, steps []step, of *listing) { all = append(all, entry{k, l.id, steps, of}) }
	if l.isHold() {
		for _, account := range l.accounts() {
			demand(table.HoldKey(account, ksuid), copies(l.header, l.end), ofHolds)
		}
		demand(table.OpenHoldKey(l.expires, l.id), statuses(l.header, l.end), ofHolds)
	}
	demand(table.ListedKey(ksuid, l.id), listedAs(l.isHold(), ksuid, l.at), ofTransactions)
	for _, name := range indexed {
		if value, ok := l.metadata[name]; ok {
			k := table.Key{PK: table.MetadataPK(name, value), SK: table.ListedSK(ksuid, l.id)}
			demand(k, listedAs(l.isHold(), ksuid, l.at), ofTransactions)
		}
	}
	return all
}

// entryIn returns the entry that a decoded item is. ok is false if it is none. l is what is known of its transaction.
func entryIn(value any, key table.Key, l life) (e entry, ok bool) {
	switch v := value.(type) {
	case holdEntry:
		return entry{key, v.header.id, copies(v.header, v.end), ofHolds}, true
	case openHold:
		steps := []step{{text: statusTexts[0]}, {text: statusTexts[1]}}
		if l.isHold() {
			copy(steps, statuses(l.header, l.end))
		}
		return entry{key, v.hold, steps[:v.version], ofHolds}, true
	case listed:
		e = entry{key, v.transaction, nil, ofTransactions}
		if !v.void {
			e.steps = listedAs(v.held, v.ksuid, time.Time{})
		}
		return e, true
	}
	return e, false
}

func (e entry) String() string {
	if len(e.steps) == 0 {
		return absent
	}
	return e.steps[len(e.steps)-1].text
}

// judge compares a stored entry with the one that its transaction demands: right, moving, behind, wrong, or beyond if
// it shows an end that does not exist.
func (a *Audit) judge(stored, wanted entry) (found Finding, s state) {
	finding := func(code Code, attribute string) Finding {
		return Finding{code, wanted.key, attribute, stored.String(), wanted.String()}
	}
	switch shown := len(stored.steps); {
	case shown > len(wanted.steps):
		return finding(wanted.alone, ""), beyond
	case shown > 0 && stored.steps[shown-1].text != wanted.steps[shown-1].text:
		return finding(wanted.wrong, wanted.wrongIn), wrong
	case shown == len(wanted.steps):
		return found, right
	case a.isYoung(wanted.steps[shown].at):
		return found, moving
	}
	return finding(wanted.behind, ""), behind
}

// compareEntries compares the entries that a transaction must have with the stored ones, and returns their keys.
// isMoving is true if one of them is behind, and too young for that to be wrong.
func (a *Audit) compareEntries(ctx context.Context, l life) (keys []table.Key, found []Finding, isMoving bool) {
	for _, wanted := range l.entries(a.Indexed) {
		keys = append(keys, wanted.key)
		item := a.get(ctx, wanted.key)
		value, _ := decode(item)
		stored, ok := entryIn(value, wanted.key, l)
		if !ok && len(item) > 0 {
			continue // the scan reports it
		}
		switch f, s := a.judge(stored, wanted); s {
		case moving:
			isMoving = true
		case behind, wrong, beyond:
			found = append(found, f)
		}
	}
	return keys, found, isMoving
}

// belongsNowhere is the finding of an entry that its transaction does not demand.
func (e entry) belongsNowhere(l life) Finding {
	id := strconv.Quote(e.transaction)
	right := "no entry: there is no transaction " + id
	if l.exists {
		right = "no entry: transaction " + id + " does not belong there"
	}
	return Finding{e.alone, e.key, "", "an entry of " + id, right}
}

// isIndexed reports whether all transactions that belong into an entry's list must be there.
func (a *Audit) isIndexed(v listed) bool { return v.name == "" || slices.Contains(a.Indexed, v.name) }

// checkUnindexed checks an entry by a metadata key that is not indexed, or not any more. A transaction need not have
// such an entry. One that is stored must be right.
func (a *Audit) checkUnindexed(ctx context.Context, v listed, key table.Key) {
	if v.void || a.isIndexed(v) {
		return
	}
	l := a.life(ctx, v.transaction)
	if l.unreadable {
		return // the scan reports it
	}
	stored, _ := entryIn(v, key, l)
	for _, wanted := range l.entries([]string{v.name}) {
		if wanted.key == key {
			if found, s := a.judge(stored, wanted); s != right {
				a.report(ctx, found)
			}
			return
		}
	}
	a.report(ctx, stored.belongsNowhere(l))
}
