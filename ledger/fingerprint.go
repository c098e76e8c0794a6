package ledger

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"ledger.example/events"
)

// A fingerprint distinguishes a retry from a different request with the same id. It is a hash of the request, not of
// the transaction. The header stores it with the number of its rule, and later requests are compared by that rule. So a
// rule is never changed; new rules are added.
//
// By rule 2, which is that of a split and of as much as fits, a second hash follows after a colon. It is the one that a
// transaction with the legs that were made would have by rule 1: so the audit can check the legs, of which the request
// does not tell. It is not compared, because the request is what counts.
const (
	fingerprintRule = "1"
	madeRule        = "2"
)

// sameRequest reports whether a stored fingerprint is that of d. An unknown rule is an error.
func sameRequest(stored string, d draft) (bool, error) {
	rule, hashes, _ := strings.Cut(stored, ":")
	if rule != fingerprintRule && rule != madeRule {
		return false, fmt.Errorf("fingerprint %q has an unknown rule", stored)
	}
	if rule == madeRule {
		request, _, _ := strings.Cut(hashes, ":")
		stored = madeRule + ":" + request
	}
	return requestHash(d) == stored, nil
}

// fingerprint returns the fingerprint of a request, for its header.
func fingerprint(d draft) string {
	hash := requestHash(d)
	if !d.isMade() {
		return hash
	}
	made := d
	made.split, made.fit = nil, nil
	return hash + strings.TrimPrefix(requestHash(made), fingerprintRule)
}

// isMade reports whether the ledger makes the amounts of the legs, by what the request says.
func (d draft) isMade() bool { return d.split != nil || d.fit != nil }

// requestHash is the number of a rule, a colon, and the SHA-256 of these values of a request: the kind, which is the
// text "split" for a split, "fit" for as much as fits and "split fit" for both, the description, the metadata sorted by
// key, the fields of its kind, whether it is for a hold, the hold's time of expiry, the id of the transaction to
// reverse, the part of it, and the effective date. The part is the text "" for all; the text "quantity", the quantity
// and the cost; or the text "postings", their number, and the quantity and the cost of each. Each other field of the
// annotation that is set follows, in their order: its name, and its value.
//
// A text is encoded as its length in bytes, a colon and the text. A time has the form of events.FormatTime. An amount,
// and the number of elements of a list, is encoded in decimal with a semicolon. A boolean is the text "true" or
// "false". An omitted value is encoded like its default; of a time or an id that is the text "". The id and the actor
// are not included.
func requestHash(d draft) string {
	c, expires, effective, said := newCanonical(d), "", "", d.Annotation.Annotation
	if d.Hold != nil && d.Hold.ExpiresAt != nil {
		expires = events.FormatTime(*d.Hold.ExpiresAt)
	}
	if d.EffectiveAt != nil {
		effective = events.FormatTime(d.effective())
	}
	c = c.text(strconv.FormatBool(d.Hold != nil)).text(expires).text(d.reverses)
	switch {
	case d.part.Quantity != nil:
		c = c.text("quantity").amount(*d.part.Quantity).amount(orZero(d.part.Cost))
	case d.part.Postings != nil:
		c = c.text("postings").count(len(d.part.Postings))
		for _, of := range d.part.Postings {
			c = c.amount(of.Quantity).amount(orZero(of.Cost))
		}
	default:
		c = c.text("")
	}
	rule := fingerprintRule
	if d.isMade() {
		rule = madeRule
	}
	return c.text(effective).later(annotationFields, reflect.ValueOf(&said).Elem()).sum(rule)
}

// newCanonical returns the values of a request through the fields of its kind.
func newCanonical(d draft) canonical {
	kind := d.kind
	switch { // the answer's kind is that of a transaction with any legs, or of a transfer
	case d.split != nil && d.fit != nil:
		kind = "split fit"
	case d.split != nil:
		kind = "split"
	case d.fit != nil:
		kind = "fit"
	}
	c := canonical(make([]byte, 0, 512)).text(string(kind)).text(d.Description).count(len(d.Metadata))
	for _, key := range sortedKeys(d.Metadata) {
		c = c.text(key).text(d.Metadata[key])
	}
	switch kind {
	case "split", "split fit":
		c = d.split.canonical(c, d.fit)
	case "fit":
		c = d.fit.canonical(c.text(d.legs[0].Account).text(d.legs[1].Account).text(d.legs[0].Asset))
	case events.KindTransfer: // from, to, asset, quantity
		from, to := d.legs[0], d.legs[1]
		c = c.text(from.Account).text(to.Account).text(to.Asset).amount(to.Quantity)
	case events.KindTrade: // asset, buyer, seller, quantity, cost, settle
		buyer, seller := d.legs[0], d.legs[1]
		c = c.text(buyer.Asset).text(buyer.Account).text(seller.Account).amount(buyer.Quantity).amount(buyer.Cost)
		c = c.text(strconv.FormatBool(d.settle))
	case events.KindReversal: // its legs follow from its part
	default: // the number of legs, and of each: account, asset, quantity, cost
		c = c.count(len(d.legs))
		for _, leg := range d.legs {
			c = c.text(leg.Account).text(leg.Asset).amount(leg.Quantity).amount(leg.Cost)
		}
	}
	return c
}

// firstFields is the number of fields of an annotation that all fingerprints have: the description and the metadata.
// The fields after them are at the end, and only if they are set. So a new one changes no fingerprint of a request
// without it.
const firstFields = 2

// later appends the fields after the first ones, of an annotation with these fields.
func (c canonical) later(fields []taggedField, annotation reflect.Value) canonical {
	for i := firstFields; i < len(fields); i++ {
		if text := annotation.Field(i).String(); text != "" {
			c = c.text(fields[i].name).text(text)
		}
	}
	return c
}

// canonical is an unambiguous encoding of a request. Its methods append to it.
type canonical []byte

// sum returns the hash of c, after the number of a rule. It overwrites c.
func (c canonical) sum(rule string) string {
	hash := sha256.Sum256(c)
	c = append(append(c[:0], rule...), ':')
	return string(base64.RawURLEncoding.AppendEncode(c, hash[:]))
}

func (c canonical) count(n int) canonical { return append(strconv.AppendInt(c, int64(n), 10), ';') }

func (c canonical) text(s string) canonical {
	return append(append(strconv.AppendInt(c, int64(len(s)), 10), ':'), s...)
}

func (c canonical) amount(a events.Amount) canonical {
	c, _ = a.AppendText(c) // never fails
	return append(c, ';')
}
