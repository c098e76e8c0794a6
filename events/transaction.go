package events

import (
	"fmt"
	"strings"
	"time"
)

const transactionPosted = "TransactionPosted"

// TransactionPosted is the header of a transaction: it carries all its legs.
type TransactionPosted struct {
	ID          string            // see ValidID; set by the caller, else a KSUID made by the command
	Kind        Kind              // which request made it
	Description string            // 0 to DescriptionChars characters
	Metadata    map[string]string // never nil; at most MetadataPairs pairs and MetadataBytes bytes, no empty key
	Legs        []Leg             // PostingsMin to PostingsMax, in the order of the request, KSUIDs increasing and of one instant
	Fingerprint string            // of the request: "1:" and a hash; the number is the version of the rule
	Actor       string            // who posted it, 1 to ActorChars characters
}

// Leg is one posting as its header carries it.
type Leg struct {
	ID       KSUID
	Account  string // id
	Asset    string // id
	Quantity Amount // signed minor units of the asset, at most PostedDigits digits
	Cost     Amount // signed minor units of the asset's currency, at most PostedDigits digits
}

// Kind says which request made a transaction.
type Kind string

// The kinds of transaction.
const (
	KindTransaction Kind = "transaction"
	KindTransfer    Kind = "transfer"
	KindTrade       Kind = "trade"
)

// EventName implements Event.
func (TransactionPosted) EventName() (string, int) { return transactionPosted, 1 }

// PostedAt returns the one instant in the KSUIDs of all legs, in UTC. A transaction has legs: without any it panics.
func (t TransactionPosted) PostedAt() time.Time { return t.Legs[0].ID.Time() }

// Postings returns the legs of t as items of their own, in their order.
func (t TransactionPosted) Postings() []PostingRecorded {
	postings := make([]PostingRecorded, len(t.Legs))
	for i, leg := range t.Legs {
		postings[i] = PostingRecorded{Leg: leg, Transaction: t.ID, Kind: t.Kind, Description: t.Description}
	}
	return postings
}

func (t TransactionPosted) write(f Form) {
	f.Text(fieldID, t.ID)
	f.Text(fieldKind, string(t.Kind))
	writeText(f, fieldDescription, t.Description)
	if len(t.Metadata) > 0 {
		f.BeginMap(fieldMetadata, len(t.Metadata))
		for key, value := range t.Metadata {
			f.Text(key, value)
		}
		f.End()
	}
	f.BeginList(fieldLegs, len(t.Legs))
	for _, leg := range t.Legs {
		f.BeginMap("", legFields)
		leg.write(f)
		f.End()
	}
	f.End()
	f.Text(fieldFingerprint, t.Fingerprint)
	f.Text(fieldActor, t.Actor)
}

// legFields is how many fields a leg has.
const legFields = 5

func (l Leg) write(f Form) {
	f.Text(fieldID, string(l.ID))
	f.Text(fieldAccount, l.Account)
	f.Text(fieldAsset, l.Asset)
	f.Number(fieldQuantity, l.Quantity)
	f.Number(fieldCost, l.Cost)
}

func decodeTransactionPosted(f Fields) (TransactionPosted, error) {
	r := reader{stored: f}
	t := TransactionPosted{
		ID:          r.id(fieldID),
		Kind:        r.kind(fieldKind),
		Description: r.optionalText(fieldDescription, DescriptionChars),
		Metadata:    r.metadata(fieldMetadata),
		Legs:        r.legs(fieldLegs),
		Fingerprint: r.fingerprint(fieldFingerprint),
		Actor:       r.text(fieldActor, ActorChars),
	}
	return t, r.finishEvent(transactionPosted)
}

func (r *reader) kind(field string) Kind {
	kind := Kind(take[string](r, field))
	switch kind {
	case KindTransaction, KindTransfer, KindTrade:
	default:
		r.fail(field, ruleUnknown)
	}
	return kind
}

func (r *reader) metadata(field string) map[string]string {
	if _, ok := r.stored[field]; !ok {
		return map[string]string{}
	}
	stored := take[Fields](r, field)
	switch {
	case len(stored) == 0:
		r.fail(field, ruleEmpty)
	case len(stored) > MetadataPairs:
		r.fail(field, ruleRange)
		return nil
	}
	metadata, size := make(map[string]string, len(stored)), 0
	for key, v := range stored {
		value, ok := v.(string)
		switch {
		case !ok:
			r.fail(field, ruleType)
		case !validText(key, 1, MetadataKeyChars), !validText(value, 0, MetadataValueChars):
			r.fail(field, ruleText)
		}
		metadata[key] = value
		size += len(key) + len(value)
	}
	if size > MetadataBytes {
		r.fail(field, ruleRange)
	}
	return metadata
}

// legs takes the list of legs and checks what holds between them. Whether they balance is for the audit to say.
func (r *reader) legs(field string) []Leg {
	stored := take[List](r, field)
	if len(stored) < PostingsMin || len(stored) > PostingsMax {
		r.fail(field, ruleRange)
		return nil
	}
	legs := make([]Leg, len(stored))
	for i, v := range stored {
		f, ok := v.(Fields)
		if !ok {
			r.fail(fmt.Sprintf("%s[%d]", field, i), ruleType)
			return nil
		}
		one := reader{stored: f}
		legs[i] = one.leg()
		if i > 0 && one.field == "" {
			switch {
			case legs[i].ID <= legs[i-1].ID:
				one.fail(fieldID, ruleIncrease)
			case !legs[i].ID.Time().Equal(legs[0].ID.Time()):
				one.fail(fieldID, ruleInstant)
			}
		}
		if !one.finish() {
			r.fail(fmt.Sprintf("%s[%d].%s", field, i, one.field), one.rule)
			return nil
		}
	}
	return legs
}

func (r *reader) leg() Leg {
	return Leg{
		ID:       r.ksuid(fieldID),
		Account:  r.id(fieldAccount),
		Asset:    r.id(fieldAsset),
		Quantity: r.amount(fieldQuantity),
		Cost:     r.amount(fieldCost),
	}
}

// fingerprint takes the number of a rule, a colon and a hash of visible ASCII.
func (r *reader) fingerprint(field string) string {
	s := take[string](r, field)
	rule, hash, _ := strings.Cut(s, ":")
	number, err := ParseAmount(rule, PostedDigits)
	if err != nil || number.Sign() < 1 || hash == "" || len(s) > FingerprintChars {
		r.fail(field, ruleFingerprint)
	}
	for i := range len(hash) {
		if hash[i] <= ' ' || hash[i] > '~' {
			r.fail(field, ruleFingerprint)
		}
	}
	return s
}
