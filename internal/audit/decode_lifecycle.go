package audit

import (
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/store"
)

// Names of the stored events of holds, reversals and changes of accounts.
const (
	kindHeld     = "TransactionHeld"
	kindCaptured = "HoldCaptured"
	kindReleased = "HoldReleased"
	kindExpired  = "HoldExpired"
	kindReversed = "TransactionReversed"
	kindChange   = "AccountChanged"
)

// Phases of a hold's postings. All but the first end the hold and are also its outcomes.
const (
	placed   = "placed"
	captured = "captured"
	released = "released"
	expired  = "expired"
)

// statusHeld is the status of an open hold in its entries.
const statusHeld = "held"

const (
	reversalsMax = 1000
	changesMax   = grantsMax
	frozen       = "frozen" // the state of an account without debits
	closed       = "closed" // the final state of an account
)

// pending reads the phase of a hold's posting, and its change of the pending amount. A capture posts at most the
// held amounts, with the same signs. The other phases post nothing.
func (r *reader) pending(l *leg) {
	l.pending = new(big.Int)
	if !r.has(fieldPhase) && !r.has(fieldPending) {
		return
	}
	l.phase, l.pending = r.oneOf(fieldPhase, placed, captured, released, expired), r.amount(fieldPending, postedDigits)
	planned := new(big.Int).Neg(l.pending)
	isWithin := l.quantity.Sign() == 0 && l.cost.Sign() == 0 || l.phase == captured && within(l.quantity, planned)
	if !r.broken && !isWithin {
		r.fault(WrongValue, fieldPending, "the held amount; quantity and cost within it if captured, else 0")
	}
}

// within reports whether part is between 0 and whole.
func within(part, whole *big.Int) bool {
	return part.Sign() == 0 || part.Sign() == whole.Sign() && part.CmpAbs(whole) <= 0
}

// endsHold reports whether a posting ends a hold.
func (l leg) endsHold() bool { return l.phase == captured || l.phase == released || l.phase == expired }

// holdsDebit reports whether a posting places or ends a debit of a hold.
func (l leg) holdsDebit() bool {
	return l.phase == placed && l.pending.Sign() < 0 || l.endsHold() && l.pending.Sign() > 0
}

// outcome is the event that ended a hold. Its legs are the hold's, with the amounts that were posted.
type outcome struct {
	event
	hold, checksum string
	how            string // captured, released or expired
	legs           []leg
}

// outcome reads the attributes of an outcome. Its time is in the KSUIDs of its legs.
func (r *reader) outcome(hold string) outcome {
	o := outcome{event: r.event("", ""), hold: hold, checksum: textOf(r.item[store.AttrChecksum])}
	o.how = strings.ToLower(strings.TrimPrefix(textOf(r.item[store.AttrType]), "Hold"))
	r.same(fieldTransaction, hold)
	r.description()
	r.actor()
	if o.legs = r.legs(); len(o.legs) > 0 {
		o.at, _ = instantOf(o.legs[0].ksuid)
	}
	return o
}

// reversed is the event that says which amounts of a transaction were reversed.
type reversed struct {
	event
	transaction, by string // by is the id of the reversing transaction
	taken           []leg  // the reversed amounts of each leg, with the leg's sign; no other field is set
}

// reversal reads the attributes of a reversal. It has no time.
func (r *reader) reversal(transaction string, number int64) reversed {
	v := reversed{event: r.event("", ""), transaction: transaction, by: r.id("By")}
	r.counted(number, 1, reversalsMax)
	r.same(fieldTransaction, transaction)
	r.maps(fieldTaken, "legs", 2, 48, func(one *reader) {
		var l leg
		one.amounts(&l)
		v.taken = append(v.taken, l)
	})
	return v
}

const fieldTaken = "Taken"

// counted checks the number of an event, which is also in its key, and returns the key's number.
func (r *reader) counted(number, least, most int64) int64 {
	if n := r.integer(store.AttrNumber, least, most); n != number && !r.broken {
		r.fault(WrongKey, store.AttrNumber, strconv.FormatInt(number, 10))
	}
	return number
}

// change is the event that sets a new version of an account.
type change struct {
	event
	account, state, checksum string
	number                   int64
	unlimited                bool
	limits, highest          map[string]*big.Int // highest: of the assets that once had a higher limit
}

