package audit

import (
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

// Kinds of transactions, by the request that created them.
const (
	transaction = "transaction"
	transfer    = "transfer"
	trade       = "trade"
	reversal    = "reversal"
)

// Phases of a hold's postings. All but the first end the hold and are also its outcomes.
const (
	placed   = "placed"
	captured = "captured"
	released = "released"
	expired  = "expired"
)

const (
	reversalsMax = 1000
	kindPosting  = "PostingRecorded"
)

const fieldLegs = "Legs" // in findings

// amounts are those of a leg.
type amounts struct {
	Quantity *big.Int `is:"amount"`
	Cost     *big.Int `is:"amount"`
}

// leg is a leg of a header or of an end, or the part of a posting that repeats it.
type leg struct {
	ID      string `is:"ksuid"`
	Account string `is:"id"`
	Asset   string `is:"id"`
	amounts
	counting
}

// posting is a leg as an item in the partition of its account. It repeats a part of its header.
type posting struct {
	event
	leg
	marks
	Transaction string `is:"id"`
	Kind        string `is:"kind"`
	Description string `is:"name?"`
}

// marks are what the transaction of a posting is. Only postings of holds have a phase.
type marks struct {
	Backdated  bool      `is:"flag?"`                       // it has an effective date
	Phase      string    `is:"phase" when:"Phase|Pending"`  // of the hold; "" if it is none
	Pending    *big.Int  `is:"amount" when:"Phase|Pending"` // the change of the pending amount; 0 if it is no hold
	RecordedAt time.Time `is:"instant?" when:"Backdated"`   // zero in old backdated postings: the header has it
}

// at returns when a posting was recorded: the time in its KSUID, unless it is backdated.
func (p *posting) at() time.Time {
	if !p.RecordedAt.IsZero() {
		return p.RecordedAt
	}
	at, _ := instantOf(p.ID)
	return at
}

func (p *posting) index(*reader) (sk2, pk2 string) { return table.Posting.SK2(p.ID), "" }

func (p *posting) check(r *reader) {
	p.checkFigures(r)
	effective, _ := instantOf(p.ID)
	if !r.broken && !p.RecordedAt.IsZero() && !p.RecordedAt.After(effective) {
		r.fault(WrongValue, "RecordedAt", "a time after that of the posting")
	}
}

// checkFigures checks the attributes that folds need. A capture posts at most the held amounts, with the same signs.
// The other phases post nothing.
func (p *posting) checkFigures(r *reader) {
	if p.Pending == nil {
		p.Pending = new(big.Int)
	}
	if p.Phase == "" || r.broken {
		return
	}
	isNothing := p.Quantity.Sign() == 0 && p.Cost.Sign() == 0
	if !isNothing && !(p.Phase == captured && within(p.Quantity, new(big.Int).Neg(p.Pending))) {
		r.fault(WrongValue, "Pending", "the held amount; quantity and cost within it if captured, else 0")
	}
	if p.Backdated {
		r.fault(WrongValue, "Backdated", absent)
	}
}

// within reports whether part is between 0 and whole.
func within(part, whole *big.Int) bool {
	return part.Sign() == 0 || part.Sign() == whole.Sign() && part.CmpAbs(whole) <= 0
}

// endsHold reports whether a posting ends a hold.
func (m marks) endsHold() bool {
	return m.Phase == captured || m.Phase == released || m.Phase == expired
}

// holdsDebit reports whether a posting places or ends a debit of a hold.
func (m marks) holdsDebit() bool {
	return m.Phase == placed && m.Pending.Sign() < 0 || m.endsHold() && m.Pending.Sign() > 0
}

// header is the event of a transaction, with all its legs. Its time is in the KSUIDs of its legs. With an effective
// date it is in an attribute.
type header struct {
	event
	ID          string    `is:"id"`
	Kind        string    `is:"kind"`
	Actor       string    `is:"actor"`
	Description string    `is:"name?"`
	Metadata    metadata  `is:"map?"`
	Legs        legs      `is:"list"` // of a hold the planned ones
	Fingerprint string    `is:"text"`
	ExpiresAt   string    `is:"expiry" when:"Type=TransactionHeld"` // of a hold; else ""
	Reverses    string    `is:"id" when:"Kind=reversal"`            // the id of the reversed transaction; else ""
	RecordedAt  time.Time `is:"instant?"`
	Period      int64     `is:"number?" when:"RecordedAt"` // the newest closing of the books, or 0

	at        time.Time // when it was recorded
	effective string    // the effective date, which is also in the KSUIDs of the legs; "" if there is none
}

func (h header) when() time.Time { return h.at }

// isHold reports whether the transaction is a hold.
func (h header) isHold() bool { return h.ExpiresAt != "" }

func (h *header) check(r *reader) {
	h.at = timeOf(h.Legs)
	h.Legs.checkCounted(r, h.Reverses == "" && !r.has("RecordedAt"))
	if !r.has("RecordedAt") {
		return
	}
	effective := h.at
	h.effective, h.at = effective.Format(instantForm), h.RecordedAt
	if !r.broken && (h.isHold() || !h.at.After(effective)) {
		r.fault(WrongValue, "RecordedAt", "a time after that of the legs; a hold has no such attribute")
	}
}

// said returns what a caller said of the transaction, as the fingerprint of the request has it: what is at the
// beginning, and what is at the end. What is at the end is the name and the text of each field that requests had not
// had from the first, if it is not empty.
func (h header) said() (first, last string) {
	first = text(h.Description) + count(len(h.Metadata))
	for _, key := range slices.Sorted(maps.Keys(h.Metadata)) {
		first += text(key) + text(h.Metadata[key])
	}
	return first, ""
}

// metadata is a map of strings.
type metadata map[string]string

func (m *metadata) read(r *reader, name string, v types.AttributeValue) (ok bool) {
	isKey := func(key string) bool { return isText(key, 1, 40) }
	isSmall := func(all map[string]string) bool {
		bytes := 0
		for key, value := range all {
			bytes += len(key) + len(value)
		}
		return len(all) <= 20 && bytes <= 4096
	}
	*m, ok = dictionary(r, name, v, rules["note"], isKey, isSmall,
		"1 to 20 pairs of at most 4096 bytes in all, with keys of 1 to 40 characters")
	return ok
}

// legs are those of a header or of an end. Their KSUIDs must increase and have the same instant.
type legs []leg

func (all *legs) read(r *reader, name string, v types.AttributeValue) (ok bool) {
	return r.list(name, v, "legs", 2, 48, func(one *reader) {
		var l leg
		one.fill(&l)
		if n := len(*all); n > 0 && !one.broken &&
			(l.ID <= (*all)[n-1].ID || !timeOf(legs{l}).Equal(timeOf(*all))) {
			one.fault(WrongValue, "ID", "a KSUID after the previous leg's, of the same instant")
		}
		*all = append(*all, l)
	})
}

// timeOf returns the time in the KSUIDs of legs.
func timeOf(legs legs) (at time.Time) {
	if len(legs) > 0 {
		at, _ = instantOf(legs[0].ID)
	}
	return at
}

// outcome is the event that ended a hold. Its legs are the hold's, with the amounts that were posted. Its time is in
// their KSUIDs.
type outcome struct {
	event
	Transaction string `is:"id"`
	Actor       string `is:"actor"`
	Description string `is:"name?"`
	Legs        legs   `is:"list"`
	how         string // captured, released or expired
	at          time.Time
}

func (o outcome) when() time.Time { return o.at }

func (o *outcome) check(r *reader) {
	o.how = strings.ToLower(strings.TrimPrefix(textOf(r.item[table.AttrType]), "Hold"))
	o.at = timeOf(o.Legs)
	o.Legs.checkCounted(r, false)
}

// reversed is the event that says which amounts of a transaction were reversed. It has no time.
type reversed struct {
	event
	Transaction string `is:"id"`
	Number      int64  `is:"reversal"`
	By          string `is:"id"` // the id of the reversing transaction
	Taken       taken  `is:"list"`
}

// taken are the reversed amounts of each leg, with the leg's sign; no other field is set.
type taken []leg

func (all *taken) read(r *reader, name string, v types.AttributeValue) (ok bool) {
	return r.list(name, v, "legs", 2, 48, func(one *reader) {
		var l leg
		one.fill(&l.amounts)
		*all = append(*all, l)
	})
}

// holdEntry is an entry in an account's list of holds. It has copies of the hold's header and end.
type holdEntry struct {
	Account string `is:"-id"`
	KSUID   string `is:"-id"` // of the hold's first leg
	entryState
	Header copied[header]  `is:"map" when:"!Void"`
	Ended  copied[outcome] `is:"map?" when:"!Void"` // of is nil while the hold is open
}

// Versions of a hold's entries. A rebuild makes an entry void that its hold does not have: it lists nothing.
const (
	voidVersion  = 0
	openVersion  = 1
	endedVersion = 2
)

// entryState is the version of an entry of a hold. Only void entries are flagged as such.
type entryState struct {
	Void    bool  `is:"flag?"`
	Version int64 `is:"entry"`
}

func (e *entryState) check(r *reader) {
	if !r.broken && e.Void != (e.Version == voidVersion) {
		r.fault(WrongValue, table.AttrVersion, "0 if the entry is void, else 1 or 2")
	}
	if r.broken && !e.Void {
		e.Version = openVersion
	}
}

// statusHeld is the status of an open hold in its entries.
const statusHeld = "held"

// status returns the status and the version that the entry must have.
func (e *holdEntry) status() (status string, version int64) {
	if e.Ended.of != nil {
		return e.Ended.of.how, endedVersion
	}
	return statusHeld, openVersion
}

func (e *holdEntry) check(r *reader) {
	e.entryState.check(r)
	if e.Void || r.broken {
		return
	}
	_, version := e.status()
	switch h := e.Header.of; {
	case !h.isHold():
		r.fault(HoldEntryWrong, table.AttrHeader, "an exact copy of the event")
	case e.Ended.of != nil && e.Ended.of.Transaction != h.ID:
		r.fault(HoldEntryWrong, table.AttrEnded, "an end of hold "+strconv.Quote(h.ID))
	case e.Version != version:
		r.fault(HoldEntryWrong, table.AttrVersion, strconv.FormatInt(version, 10))
	}
}

func (e *holdEntry) index(*reader) (sk2, pk2 string) {
	if e.Void {
		return "", ""
	}
	status, _ := e.status()
	return table.Hold.SK2(status, e.KSUID), ""
}

// copied is a copy of an event, including its keys.
type copied[T any] struct{ of *T }

func (c *copied[T]) read(r *reader, name string, v types.AttributeValue) bool {
	m, ok := v.(*types.AttributeValueMemberM)
	if !ok {
		return false
	}
	value, found := decode(m.Value)
	of, ok := value.(T)
	if ok {
		c.of = &of
	}
	if !ok || len(found) > 0 {
		r.fault(HoldEntryWrong, name, "an exact copy of the event")
	}
	return true
}

// openHold is an entry in the list of holds by expiry. It has an index key only while the hold is open.
type openHold struct {
	Expires string `is:"-id"`
	Hold    string `is:"-id"`
	entryState
	lane string // of the index key; "" if that is wrong, or there is none
}

func (e *openHold) index(r *reader) (sk2, pk2 string) {
	if e.Version != openVersion {
		return "", ""
	}
	lane, _ := strings.CutPrefix(textOf(r.item[table.AttrPK2]), table.OpenHold.PK2(""))
	if n, err := strconv.ParseUint(lane, 10, 8); err != nil || strconv.FormatUint(n, 10) != lane {
		return "", table.OpenHold.PK2("{lane}")
	}
	e.lane = lane
	return "", table.OpenHold.PK2(lane)
}
