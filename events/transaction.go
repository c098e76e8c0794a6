package events

import (
	"fmt"
	"strings"
	"time"
)

const (
	transactionPosted = "TransactionPosted"
	transactionHeld   = "TransactionHeld"
)

// TransactionPosted is the header of a transaction. It has all legs. With ExpiresAt the transaction is a hold, stored
// as TransactionHeld: its legs are pending until HoldEnded.
type TransactionPosted struct {
	ID          string            // see ValidID; set by the caller, or a KSUID minted by the command
	Kind        Kind              // of the request
	Description string            // 0 to DescriptionChars characters
	Metadata    map[string]string // never nil; at most MetadataPairs pairs and MetadataBytes bytes, no empty key
	Legs        []Leg             // PostingsMin to PostingsMax, as requested; KSUIDs increasing, of one instant
	Fingerprint string            // of the request: the number of a rule, such as 1, a colon and a hash
	Actor       string            // who posted it, 1 to ActorChars characters
	ExpiresAt   time.Time         // of a hold: its time of expiry, UTC, whole microseconds; else zero
	Reverses    string            // of a reversal: the id of the reversed transaction; else ""
	RecordedAt  time.Time         // with an effective date: when it was posted, UTC, whole microseconds; else zero
}

// Leg is one posting in a header.
type Leg struct {
	ID       KSUID
	Account  string // id
	Asset    string // id
	Quantity Amount // signed minor units of the asset, at most PostedDigits digits
	Cost     Amount // signed minor units of the asset's currency, at most PostedDigits digits
}

// Kind is the kind of request that made a transaction.
type Kind string

// The kinds of transaction.
const (
	KindTransaction Kind = "transaction"
	KindTransfer    Kind = "transfer"
	KindTrade       Kind = "trade"
	KindReversal    Kind = "reversal"
)

// EventName implements Event.
func (t TransactionPosted) EventName() string {
	if t.IsHold() {
		return transactionHeld
	}
	return transactionPosted
}

// IsHold reports whether t is a hold.
func (t TransactionPosted) IsHold() bool { return !t.ExpiresAt.IsZero() }

// IsBackdated reports whether t has an effective date: the time in its KSUIDs is before RecordedAt.
func (t TransactionPosted) IsBackdated() bool { return !t.RecordedAt.IsZero() }

// PostedAt returns the instant of the transaction, in UTC. All KSUIDs of the legs have it. It panics without legs.
func (t TransactionPosted) PostedAt() time.Time { return t.Legs[0].ID.Time() }

// Recorded returns when t was posted, in UTC, regardless of an effective date: RecordedAt, or else PostedAt.
func (t TransactionPosted) Recorded() time.Time {
	if t.IsBackdated() {
		return t.RecordedAt
	}
	return t.PostedAt()
}

// Postings returns the legs of t as separate events, in order.
func (t TransactionPosted) Postings() []PostingRecorded {
	postings := make([]PostingRecorded, len(t.Legs))
	for i, leg := range t.Legs {
		postings[i] = PostingRecorded{
			Leg: leg, Transaction: t.ID, Kind: t.Kind, Description: t.Description, Backdated: t.IsBackdated(),
		}
		if t.IsHold() {
			postings[i].Phase, postings[i].Pending = PhasePlaced, leg.Quantity
			postings[i].Quantity, postings[i].Cost = Amount{}, Amount{}
		}
	}
	return postings
}

func (t TransactionPosted) write(f FieldEncoder) { t.fields(&coder{out: f}) }

func (t *TransactionPosted) fields(c *coder) {
	text(c, "Actor", &t.Actor, actor)
	text(c, "Description", &t.Description, description)
	if t.IsHold() || c.has("ExpiresAt") {
		c.time("ExpiresAt", &t.ExpiresAt)
	}
	text(c, "Fingerprint", &t.Fingerprint, fingerprint)
	text(c, "ID", &t.ID, requiredID)
	text(c, "Kind", &t.Kind, kind)
	c.legs("Legs", &t.Legs)
	c.metadata("Metadata", &t.Metadata)
	if t.IsBackdated() || c.has("RecordedAt") {
		c.time("RecordedAt", &t.RecordedAt)
	}
	text(c, "Reverses", &t.Reverses, optionalID)
	if c.out == nil && c.field == "" && t.IsBackdated() && (t.IsHold() || !t.RecordedAt.After(t.PostedAt())) {
		c.fail("RecordedAt", ruleRecorded)
	}
	if c.out == nil && (t.Kind == KindReversal) != (t.Reverses != "") {
		c.fail("Reverses", ruleMissing)
	}
}

