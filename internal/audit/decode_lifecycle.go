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

// readOutcome reads an outcome. Its time is in the KSUIDs of its legs.
func readOutcome(r *reader, key []string) outcome {
	o := outcome{hold: key[0], checksum: textOf(r.item[store.AttrChecksum])}
	o.how = strings.ToLower(strings.TrimPrefix(textOf(r.item[store.AttrType]), "Hold"))
	r.read(
		keyed(fieldTransaction, o.hold),
		aDescription(nil),
		theLegs(&o.legs),
		anActor,
	)
	o.at = timeOf(o.legs)
	return o
}

// reversed is the event that says which amounts of a transaction were reversed.
type reversed struct {
	event
	transaction, by string // by is the id of the reversing transaction
	taken           []leg  // the reversed amounts of each leg, with the leg's sign; no other field is set
}

// readReversed reads a reversal. It has no time.
func readReversed(r *reader, key []string) reversed {
	v, number := reversed{transaction: key[0]}, int64(0)
	r.read(
		keyed(fieldTransaction, v.transaction),
		must(store.AttrNumber, integer(1, reversalsMax), &number),
		must("By", anID, &v.by),
		list(fieldTaken, "legs", 2, 48, func(one *reader) {
			var l leg
			one.read(l.amounts()...)
			v.taken = append(v.taken, l)
		}),
	)
	r.numbered(number, key)
	return v
}

const fieldTaken = "Taken"

// change is the event that sets a new version of an account.
type change struct {
	event
	account, state, checksum string
	number                   int64
	unlimited                bool
	limits, highest          map[string]*big.Int // highest: of the assets that once had a higher limit
}

func readChange(r *reader, key []string) (c change) {
	c.read(r, key[0])
	c.number = r.numbered(c.number, key)
	return c
}

// read reads the attributes of a change, which its copy has, too.
func (c *change) read(r *reader, account string) {
	isClosing := false
	c.account, c.checksum = account, textOf(r.item[store.AttrChecksum])
	r.read(
		keyed(fieldID, account),
		must(store.AttrNumber, integer(2, changesMax), &c.number),
		may("Name", aName, nil),
		may("Profile", aProfile, nil),
		anOverdraft(r, &c.unlimited, &c.limits),
		must("State", oneOf("open", frozen, closed), &c.state),
		may("Closing", aTrueFlag, &isClosing),
		aLimit("Highest", 1000, &c.highest),
		anActor,
		must("At", anInstant, &c.at),
	)
	if isClosing && c.state != frozen {
		r.fault(WrongValue, "Closing", absent)
	}
}

// current is the current account: a copy of its newest change, under a key that every change overwrites. It does not
// embed the change, because it is not an event.
type current struct{ newest change }

// readCurrent reads such a copy. Its checksum is that of the change.
func readCurrent(r *reader, key []string) (c current) {
	r.keys("", "")
	c.newest.read(r, key[0])
	r.read(must(store.AttrChecksum, anyText, nil))
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

// readHoldEntry reads an entry in an account's list of holds.
func readHoldEntry(r *reader, key []string) holdEntry {
	e := holdEntry{account: key[0], ksuid: key[1], version: r.entryVersion()}
	if e.version == voidVersion {
		return e
	}
	r.read(copyOf(store.AttrHeader, at(store.Transaction.Pattern, readHeader), &e.header, kindHeld))
	status, version := statusHeld, int64(openVersion)
	if r.has(store.AttrEnded) {
		e.end = new(outcome)
		r.read(copyOf(store.AttrEnded, at(store.Outcome.Pattern, readOutcome), e.end,
			kindCaptured, kindReleased, kindExpired))
		if !r.broken && e.end.hold != e.header.id {
			r.fault(HoldEntryWrong, store.AttrEnded, "an end of hold "+strconv.Quote(e.header.id))
		}
		status, version = e.end.how, endedVersion
	}
	r.keys(store.Hold.SK2(status, e.ksuid), "")
	if !r.broken && e.version != version {
		r.fault(HoldEntryWrong, store.AttrVersion, strconv.FormatInt(version, 10))
	}
	return e
}

// entryVersion reads the version of an entry of a hold. Only void entries are flagged as such.
func (r *reader) entryVersion() (version int64) {
	isVoid, least, most := false, int64(openVersion), int64(endedVersion)
	if r.read(may(store.AttrVoid, aTrueFlag, &isVoid)); isVoid {
		least, most = voidVersion, voidVersion
	}
	version = least // of an unusable entry
	r.read(must(store.AttrVersion, integer(least, most), &version))
	return version
}

// copyOf is a row for a map that is a copy of an event of one of some types, including its keys.
func copyOf[T any](name string, read kind, to *T, kinds ...string) row {
	return holding(name, "a map", func(r *reader, m *types.AttributeValueMemberM) {
		inner := newReader(keyOf(m.Value), m.Value)
		value, known := read(inner)
		if known {
			inner.finishEvent()
		}
		if *to, _ = value.(T); !known || len(inner.found) > 0 ||
			!slices.Contains(kinds, textOf(m.Value[store.AttrType])) {
			r.fault(HoldEntryWrong, name, "an exact copy of the event")
		}
	})
}

// openHold is an entry in the list of holds by expiry. It has an index key only while the hold is open.
type openHold struct {
	expires, hold string
	version       int64
}

func readOpenHold(r *reader, key []string) openHold {
	e, pk2 := openHold{expires: key[0], hold: key[1], version: r.entryVersion()}, ""
	if e.version == openVersion {
		pk2 = store.OpenHoldsPK2(store.Shard(e.hold))
	}
	r.keys("", pk2)
	return e
}
