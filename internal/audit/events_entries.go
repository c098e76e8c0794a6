package audit

import (
	"context"
	"slices"
	"strconv"
	"time"

	"ledger.example/internal/store"
)

// entry is an entry in a list of holds or of transactions: a stored one, or the one that its transaction requires.
type entry struct {
	key         store.Key
	transaction string
	steps       []step // the events that it shows, the newest last; none: the entry is absent or void
	*listKind
}

// step is an event that an entry shows: a transaction was posted, a hold was placed, or a hold ended.
type step struct {
	text  string    // how findings show an entry whose newest step it is
	ksuid string    // of the event's first leg; "" if the event is not known
	at    time.Time // of the event; zero in a stored entry
}

// listKind has the codes of findings about the entries of some lists.
type listKind struct {
	part                  part
	wrong, behind, orphan Code
	wrongAttribute        string // the attribute that findings of wrong name; "": none
}

var (
	holdLists        = &listKind{eventsPart, HoldEntryWrong, HoldEntryBehind, HoldEntryWithoutHold, ""}
	transactionLists = &listKind{listsPart, ListEntryWrong, ListEntryBehind, ListEntryWithoutTransaction,
		store.AttrHeld}
)

// copies returns the steps of a hold in the list of an account. Its entry has copies of the events. Their checksums
// identify them.
func copies(h header, end *outcome) []step {
	all := []step{{"open hold, header checksum " + h.checksum, h.legs[0].ksuid, h.at}}
	if end != nil {
		text := "ended hold, header checksum " + h.checksum + ", end checksum " + end.checksum
		all = append(all, step{text, end.legs[0].ksuid, end.at})
	}
	return all
}

// statusTexts are the texts of the steps of a hold in the list by expiry.
var statusTexts = [...]string{"open hold", "ended hold"}

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
		return []step{{"an entry for a hold", ksuid, at}}
	}
	return []step{{"an entry for a transaction that is not a hold", ksuid, at}}
}

// entries returns the entries that a transaction must have. indexed are the metadata keys with lists.
func (l lifecycle) entries(indexed []string) (all []entry) {
	if !l.exists {
		return nil
	}
	ksuid := l.legs[0].ksuid
	require := func(k store.Key, steps []step, of *listKind) { all = append(all, entry{k, l.id, steps, of}) }
	if l.isHold() {
		for _, account := range l.accounts() {
			require(store.Hold.Key(account, ksuid), copies(l.header, l.end), holdLists)
		}
		require(store.OpenHold.Key(l.expires, l.id), statuses(l.header, l.end), holdLists)
	}
	require(store.Listed.Key(ksuid, l.id), listedAs(l.isHold(), ksuid, l.at), transactionLists)
	for _, name := range indexed {
		if value, ok := l.metadata[name]; ok {
			k := store.ListedMetadata.Key(name, value, ksuid, l.id)
			require(k, listedAs(l.isHold(), ksuid, l.at), transactionLists)
		}
	}
	return all
}

// entryIn returns a decoded item as an entry. ok is false if the item is not an entry. l is its transaction.
func entryIn(value any, key store.Key, l lifecycle) (e entry, ok bool) {
	switch v := value.(type) {
	case holdEntry:
		e = entry{key, v.header.id, nil, holdLists}
		if v.version != voidVersion {
			e.steps = copies(v.header, v.end)
		}
		return e, true
	case openHold:
		steps := []step{{text: statusTexts[0]}, {text: statusTexts[1]}}
		if l.isHold() {
			copy(steps, statuses(l.header, l.end))
		}
		return entry{key, v.hold, steps[:v.version], holdLists}, true
	case listEntry:
		e = entry{key, v.transaction, nil, transactionLists}
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

// judge compares a stored entry with the one that its transaction requires. The state is beyond if the entry shows an
// end that is not stored.
func (a *Audit) judge(stored, wanted entry) (found Finding, s state) {
	finding := func(code Code, attribute string) Finding {
		of := " of transaction " + strconv.Quote(wanted.transaction)
		return Finding{code, wanted.key, attribute, stored.String(), wanted.String() + of}
	}
	switch shown := len(stored.steps); {
	case shown > len(wanted.steps):
		return finding(wanted.orphan, ""), beyond
	case shown > 0 && stored.steps[shown-1].text != wanted.steps[shown-1].text:
		return finding(wanted.wrong, wanted.wrongAttribute), wrong
	case shown == len(wanted.steps):
		return found, right
	case a.isYoung(wanted.steps[shown].at):
		return found, unsettled
	}
	return finding(wanted.behind, ""), behind
}

// compareEntries compares the entries that a transaction must have with the stored ones. It also returns their keys.
// isUnsettled is true if an entry does not show an event that may still be projected.
func (a *Audit) compareEntries(ctx context.Context, l lifecycle) (keys []store.Key, found []Finding, isUnsettled bool) {
	for _, wanted := range l.entries(a.Indexed) {
		keys = append(keys, wanted.key)
		item := a.get(ctx, wanted.key)
		value, _ := decode(item)
		stored, ok := entryIn(value, wanted.key, l)
		if !ok && len(item) > 0 {
			continue // the scan reports it
		}
		switch f, s := a.judge(stored, wanted); s {
		case unsettled:
			isUnsettled = true
		case behind, wrong, beyond:
			found = append(found, f)
		}
	}
	return keys, found, isUnsettled
}

// orphanFinding is the finding for an entry that its transaction does not require.
func (e entry) orphanFinding(l lifecycle) Finding {
	id := strconv.Quote(e.transaction)
	right := "no entry: transaction " + id + " does not exist"
	if l.exists {
		right = "no entry: transaction " + id + " does not belong in this list"
	}
	return Finding{e.orphan, e.key, "", "an entry for transaction " + id, right}
}

// isIndexed reports whether the list of an entry must have all transactions that belong in it.
func (a *Audit) isIndexed(v listEntry) bool {
	return v.name == "" || slices.Contains(a.Indexed, v.name)
}

// checkUnindexed checks an entry in the list of a metadata key that is not indexed now. Transactions need not have such
// entries, but stored entries must be right.
func (a *Audit) checkUnindexed(ctx context.Context, v listEntry, key store.Key) {
	if v.void || a.isIndexed(v) {
		return
	}
	l := a.readLifecycle(ctx, v.transaction)
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
	a.report(ctx, stored.orphanFinding(l))
}