func (l *Leg) fields(c *coder) {
	text(c, "Account", &l.Account, requiredID)
	text(c, "Asset", &l.Asset, requiredID)
	c.amount("Cost", &l.Cost)
	text(c, "ID", &l.ID, ksuidText)
	c.amount("Quantity", &l.Quantity)
}

// legFields is how many fields a leg has.
const legFields = 5

var (
	kind        = oneOf(KindTransaction, KindTransfer, KindTrade, KindReversal)
	fingerprint = textRule{broken: "is not the number of a rule, a colon and a hash", valid: validFingerprint}
)

// validFingerprint reports whether s is the number of a rule, a colon and a hash of visible ASCII.
func validFingerprint(s string) bool {
	rule, hash, _ := strings.Cut(s, ":")
	number, err := ParseAmount(rule, PostedDigits)
	invisible := func(r rune) bool { return r <= ' ' || r > '~' }
	return err == nil && number.Sign() > 0 && hash != "" && len(s) <= FingerprintChars &&
		!strings.ContainsFunc(hash, invisible)
}

// metadata codes the metadata, which is absent when it is empty.
func (c *coder) metadata(field string, v *map[string]string) {
	switch {
	case c.out != nil:
		c.writeMetadata(field, *v)
		return
	case !c.has(field):
		*v = map[string]string{}
		return
	}
	stored := c.takeMap(field, MetadataPairs)
	metadata, size := make(map[string]string, len(stored)), 0
	for key, v := range stored {
		value, ok := v.(string)
		switch {
		case !ok:
			c.fail(field, ruleType)
		case !validText(key, 1, MetadataKeyChars), !validText(value, 0, MetadataValueChars):
			c.fail(field, ruleText)
		}
		metadata[key] = value
		size += len(key) + len(value)
	}
	if size > MetadataBytes {
		c.fail(field, ruleRange)
	}
	*v = metadata
}

func (c *coder) writeMetadata(field string, metadata map[string]string) {
	if len(metadata) == 0 {
		return
	}
	c.out.BeginMap(field, len(metadata))
	var room [MetadataPairs]string
	for _, key := range sortedNames(room[:0], metadata) {
		c.out.Text(key, metadata[key])
	}
	c.out.End()
}

// legs codes the list of legs, and checks their KSUIDs. It does not check that they balance: the audit does.
func (c *coder) legs(field string, v *[]Leg) {
	if c.out != nil {
		c.out.BeginList(field, len(*v))
		for i := range *v {
			c.out.BeginMap("", legFields)
			(*v)[i].fields(c)
			c.out.End()
		}
		c.out.End()
		return
	}
	elements := c.takeList(field)
	legs := make([]Leg, len(elements))
	for i, stored := range elements {
		one := coder{stored: stored}
		legs[i].fields(&one)
		switch {
		case i == 0 || one.field != "":
		case legs[i].ID <= legs[i-1].ID:
			one.fail("ID", ruleIncrease)
		case !legs[i].ID.Time().Equal(legs[0].ID.Time()):
			one.fail("ID", ruleInstant)
		}
		if !c.takeElement(field, i, &one) {
			return
		}
	}
	*v = legs
}

// takeList takes a list of PostingsMin to PostingsMax maps. It returns nil after an error.
func (c *coder) takeList(field string) []Fields {
	stored := take[List](c, field)
	if len(stored) < PostingsMin || len(stored) > PostingsMax {
		c.fail(field, ruleRange)
		return nil
	}
	all := make([]Fields, len(stored))
	for i, v := range stored {
		f, ok := v.(Fields)
		if !ok {
			c.fail(fmt.Sprintf("%s[%d]", field, i), ruleType)
			return nil
		}
		all[i] = f
	}
	return all
}

// takeElement takes over the error of the element at i, which one decoded. It reports whether there is none.
func (c *coder) takeElement(field string, i int, one *coder) bool {
	if one.finish() {
		return true
	}
	c.fail(fmt.Sprintf("%s[%d].%s", field, i, one.field), one.rule)
	return false
}
