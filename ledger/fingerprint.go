package ledger

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"ledger.example/events"
)

// A fingerprint distinguishes a repeated request from another one under the same id. The header stores it with the
// number of the rule that made it, and it is compared by that rule, also years and deployments later. Rule 1 is never
// changed, only followed by others. The request is compared, not what it expands to.
const (
	fingerprintRule     = "1" // of requests without a hold and an effective date that reverse nothing
	fingerprintLifeRule = "2" // of the others
)

// fingerprint returns the fingerprint of a request by the rule for such requests.
func fingerprint(p draft) string {
	if p.note.Hold != nil || p.note.EffectiveAt != nil || p.reverses != "" {
		return fingerprint2(p)
	}
	return fingerprint1(p)
}

// sameRequest reports whether a stored fingerprint is that of p. An unknown rule is an error, never a difference.
func sameRequest(stored string, p draft) (bool, error) {
	switch rule, _, _ := strings.Cut(stored, ":"); rule {
	case fingerprintRule, fingerprintLifeRule:
		return fingerprint(p) == stored, nil
	default:
		return false, fmt.Errorf("fingerprint %q is by an unknown rule", stored)
	}
}

// fingerprint1 is the SHA-256 of the kind, the description, the metadata sorted by key, and the fields of the request
// in the order given below. A text is written as its length in bytes, a colon and itself. An amount and the number of
// elements of a list are decimals and a semicolon. A truth value is the text "true" or "false". The id and the actor
// are left out, and an omitted value is written like the default that it stands for.
func fingerprint1(p draft) string {
	return newCanonical(p).sum(fingerprintRule)
}

// fingerprint2 is the SHA-256 of what rule 1 covers, of a reversal without any legs, and then: whether a hold is asked
// for, its time of expiry as events.FormatTime writes it ("" for the default), the id of the transaction to reverse (""
// for none), and what of it: nothing named is the text ""; a quantity is the text "quantity", it and the cost; postings
// are the text "postings", their number, and the quantity and the cost of each. Last comes an effective date, as
// events.FormatTime writes it, when one is given.
func fingerprint2(p draft) string {
	c, expires := newCanonical(p), ""
	if p.note.Hold != nil && p.note.Hold.ExpiresAt != nil {
		expires = events.FormatTime(*p.note.Hold.ExpiresAt)
	}
	c = c.text(strconv.FormatBool(p.note.Hold != nil)).text(expires).text(p.reverses)
	switch {
	case p.part.Quantity != nil:
		c = c.text("quantity").amount(*p.part.Quantity).amount(p.part.Cost)
	case p.part.Postings != nil:
		c = c.text("postings").count(len(p.part.Postings))
		for _, of := range p.part.Postings {
			c = c.amount(of.Quantity).amount(of.Cost)
		}
	default:
		c = c.text("")
	}
	if p.note.EffectiveAt != nil {
		c = c.text(events.FormatTime(p.note.effective()))
	}
	return c.sum(fingerprintLifeRule)
}

// newCanonical returns what rule 1 covers.
func newCanonical(p draft) canonical {
	c := canonical(make([]byte, 0, 512)).text(string(p.kind)).text(p.note.Description).count(len(p.note.Metadata))
	for _, key := range sortedKeys(p.note.Metadata) {
		c = c.text(key).text(p.note.Metadata[key])
	}
	switch p.kind {
	case events.KindTransfer: // from, to, asset, quantity
		from, to := p.legs[0], p.legs[1]
		c = c.text(from.Account).text(to.Account).text(to.Asset).amount(to.Quantity)
	case events.KindTrade: // asset, buyer, seller, quantity, cost, settle
		buyer, seller := p.legs[0], p.legs[1]
		c = c.text(buyer.Asset).text(buyer.Account).text(seller.Account).amount(buyer.Quantity).amount(buyer.Cost)
		c = c.text(strconv.FormatBool(p.settle))
	case events.KindReversal: // its legs follow from what it takes back
	default: // the number of legs, and of each: account, asset, quantity, cost
		c = c.count(len(p.legs))
		for _, leg := range p.legs {
			c = c.text(leg.Account).text(leg.Asset).amount(leg.Quantity).amount(leg.Cost)
		}
	}
	return c
}

// canonical is a request in a form without ambiguity. Its methods append to it.
type canonical []byte

// sum returns the fingerprint of c by a rule. It overwrites c.
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
