package ledger

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"ledger.example/events"
)

// A fingerprint distinguishes a retry from a different request with the same id. It is a hash of the request, not of
// the transaction. The header stores it with the number of its rule, and later requests are compared by that rule. So a
// rule is never changed; new rules are added.
const (
	fingerprintRule1 = "1" // for requests without a hold or an effective date, except reversals
	fingerprintRule2 = "2" // for the others
)

// fingerprint returns the fingerprint of a request.
func fingerprint(d draft) string {
	if d.Hold != nil || d.EffectiveAt != nil || d.reverses != "" {
		return fingerprint2(d)
	}
	return fingerprint1(d)
}

// sameRequest reports whether a stored fingerprint is that of d. An unknown rule is an error.
func sameRequest(stored string, d draft) (bool, error) {
	switch rule, _, _ := strings.Cut(stored, ":"); rule {
	case fingerprintRule1, fingerprintRule2:
		return fingerprint(d) == stored, nil
	default:
		return false, fmt.Errorf("fingerprint %q has an unknown rule", stored)
	}
}

// fingerprint1 is the SHA-256 of the kind, the description, the metadata sorted by key, and the fields of the request
// in the order of newCanonical. A text is encoded as its length in bytes, a colon and the text. An amount, and the
// number of elements of a list, is encoded in decimal with a semicolon. A boolean is the text "true" or "false". An
// omitted value is encoded like its default. The id and the actor are not included.
func fingerprint1(d draft) string {
	return newCanonical(d).sum(fingerprintRule1)
}

// fingerprint2 is the SHA-256 of the values of rule 1 (without legs for a reversal), followed by these: whether the
// request is for a hold, its time of expiry in the form of events.FormatTime ("" for the default), the id of the
// transaction to reverse ("" for none), and the part of it: the text "" for all; the text "quantity", the quantity and
// the cost; or the text "postings", their number, and the quantity and the cost of each. The last value is the
// effective date in the form of events.FormatTime, if there is one.
func fingerprint2(d draft) string {
	c, expires := newCanonical(d), ""
	if d.Hold != nil && d.Hold.ExpiresAt != nil {
		expires = events.FormatTime(*d.Hold.ExpiresAt)
	}
	c = c.text(strconv.FormatBool(d.Hold != nil)).text(expires).text(d.reverses)
	switch {
	case d.part.Quantity != nil:
		c = c.text("quantity").amount(*d.part.Quantity).amount(d.part.Cost)
	case d.part.Postings != nil:
		c = c.text("postings").count(len(d.part.Postings))
		for _, of := range d.part.Postings {
			c = c.amount(of.Quantity).amount(of.Cost)
		}
	default:
		c = c.text("")
	}
	if d.EffectiveAt != nil {
		c = c.text(events.FormatTime(d.effective()))
	}
	return c.sum(fingerprintRule2)
}

// newCanonical returns the values of rule 1.
func newCanonical(d draft) canonical {
	c := canonical(make([]byte, 0, 512)).text(string(d.kind)).text(d.Description).count(len(d.Metadata))
	for _, key := range sortedKeys(d.Metadata) {
		c = c.text(key).text(d.Metadata[key])
	}
	switch d.kind {
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

// canonical is an unambiguous encoding of a request. Its methods append to it.
type canonical []byte

// sum returns the fingerprint of c, with the number of its rule. It overwrites c.
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
