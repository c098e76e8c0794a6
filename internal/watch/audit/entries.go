package audit

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"ledger.example/internal/table"
)

// entry is an item that shows a transaction: a posting, or an entry in a list of holds or of transactions. It is a
// stored one, or the one that its transaction requires.
type entry struct {
	key         table.Key
	transaction string
	steps       []step // the events that it shows, the newest last; none: the entry is absent or void
	*entryKind
}

// step is an event that an entry shows: a transaction was posted, a hold was placed, or a hold ended.
type step struct {
	text  string    // how findings show an entry whose newest step it is
	ksuid string    // of the event's first leg, or of the posting; "" if the event is not known
	at    time.Time // of the event; zero in a stored entry
	ofEnd bool      // the event is the end of a hold
}

// entryKind has the codes of findings about some entries.
type entryKind struct {
	name                  string
	part                  part
	wrong, behind, orphan Code
	wrongAttribute        string // the attribute that findings of wrong name; "": none
}

var (
	postings         = &entryKind{"posting", eventsPart, PostingDiffers, PostingMissing, PostingWithoutTransaction, ""}
	holdLists        = &entryKind{"entry", eventsPart, HoldEntryWrong, HoldEntryBehind, HoldEntryWithoutHold, ""}
	transactionLists = &entryKind{"entry", listsPart, ListEntryWrong, ListEntryBehind, ListEntryWithoutTransaction,
		table.AttrHeld}
)

// entry returns a posting as an entry.
func (p posting) entry() entry {
	return entry{table.Posting.Key(p.Account, p.Asset, p.ID), p.Transaction,
		[]step{{p.String(), p.ID, p.at(), p.endsHold()}}, postings}
}

// copies returns the steps of a hold in the list of an account. Its entry has copies of the events. Their checksums
// identify them.
func copies(h header, end *outcome) []step {
	all := []step{{"open hold, header checksum " + h.Checksum, h.Legs[0].ID, h.at, false}}
	if end != nil {
		text := "ended hold, header checksum " + h.Checksum + ", end checksum " + end.Checksum
		all = append(all, step{text, end.Legs[0].ID, end.at, true})
	}
	return all
}

// statusTexts returns the texts of the steps of a hold in the list by expiry, of which a lane has the open holds.
func statusTexts(lane string) [2]string {
	return [...]string{"open hold in lane " + lane, "ended hold"}
}

// statuses returns the steps of a hold in the list by expiry.
func statuses(h header, end *outcome, lane string) []step {
	all := copies(h, end)
	for i := range all {
		all[i].text = statusTexts(lane)[i]
	}
	return all
}

// listedAs returns the one step in a list of transactions.
func listedAs(isHold bool, ksuid string, at time.Time) []step {
	if isHold {
		return []step{{"an entry for a hold", ksuid, at, false}}
	}
	return []step{{"an entry for a transaction that is not a hold", ksuid, at, false}}
}

// entries returns the entries that a transaction which exists must have, the postings first. indexed are the metadata
// keys with lists, and lane is the lane of its entries in lists that all transactions share.
func (l lifecycle) entries(indexed []string, lane string) (all []entry) {
	for _, p := range l.postings() {
		all = append(all, p.entry())
	}
	ksuid := l.Legs[0].ID
	require := func(k table.Key, steps []step, of *entryKind) { all = append(all, entry{k, l.ID, steps, of}) }
	if l.isHold() {
		for _, account := range l.accounts() {
			require(table.Hold.Key(account, ksuid), copies(l.header, l.end), holdLists)
		}
		require(table.OpenHold.Key(l.ExpiresAt, l.ID), statuses(l.header, l.end, lane), holdLists)
	}
	require(table.Listed.Key(lane, ksuid, l.ID), listedAs(l.isHold(), ksuid, l.at), transactionLists)
	for _, name := range indexed {
		if value, ok := l.Metadata[name]; ok {
			k := table.ListedMetadata.Key(lane, name, value, ksuid, l.ID)
			require(k, listedAs(l.isHold(), ksuid, l.at), transactionLists)
		}
	}
	return all
}