// change reads the attributes of a change.
func (r *reader) change(account string, number int64) change {
	c := r.changed(account, r.event("", ""))
	c.number = r.counted(number, 2, changesMax)
	return c
}

// changed reads the attributes that a change and its copy have in common.
func (r *reader) changed(account string, e event) change {
	c := change{event: e, account: account}
	c.at, c.unlimited, c.limits = r.definition(account)
	c.state, c.highest = r.oneOf("State", "open", frozen, closed), r.limits("Highest", 1000)
	if r.flag("Closing") && c.state != frozen {
		r.fault(WrongValue, "Closing", "absent")
	}
	c.checksum = textOf(r.item[store.AttrChecksum])
	return c
}

// current is the current account: a copy of its newest change, under a key that every change overwrites. It does not
// embed the change, because it is not an event.
type current struct{ newest change }

// current reads the attributes of such a copy. Its checksum is that of the change.
func (r *reader) current(account string) current {
	r.keys("", "")
	c := current{r.changed(account, event{})}
	c.newest.number = r.integer(store.AttrNumber, 2, changesMax)
	r.string(store.AttrChecksum)
	original := maps.Clone(r.item)
	original[store.AttrType] = stringOf(kindChange)
	if right := checksumOf(original); !r.broken && right != c.newest.checksum {
		r.fault(AccountCurrentWrong, store.AttrChecksum, strconv.Quote(right))
	}
	return c
}

// holdEntry is an entry in an account's list of holds. It has copies of the hold's header and end.
type holdEntry struct {
	account, ksuid string // of the hold's first leg
	version        int64
	header         header
	end            *outcome // nil while the hold is open
}

// Versions of a hold's entries. A rebuild makes an entry void that its hold does not have: it lists nothing.
const (
	voidVersion  = 0
	openVersion  = 1
	endedVersion = 2
)

// holdEntry reads the attributes of an entry in an account's list of holds.
func (r *reader) holdEntry(account, ksuid string) holdEntry {
	e := holdEntry{account: account, ksuid: ksuid, version: r.entryVersion()}
	if e.version == voidVersion {
		r.keys("", "")
		return e
	}
	e.header = copyOf[header](r, store.AttrHeader, key1(store.Transaction.Parse, (*reader).header), kindHeld)
	status, version := statusHeld, int64(openVersion)
	if r.has(store.AttrEnded) {
		end := copyOf[outcome](r, store.AttrEnded, key1(store.Outcome.Parse, (*reader).outcome),
			kindCaptured, kindReleased, kindExpired)
		if e.end = &end; !r.broken && end.hold != e.header.id {
			r.fault(HoldEntryWrong, store.AttrEnded, "an end of hold "+strconv.Quote(e.header.id))
		}
		status, version = end.how, endedVersion
	}
	r.keys(store.Hold.SK2(status, ksuid), "")
	if !r.broken && e.version != version {
		r.fault(HoldEntryWrong, store.AttrVersion, strconv.FormatInt(version, 10))
	}
	return e
}

// entryVersion reads the version of an entry of a hold. Only void entries are flagged as such.
func (r *reader) entryVersion() int64 {
	if r.flag(store.AttrVoid) {
		return r.integer(store.AttrVersion, voidVersion, voidVersion)
	}
	return r.integer(store.AttrVersion, openVersion, endedVersion)
}

// copyOf reads a map in an item that is a copy of an event, including its keys.
func copyOf[T any](r *reader, name string, read kind, kinds ...string) (v T) {
	m, ok := take[*types.AttributeValueMemberM](r, name, "a map")
	if !ok {
		return v
	}
	inner := newReader(keyOf(m.Value), m.Value)
	value, known := read(inner)
	if known {
		inner.finishEvent()
	}
	v, _ = value.(T)
	if !known || len(inner.found) > 0 || !slices.Contains(kinds, textOf(m.Value[store.AttrType])) {
		r.fault(HoldEntryWrong, name, "an exact copy of the event")
	}
	return v
}

// openHold is an entry in the list of holds by expiry. It has an index key only while the hold is open.
type openHold struct {
	expires, hold string
	version       int64
}

// openHold reads the attributes of an entry in the list by expiry.
func (r *reader) openHold(expires, hold string) openHold {
	e := openHold{expires: expires, hold: hold, version: r.entryVersion()}
	pk2 := ""
	if e.version == openVersion {
		pk2 = store.OpenHoldsPK2(store.Shard(hold))
	}
	r.keys("", pk2)
	return e
}
