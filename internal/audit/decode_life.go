package audit

import (
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
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

// Phases of a hold's postings. All but the first end it, and are its outcomes as well.
const (
	placed   = "placed"
	captured = "captured"
	released = "released"
	expired  = "expired"
)

// held is the status of a hold that has not ended, in its entries.
const held = "held"

const (
	reversalsMax = 1000
	changesMax   = grantsMax
	closed       = "closed" // the state of an account that does nothing any more
)

// isOfLife reports whether an event has lifeVersion.
func (r *reader) isOfLife() bool {
	switch textOf(r.item[table.AttrType]) {
	case kindHeader:
		return textOf(r.item[fieldKind]) == reversal || r.has(fieldRecorded)
	case kindPosting:
		return r.has(fieldPhase) || textOf(r.item[fieldKind]) == reversal
	case kindGrant, kindRevoke:
		return r.has(fieldGroup)
	case kindGroup, kindGrouping:
		return true
	case kindHeld, kindCaptured, kindReleased, kindExpired, kindReversed, kindChange:
		return true
	}
	return false
}

// pending reads what a posting of a hold adds to what is pending. Of what is captured at most what was held is posted,
// with its sign; in all other phases nothing is.
func (r *reader) pending(of *leg) {
	of.pending = new(big.Int)
	if !r.has(fieldPhase) && !r.has(fieldPending) {
		return
	}
	of.phase, of.pending = r.oneOf(fieldPhase, placed, captured, released, expired), r.posted(fieldPending)
	planned := new(big.Int).Neg(of.pending)
	isWithin := of.quantity.Sign() == 0 && of.cost.Sign() == 0 || of.phase == captured && within(of.quantity, planned)
	if !r.broken && !isWithin {
		r.fault(WrongValue, fieldPending, "what was held, of which no more is posted")
	}
}

// within reports whether a part is 0, or has the sign of the whole and is no more.
func within(part, whole *big.Int) bool {
	return part.Sign() == 0 || part.Sign() == whole.Sign() && part.CmpAbs(whole) <= 0
}

// endsHeld reports whether a posting ends a hold.
func (l leg) endsHeld() bool { return l.phase == captured || l.phase == released || l.phase == expired }

// holdsDebit reports whether a posting places or ends a debit of a hold.
func (l leg) holdsDebit() bool {
	return l.phase == placed && l.pending.Sign() < 0 || l.endsHeld() && l.pending.Sign() > 0
}

// outcome is how a hold ended. Its legs are the hold's with what was posted of each.
type outcome struct {
	event
	hold, how, checksum string
	legs                []leg
}

// outcome reads the attributes of an outcome. Its time is in the KSUIDs of its legs.
func (r *reader) outcome(hold string) outcome {
	o := outcome{event: r.event("", ""), hold: hold, checksum: textOf(r.item[table.AttrChecksum])}
	o.how = strings.ToLower(strings.TrimPrefix(textOf(r.item[table.AttrType]), "Hold"))
	r.same(fieldTransaction, hold)
	r.description()
	r.actor()
	if o.legs = r.legs(); len(o.legs) > 0 {
		o.at, _ = instantOf(o.legs[0].ksuid)
	}
	return o
}

// reversed is what one reversal took back of a transaction.
type reversed struct {
	event
	transaction, by string // by is the id of the reversing transaction
	number          int64
	taken           []leg // of each leg, with its sign: only the amounts are set
}

// reversal reads the attributes of a reversal. It has no time of its own.
func (r *reader) reversal(transaction string, number int64) reversed {
	v := reversed{event: r.event("", ""), transaction: transaction, by: r.id("By")}
	v.number = r.counted(number, reversalsMax)
	r.same(fieldTransaction, transaction)
	r.maps(fieldTaken, "legs", 2, 48, func(one *reader) {
		var l leg
		one.amounts(&l)
		v.taken = append(v.taken, l)
	})
	return v
}

const fieldTaken = "Taken"

// counted reads the number of an event whose key has it, too.
func (r *reader) counted(number, most int64) int64 {
	n := r.integer(table.AttrNumber, 1, most)
	if n != number && !r.broken {
		r.fault(WrongKey, table.AttrNumber, strconv.FormatInt(number, 10))
	}
	return n
}

// change is what an account is from one of its versions on.
type change struct {
	event
	account, state, checksum string
	number                   int64
	unlimited                bool
	limits                   map[string]*big.Int
}

// change reads the attributes of a change.
func (r *reader) change(account string, number int64) change {
	c := r.changed(account, r.event("", ""))
	if c.number != number && !r.broken {
		r.fault(WrongKey, table.AttrNumber, strconv.FormatInt(number, 10))
	}
	return c
}

// changed reads what a change and its copy have in common.
func (r *reader) changed(account string, e event) change {
	c := change{event: e, account: account, number: r.integer(table.AttrNumber, 2, changesMax)}
	r.same(fieldID, account)
	r.optional().text("Name", 1, 256)
	r.actor()
	c.at = r.instant("At")
	r.profile("Profile")
	c.unlimited, c.limits = r.overdraft("Overdraft")
	c.state = r.oneOf("State", "open", "frozen", closed)
	c.checksum = textOf(r.item[table.AttrChecksum])
	return c
}

// current is what an account is now: a copy of its newest change under another key, which is written again and has no
// version.
type current struct{ of change }

// current reads the attributes of such a copy. Its checksum is that of the change.
func (r *reader) current(account string) current {
	r.keys("", "")
	c := current{r.changed(account, event{})}
	r.string(table.AttrChecksum)
	original := maps.Clone(r.item)
	original[table.AttrType] = stringOf(kindChange)
	original[table.AttrEventVersion] = &types.AttributeValueMemberN{Value: strconv.Itoa(lifeVersion)}
	if right := checksumOf(original); !r.broken && right != c.of.checksum {
		r.fault(AccountCurrentWrong, table.AttrChecksum, strconv.Quote(right))
	}
	return c
}

// holdEntry is an account's entry of a hold. It has copies of the hold's header and of how it ended.
type holdEntry struct {
	account, ksuid string // of the hold's first leg
	version        int64
	header         header
	end            *outcome // nil while the hold is open
}

// Versions of a hold's entries.
const (
	openVersion  = 1
	endedVersion = 2
)

// holdEntry reads the attributes of such an entry.
func (r *reader) holdEntry(account, ksuid string) holdEntry {
	e := holdEntry{account: account, ksuid: ksuid, version: r.integer(table.AttrVersion, openVersion, endedVersion)}
	e.header = copyOf[header](r, table.AttrHeader, one(table.ParseTransaction, (*reader).header), kindHeld)
	status, version := held, int64(openVersion)
	if r.has(table.AttrEnded) {
		end := copyOf[outcome](r, table.AttrEnded, one(table.ParseOutcome, (*reader).outcome),
			kindCaptured, kindReleased, kindExpired)
		if e.end = &end; !r.broken && end.hold != e.header.id {
			r.fault(HoldEntryWrong, table.AttrEnded, "an end of "+strconv.Quote(e.header.id))
		}
		status, version = end.how, endedVersion
	}
	r.keys(table.HoldSK2(status, ksuid), "")
	if !r.broken && e.version != version {
		r.fault(HoldEntryWrong, table.AttrVersion, strconv.FormatInt(version, 10))
	}
	return e
}

// copyOf reads a copy of an event, with its keys, in a map of an item.
func copyOf[T any](r *reader, name string, read kind, kinds ...string) (v T) {
	m, ok := take[*types.AttributeValueMemberM](r, name, "a map")
	if !ok {
		return v
	}
	of := newReader(keyOf(m.Value), m.Value)
	value, known := read(of)
	if known {
		of.finishEvent()
	}
	v, _ = value.(T)
	if !known || len(of.found) > 0 || !slices.Contains(kinds, textOf(m.Value[table.AttrType])) {
		r.fault(HoldEntryWrong, name, "a copy of the event")
	}
	return v
}

// openHold is a hold's entry by expiry. It is in an index only while the hold is open.
type openHold struct {
	expires, hold string
	version       int64
}

// openHold reads the attributes of such an entry.
func (r *reader) openHold(expires, hold string) openHold {
	e := openHold{expires: expires, hold: hold, version: r.integer(table.AttrVersion, openVersion, endedVersion)}
	pk2 := ""
	if e.version == openVersion {
		pk2 = table.OpenHoldsPK2(table.OpenHoldsShard(hold))
	}
	r.keys("", pk2)
	return e
}