// entryIn returns a decoded item as an entry. ok is false if the item is not an entry. l is its transaction.
func entryIn(value any, key table.Key, l lifecycle) (e entry, ok bool) {
	switch v := value.(type) {
	case posting:
		if v.Backdated && v.RecordedAt.IsZero() {
			v.RecordedAt = l.RecordedAt
		}
		return v.entry(), true
	case holdEntry:
		if v.Void {
			return entry{key: key, entryKind: holdLists}, true
		}
		return entry{key, v.Header.of.ID, copies(*v.Header.of, v.Ended.of), holdLists}, true
	case openHold:
		texts := statusTexts(v.lane)
		steps := []step{{text: texts[0]}, {text: texts[1]}}
		if l.isHold() {
			copy(steps, statuses(l.header, l.end, l.lane))
		}
		if v.lane != "" {
			steps[0].text = texts[0]
		}
		return entry{key, v.Hold, steps[:v.Version], holdLists}, true
	case listEntry:
		e = entry{key, v.Transaction, nil, transactionLists}
		if !v.Void {
			e.steps = listedAs(v.Held, v.KSUID, time.Time{})
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
// end that is not stored. Postings are written with their event: they are never late.
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
	case wanted.entryKind != postings && a.isYoung(wanted.steps[shown].at):
		return found, unsettled
	}
	return finding(wanted.behind, ""), behind
}

// compareEntries compares the entries that a transaction must have with the stored ones. It also returns their keys.
// isUnsettled is true if an entry does not show an event that may still be projected.
func (a *Audit) compareEntries(ctx context.Context, l lifecycle) (keys []table.Key, found []Finding, isUnsettled bool) {
	all := a.entriesOf(ctx, l, a.Indexed)
	var together []table.Key // postings
	for _, wanted := range all {
		if keys = append(keys, wanted.key); wanted.entryKind == postings {
			together = keys
		}
	}
	items := a.getTogether(ctx, together)
	claims := make(map[bool][]string) // by ofEnd: the transactions that have postings of this one
	for i, wanted := range all {
		if i >= len(items) {
			items = append(items, a.get(ctx, wanted.key))
		}
		value, _ := decode(items[i])
		stored, ok := entryIn(value, wanted.key, l)
		if !ok && len(items[i]) > 0 {
			continue // the scan reports it
		}
		switch f, s := a.judge(stored, wanted); {
		case s == unsettled:
			isUnsettled = true
		case s == wrong && stored.entryKind == postings && a.isRequired(ctx, stored):
			ofEnd := wanted.steps[0].ofEnd
			claims[ofEnd] = append(claims[ofEnd], stored.transaction)
		case s != right:
			found = append(found, f)
		}
	}
	for ofEnd, of := range claims {
		key := table.Transaction.Key(l.ID)
		if ofEnd {
			key = table.Outcome.Key(l.ID)
		}
		found = append(found, Finding{TransactionClaimsOthers, key, fieldLegs,
			fmt.Sprintf("%d postings of other transactions, such as %q", len(of), of[0]), "its own postings"})
	}
	return keys, found, isUnsettled
}

// isRequired reports whether the transaction that a posting names requires exactly this posting.
func (a *Audit) isRequired(ctx context.Context, e entry) bool {
	all := a.entriesOf(ctx, a.readLifecycle(ctx, e.transaction), nil)
	return slices.ContainsFunc(all, func(wanted entry) bool {
		return wanted.key == e.key && wanted.String() == e.String()
	})
}

// orphanFinding is the finding for an entry that its transaction does not require.
func (e entry) orphanFinding(l lifecycle) Finding {
	code, why := e.orphan, "transaction "+strconv.Quote(e.transaction)
	switch {
	case e.entryKind == postings && e.steps[0].ofEnd && l.isHold() && l.end == nil:
		code, why = PostingWithoutEnd, why+" is a hold that has not ended"
	case l.exists:
		why += " has no such " + e.name
	default:
		why += " does not exist"
	}
	return Finding{code, e.key, "", e.String(), "no " + e.name + ": " + why}
}

// isIndexed reports whether the list of an entry must have all transactions that belong in it.
func (a *Audit) isIndexed(v listEntry) bool {
	return v.Name == "" || slices.Contains(a.Indexed, v.Name)
}

// checkUnindexed checks an entry in the list of a metadata key that is not indexed now. Transactions need not have such
// entries, but stored entries must be right.
func (a *Audit) checkUnindexed(ctx context.Context, v listEntry, key table.Key) {
	if v.Void || a.isIndexed(v) {
		return
	}
	l := a.readLifecycle(ctx, v.Transaction)
	if l.unreadable {
		return // the scan reports it
	}
	stored, _ := entryIn(v, key, l)
	for _, wanted := range a.entriesOf(ctx, l, []string{v.Name}) {
		if wanted.key == key {
			if found, s := a.judge(stored, wanted); s != right {
				a.report(ctx, found)
			}
			return
		}
	}
	a.report(ctx, stored.orphanFinding(l))
}
